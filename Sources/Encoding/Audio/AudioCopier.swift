package import Media

/// Copies a source's own audio: raw packets bit for bit, without the headers of some containers (ADTS).
package struct AudioCopier: Sendable {
    package let format: AudioFormat

    /// The packets' own headers; nil: packets have none.
    private let framing: (any AudioFraming)?
    private let packetNanoseconds: Int64
    /// Frames of the encoder's delay that are still to come; packets within it are priming.
    private var skippedFrames = 0
    private let framesPerPacket: Int
    private var hasPresented = false
    private var lastDTS: Int64?

    /// - Parameter firstPacket: for its configuration, if the container has none.
    package init(_ track: CodedTrack, firstPacket: CodedPacket?) throws(EncodingError) {
        guard let codec = AudioCodec(libraryName: track.codec) else {
            throw .notCopied(codec: track.codec, needed: AudioCodec.list)
        }
        do throws(BitstreamError) {
            framing =
                track.configuration.isEmpty
                ? try codec.coding.framing(of: firstPacket.map { Array($0.bytes) } ?? []) : nil
            format = try codec.coding.format(
                parsing: framing?.configuration ?? track.configuration)
        } catch {
            throw .damagedSample(
                codec: track.codec, atNanoseconds: 0, reason: error.description)
        }
        framesPerPacket = Int(format.packetFrames)
        packetNanoseconds = nanoseconds(
            frames: Int64(framesPerPacket), rate: Int(format.sampleRate))
    }

    /// Converts a packet to a sample; nil for priming of a looping file after the first iteration.
    package mutating func copy(_ packet: CodedPacket) throws(EncodingError) -> EncodedSample? {
        if let other = packet.newConfiguration, !other.isEmpty, other != format.configuration {
            throw changed(packet)
        }
        let pts = packet.ptsNanoseconds ?? packet.dtsNanoseconds
        skippedFrames += packet.skippedAtStart
        let isPriming = packet.isDiscarded || skippedFrames >= framesPerPacket
        skippedFrames = max(0, skippedFrames - framesPerPacket)
        if isPriming, hasPresented { return nil }
        if !isPriming { hasPresented = true }
        let time = lastDTS.map { max(pts, $0 + 1) } ?? pts
        lastDTS = time
        return EncodedSample(
            track: .audio, ptsNanoseconds: time, dtsNanoseconds: time,
            durationNanoseconds: packet.durationNanoseconds > 0
                ? packet.durationNanoseconds : packetNanoseconds,
            flags: isPriming ? [.keyframe, .priming] : .keyframe, data: try payload(packet))
    }

    private func payload(_ packet: CodedPacket) throws(EncodingError) -> [UInt8] {
        guard let framing else { return Array(packet.bytes) }
        let payload: [UInt8]?
        do throws(BitstreamError) {
            payload = try framing.payload(of: Array(packet.bytes))
        } catch {
            throw .damagedSample(
                codec: format.codec.libraryName, atNanoseconds: packet.dtsNanoseconds,
                reason: "\(error)")
        }
        guard let payload else { throw changed(packet) }
        return payload
    }

    private func changed(_ packet: CodedPacket) -> EncodingError {
        .formatChanges(codec: format.codec.libraryName, atNanoseconds: packet.dtsNanoseconds)
    }
}
