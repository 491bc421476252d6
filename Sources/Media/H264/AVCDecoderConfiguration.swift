/// AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1): the content of `avcC` and of H.264 extradata.
package struct AVCDecoderConfiguration: Hashable, Sendable {
    /// The extension of high profiles, after the parameter sets.
    package struct HighProfile: Hashable, Sendable {
        /// `chroma_format_idc`, 0 … 3.
        package var chromaFormat: UInt8
        package var lumaBitDepth: UInt8
        package var chromaBitDepth: UInt8
        package var parameterSetExtensions: [[UInt8]] = []
    }

    package var profile: UInt8
    package var constraints: UInt8
    package var level: UInt8
    /// Bytes of each length in the samples: 1, 2 or 4.
    package var lengthSize: Int
    package var sequenceParameterSets: [[UInt8]]
    package var pictureParameterSets: [[UInt8]]
    package var highProfile: HighProfile?

    /// The record for a format with 4-byte lengths, as our samples have.
    package init(_ format: VideoFormat) throws(BitstreamError) {
        let sequenceSets = format.sets(.sequence)
        guard let first = sequenceSets.first else {
            throw .invalid(
                .decoderConfiguration, field: "numOfSequenceParameterSets", value: 0)
        }
        let parameters = try SequenceParameterSet(parsing: first)
        profile = parameters.profile
        constraints = parameters.constraints
        level = parameters.level
        // The highest level of all sets, and the constraints that all of them keep.
        for set in sequenceSets.dropFirst() {
            let other = try SequenceParameterSet(parsing: set)
            level = max(level, other.level)
            constraints &= other.constraints
        }
        lengthSize = 4
        sequenceParameterSets = sequenceSets
        pictureParameterSets = format.sets(.picture)
        if Self.profilesWithExtension.contains(profile) {
            highProfile = HighProfile(
                chromaFormat: parameters.chromaFormat, lumaBitDepth: parameters.lumaBitDepth,
                chromaBitDepth: parameters.chromaBitDepth)
        }
    }

    /// Parses a record; trailing bytes are ignored.
    package init(parsing bytes: [UInt8]) throws(BitstreamError) {
        var fields = ConfigurationReader(bytes, of: .decoderConfiguration)
        let version = try fields.byte()
        guard version == 1 else {
            throw .invalid(
                .decoderConfiguration, field: "configurationVersion", value: UInt64(version))
        }
        profile = try fields.byte()
        constraints = try fields.byte()
        level = try fields.byte()
        lengthSize = Int(try fields.byte() & 3) + 1
        guard lengthSize != 3 else {
            throw .invalid(.decoderConfiguration, field: "lengthSizeMinusOne", value: 2)
        }
        sequenceParameterSets = try fields.nalUnits(count: Int(try fields.byte() & 31))
        pictureParameterSets = try fields.nalUnits(count: Int(try fields.byte()))
        // Many writers omit the extension that the profile requires.
        if Self.profilesWithExtension.contains(profile), fields.bytesLeft >= 4 {
            highProfile = HighProfile(
                chromaFormat: try fields.byte() & 3, lumaBitDepth: 8 + (try fields.byte() & 7),
                chromaBitDepth: 8 + (try fields.byte() & 7),
                parameterSetExtensions: try fields.nalUnits(count: Int(try fields.byte())))
        }
    }

    /// The record as bytes.
    ///
    /// - Throws: when there are more parameter sets, or longer ones, than the record can count.
    package func bytes() throws(BitstreamError) -> [UInt8] {
        var result: [UInt8] = [
            1, profile, constraints, level, 0xFC | UInt8(lengthSize - 1),
        ]
        try append(
            sequenceParameterSets, countMask: 31, reserved: 0xE0, to: &result)
        try append(pictureParameterSets, countMask: 255, reserved: 0, to: &result)
        if let highProfile {
            result.append(0xFC | highProfile.chromaFormat)
            result.append(0xF8 | (highProfile.lumaBitDepth - 8))
            result.append(0xF8 | (highProfile.chromaBitDepth - 8))
            try append(
                highProfile.parameterSetExtensions, countMask: 255, reserved: 0, to: &result)
        }
        return result
    }

    private static let profilesWithExtension: Set<UInt8> = [100, 110, 122, 144, 244]

    private func append(
        _ sets: [[UInt8]], countMask: Int, reserved: UInt8, to result: inout [UInt8]
    ) throws(BitstreamError) {
        guard sets.count <= countMask else {
            throw .invalid(
                .decoderConfiguration, field: "number of parameter sets",
                value: UInt64(sets.count))
        }
        result.append(reserved | UInt8(sets.count))
        for set in sets {
            guard let size = UInt16(exactly: set.count), size > 0 else {
                throw .invalid(
                    .decoderConfiguration, field: "parameterSetLength",
                    value: UInt64(set.count))
            }
            result.append(UInt8(size >> 8))
            result.append(UInt8(size & 0xFF))
            result.append(contentsOf: set)
        }
    }
}
