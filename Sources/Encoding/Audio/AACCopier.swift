package import Media

/// Copies a source's own AAC: raw packets bit for bit, without the ADTS headers of some containers.
package struct AACCopier: Sendable {
    package let format: AudioFormat

    private static let codec = "aac"
    /// The fields of the packets' ADTS headers, except for the length; nil: packets have none.
    private let adts: ADTSHeader?
    private let configuration: [UInt8]
    private let packetNanoseconds: Int64
    private let sampleRate: Int
    /// Remaining frames of the encoder's delay.
    private var skippedFrames = 0
    private let framesPerPacket: Int
    private var hasPresented = false
    private var lastDTS: Int64?

    /// - Parameter firstPacket: for its configuration, if the container has none.
    package init(_ track: CodedTrack, firstPacket: CodedPacket?) throws(EncodingError) {
        guard track.codec == Self.codec else {
            throw .notCopied(codec: track.codec, needed: "AAC")
        }
        do {
            var configuration = track.configuration
            var adts: ADTSHeader?
            if configuration.isEmpty {
                guard let packet = firstPacket else {
                    throw BitstreamError.truncated(.adtsHeader, offset: 0)
                }
                let header = try Self.header(of: packet)
                adts = header
                configuration =
                    header.channelConfiguration == 0
                    ? try AudioSpecificConfig.configuration(
                        adts: header,
                        payload: Array(packet.bytes.dropFirst(header.headerSizeBytes)))
                    : try AudioSpecificConfig(adts: header).bytes()
            }
            self.adts = adts
            self.configuration = configuration
            format = try AudioFormat(aac: configuration)
            framesPerPacket = Int(
                try AudioSpecificConfig(parsing: configuration).framesPerPacket)
        } catch let error as BitstreamError {
            throw .damagedSample(
                codec: Self.codec, atNanoseconds: 0, reason: error.description)
        } catch {
            preconditionFailure("only bitstream errors are thrown above")
        }
        sampleRate = Int(format.sampleRate)
        packetNanoseconds = nanoseconds(frames: Int64(framesPerPacket), rate: sampleRate)
    }

    /// The packet as a sample; nil for priming of a looping file after the first iteration.
    package mutating func copy(_ packet: CodedPacket) throws(EncodingError) -> EncodedSample? {
        if let other = packet.newConfiguration, !other.isEmpty, other != configuration {
            throw .formatChanges(codec: Self.codec, atNanoseconds: packet.dtsNanoseconds)
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
        guard let adts else { return Array(packet.bytes) }
        let header: ADTSHeader
        do {
            header = try Self.header(of: packet)
            guard header.frameSizeBytes == packet.bytes.count else {
                throw BitstreamError.invalid(
                    .adtsHeader, field: "aac_frame_length", value: UInt64(header.frameSizeBytes))
            }
        } catch {
            throw .damagedSample(
                codec: Self.codec, atNanoseconds: packet.dtsNanoseconds, reason: "\(error)")
        }
        guard header.sampleRate == adts.sampleRate, header.objectType == adts.objectType,
            header.channelConfiguration == adts.channelConfiguration
        else { throw .formatChanges(codec: Self.codec, atNanoseconds: packet.dtsNanoseconds) }
        return Array(packet.bytes.dropFirst(header.headerSizeBytes))
    }

    private static func header(of packet: CodedPacket) throws(BitstreamError) -> ADTSHeader {
        try ADTSHeader(parsing: Array(packet.bytes.prefix(ADTSHeader.minimumSize)))
    }
}

extension AudioSpecificConfig {
    /// The configuration that is equivalent to an ADTS header.
    fileprivate init(adts header: ADTSHeader) throws(BitstreamError) {
        // Configurations 1 … 6 are channel counts; 7 stands for eight.
        let channels = UInt32(
            header.channelConfiguration == 7 ? 8 : header.channelConfiguration)
        try self.init(lowComplexityAt: header.sampleRate, channels: channels)
        objectType = header.objectType
    }
}
