extension VideoCodec {
    package static let h264 = VideoCodec(H264.self)
}

/// H.264, also named AVC (ISO/IEC 14496-10).
package enum H264: VideoCoding {
    package static let identifier = "h264"
    package static let name = "H.264"
    package static let libraryName = "h264"
    package static let encoders = [
        "h264_vaapi", "h264_v4l2m2m", "h264_nvenc", "h264_qsv", "libx264",
    ]
    package static let fileSuffixes = ["h264", "264", "avc"]

    package static let entry = "avc1"
    package static let readableEntries = ["avc1", "avc3"]
    package static let configurationBox = ConfigurationBox("avcC")
    package static let allowsSetsInSamples = true
    /// Omitted reference pictures are gaps of `frame_num` (§7.4.3).
    package static let mayOmitLeadingPictures = false

    package static func brokenLink(_ accessUnit: Span<UInt8>) -> [BytePatch] { [] }

    package static func configuration(
        parsing record: [UInt8]
    ) throws(BitstreamError) -> DecoderConfiguration {
        let parsed = try AVCDecoderConfiguration(parsing: record)
        return DecoderConfiguration(
            lengthSize: parsed.lengthSize,
            parameterSets: parsed.sequenceParameterSets + parsed.pictureParameterSets)
    }

    package static func recordFields(
        _ record: [UInt8]
    ) throws(BitstreamError) -> [(name: String, value: UInt64)] {
        let parsed = try AVCDecoderConfiguration(parsing: record)
        return [
            ("profile", UInt64(parsed.profile)), ("constraints", UInt64(parsed.constraints)),
            ("level", UInt64(parsed.level)),
        ]
    }

    package static func record(
        for format: VideoFormat, lengthSize: Int
    ) throws(BitstreamError) -> [UInt8] {
        var record = try AVCDecoderConfiguration(format)
        record.lengthSize = lengthSize
        return try record.bytes()
    }

    /// `avc1.64001e`: `profile_idc`, the constraint flags and `level_idc`, which follow the NAL unit's header.
    package static func codecText(_ format: VideoFormat) -> String {
        guard let set = format.sets(.sequence).first, set.count >= 4 else { return entry }
        let digits = set[1...3].map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "\(entry).\(digits.joined())"
    }

    package static func kind(ofHeader header: UInt16) -> NALUnitKind {
        switch NALUnitType(header: UInt8(header >> 8)) {
        case .nonIDRSlice, .slicePartition, .idrSlice: .slice
        case .sequenceParameterSet: .parameterSet(.sequence)
        case .pictureParameterSet: .parameterSet(.picture)
        case .accessUnitDelimiter: .delimiter
        case .supplementalEnhancementInformation: .preamble
        case .other(14...18): .prefix
        case .endOfSequence, .endOfStream, .filler, .sequenceParameterSetExtension, .other: .suffix
        }
    }

    package static let neededSets: [ParameterSetKind] = [.sequence, .picture]

    /// `avcC` counts 31 and 255 sets (ISO/IEC 14496-15 §5.3.3.1), one less than there are identifiers.
    package static func maximumSets(_ kind: ParameterSetKind) -> Int {
        kind == .picture ? 255 : 31
    }

    package static func identifier(
        of nalUnit: [UInt8], _ kind: ParameterSetKind
    ) throws(BitstreamError) -> UInt8 {
        // Identifiers are within the first bytes.
        let front = withoutEmulationPrevention(nalUnit.prefix(16).dropFirst())
        guard kind == .sequence else {
            var reader = BitReader(front, of: .pictureParameterSet)
            return UInt8(try reader.unsignedGolomb("pic_parameter_set_id", atMost: 255))
        }
        var reader = BitReader(front, of: .sequenceParameterSet)
        try reader.skip(24)  // profile, constraints, level
        return UInt8(try reader.unsignedGolomb("seq_parameter_set_id", atMost: 31))
    }

    package static func parse(
        _ nalUnit: [UInt8], _ kind: ParameterSetKind
    ) throws(BitstreamError) -> any ParameterSet {
        if kind == .sequence { return try SequenceParameterSet(parsing: nalUnit) }
        return try PictureParameterSet(parsing: nalUnit)
    }

    package static func pictureReader() -> any PictureReader { H264Picture() }

    package static func orderReader() -> any PictureOrderReader { H264PictureOrder() }
}

extension SequenceParameterSet: ParameterSet {
    package var pictures: PictureProperties? {
        let timing = usability?.timing
        return PictureProperties(
            width: width, height: height, profile: profile, chromaFormat: chromaFormat,
            lumaBitDepth: lumaBitDepth, chromaBitDepth: chromaBitDepth,
            sampleAspectRatio: usability?.sampleAspectRatio, colour: usability?.colour,
            // A frame lasts two ticks (§E.2.1).
            frameDuration: timing.map {
                .init(ticks: 2 * UInt64($0.unitsInTick), timescale: $0.timescale)
            }, maximumReorderedFrames: maximumReorderedFrames)
    }
}

extension PictureParameterSet: ParameterSet {
    package var reference: UInt8? { sequenceID }
    package var pictures: PictureProperties? { nil }
}

extension ParameterSetTable {
    /// The sequence parameter set with this identifier, of an H.264 stream.
    package func sequence(_ id: UInt8) -> SequenceParameterSet? {
        content(.sequence(id)) as? SequenceParameterSet
    }

    /// The picture parameter set with this identifier, of an H.264 stream.
    package func picture(_ id: UInt8) -> PictureParameterSet? {
        content(.picture(id)) as? PictureParameterSet
    }

    /// The sets for slices that refer to this picture parameter set; nil when one is missing.
    package func sets(
        forPicture id: UInt8
    ) -> (picture: PictureParameterSet, sequence: SequenceParameterSet)? {
        guard let picture = picture(id), let sequence = sequence(picture.sequenceID) else {
            return nil
        }
        return (picture, sequence)
    }
}

extension VideoFormat {
    /// An H.264 track.
    package static func h264(
        sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]], width: UInt32,
        height: UInt32, orientation: PictureOrientation = .upright,
        sampleAspectRatio: SampleAspectRatio? = nil
    ) -> VideoFormat {
        VideoFormat(
            .h264, parameterSets: sequenceParameterSets + pictureParameterSets, width: width,
            height: height, orientation: orientation, sampleAspectRatio: sampleAspectRatio)
    }
}

extension VideoFormat {
    /// An H.264 track with the picture size of its first sequence parameter set.
    package static func h264(
        parsing sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]]
    ) throws(BitstreamError) -> VideoFormat {
        try VideoFormat(.h264, parsing: sequenceParameterSets + pictureParameterSets)
    }
}
