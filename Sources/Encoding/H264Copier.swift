package import Media

/// Passes on a source's own H.264: each packet becomes an access unit with 4-byte lengths, its NAL units bit for bit.
///
/// Parameter sets inside the samples stay there. A sequence parameter set that the track does not have yet is a new
/// format.
package struct H264Copier: Sendable {
    /// What a packet became.
    package struct Output: Sendable {
        /// The format from this sample on, where it is new.
        package let newFormat: H264Format?
        package let sample: EncodedSample
    }

    /// The format in force.
    package private(set) var format: H264Format

    private static let codec = "h264"
    /// Bytes of the source's NAL unit lengths; nil for Annex B.
    private var lengthSize: Int?
    private var mayReorder: Bool
    /// The container's word, which no parameter set repeats.
    private var orientation = PictureOrientation.upright
    private var lastDTS: Int64?

    /// `firstPacket` tells the parameter sets where the container does not: `avc3`, and `avc1` with an empty `avcC`
    /// (ISO/IEC 14496-15 §5.4.2).
    package init(
        _ track: CodedTrack, firstPacket: CodedPacket? = nil
    ) throws(EncodingError) {
        guard track.codec == Self.codec else {
            throw .notCopied(codec: track.codec, needed: "H.264")
        }
        let known: H264Format?
        do throws(BitstreamError) {
            lengthSize = try Self.lengthSize(track.configuration)
            if try track.isDescribed {
                known = try H264Format(extradata: track.configuration)
            } else {
                known = try firstPacket.flatMap { (packet) throws(BitstreamError) in
                    try H264Format(
                        inBand: packet.bytes.bindMemory(to: UInt8.self).span,
                        extradata: track.configuration)
                }
            }
            mayReorder = try known.map(Self.mayReorder) ?? false
        } catch {
            throw .damagedSample(
                codec: Self.codec, atNanoseconds: 0, reason: error.description)
        }
        guard let known else { throw .noParameterSets }
        format = known
        if case .picture(let picture) = track.content { orientation = picture.orientation }
        format.orientation = orientation
    }

    /// The packet as a sample.
    package mutating func copy(_ packet: CodedPacket) throws(EncodingError) -> Output {
        guard let pts = packet.ptsNanoseconds ?? (mayReorder ? nil : packet.dtsNanoseconds) else {
            throw .noPresentationTimes
        }
        var newFormat: H264Format?
        let data: [UInt8]
        do {
            if let configuration = packet.newConfiguration, !configuration.isEmpty {
                let format = try H264Format(extradata: configuration)
                lengthSize = try Self.lengthSize(configuration)
                if format != self.format { newFormat = format }
            }
            data = try lengthPrefixed(packet)
            if let format = try formatChange(in: data) { newFormat = format }
            newFormat?.orientation = orientation
            if let newFormat {
                format = newFormat
                mayReorder = try Self.mayReorder(newFormat)
            }
        } catch {
            throw .damagedSample(
                codec: Self.codec, atNanoseconds: packet.dtsNanoseconds, reason: error.description)
        }
        // Some containers round two decoding times to the same tick; ours have to grow.
        let own = packet.dtsNanoseconds
        let dts = min(pts, lastDTS.map { max(own, $0 + 1) } ?? own)
        lastDTS = dts
        return Output(
            newFormat: newFormat,
            sample: EncodedSample(
                track: .video, ptsNanoseconds: pts, dtsNanoseconds: dts,
                durationNanoseconds: packet.durationNanoseconds,
                flags: packet.isKeyframe ? .keyframe : [], data: data))
    }

    private func lengthPrefixed(_ packet: CodedPacket) throws(BitstreamError) -> [UInt8] {
        let bytes = packet.bytes.bindMemory(to: UInt8.self)
        guard let lengthSize else {
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count + 64)
            try AnnexB.appendLengthPrefixed(bytes.span, to: &result)
            return result
        }
        if lengthSize != 4 { return try withFourByteLengths(bytes.span, lengthSize: lengthSize) }
        return Array(bytes)
    }

    /// Walks the access unit, so that its lengths are known to be right; the format it brings with it, if it is new.
    private func formatChange(in accessUnit: [UInt8]) throws(BitstreamError) -> H264Format? {
        var sequenceSets: [[UInt8]] = []
        var pictureSets: [[UInt8]] = []
        var cursor = NALUnitCursor()
        let span = accessUnit.span
        while let unit = try cursor.next(in: span) {
            switch unit.type {
            case .sequenceParameterSet: sequenceSets.append(Array(accessUnit[unit.range]))
            case .pictureParameterSet: pictureSets.append(Array(accessUnit[unit.range]))
            default: continue
            }
        }
        if sequenceSets.allSatisfy(format.sequenceParameterSets.contains) { return nil }
        return try H264Format(
            parsing: sequenceSets,
            pictureParameterSets: pictureSets.isEmpty ? format.pictureParameterSets : pictureSets)
    }

    private static func lengthSize(_ configuration: [UInt8]) throws(BitstreamError) -> Int? {
        guard configuration.first == 1 else { return nil }
        return try AVCDecoderConfiguration(parsing: configuration).lengthSize
    }

    private static func mayReorder(_ format: H264Format) throws(BitstreamError) -> Bool {
        for set in format.sequenceParameterSets
        where try SequenceParameterSet(parsing: set).mayReorder {
            return true
        }
        return false
    }
}
