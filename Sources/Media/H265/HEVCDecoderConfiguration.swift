/// HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 §8.3.3.1): the content of `hvcC` and of H.265 extradata.
package struct HEVCDecoderConfiguration: Hashable, Sendable {
    package var profile: H265ProfileTierLevel
    package var chromaFormat: UInt8
    package var lumaBitDepth: UInt8
    package var chromaBitDepth: UInt8
    /// 0: unknown.
    package var temporalLayers: UInt8
    package var isTemporallyNested: Bool
    /// Bytes of each length in the samples: 1, 2 or 4.
    package var lengthSize: Int
    /// Parameter sets and messages, in the record's order.
    package var nalUnits: [[UInt8]]

    /// Arrays of a record: one for each type of parameter set and message; more would be damage.
    private static let maximumArrays = 64

    /// The record for a format with 4-byte lengths, as our samples have.
    package init(_ format: VideoFormat) throws(BitstreamError) {
        guard let first = format.sets(.sequence).first else {
            throw .truncated(.sequenceParameterSet, offset: 0)
        }
        let sequence = try H265SequenceParameterSet(parsing: first)
        profile = sequence.profile
        for set in format.sets(.sequence).dropFirst() {
            let other = try H265SequenceParameterSet(parsing: set).profile
            profile.level = max(profile.level, other.level)
            profile.isHighTier = profile.isHighTier || other.isHighTier
            profile.compatibility &= other.compatibility
            profile.constraints &= other.constraints
        }
        chromaFormat = sequence.chromaFormat
        lumaBitDepth = sequence.lumaBitDepth
        chromaBitDepth = sequence.chromaBitDepth
        temporalLayers = sequence.temporalLayers
        isTemporallyNested = sequence.isTemporallyNested
        lengthSize = 4
        nalUnits = format.parameterSets
    }

    /// Parses a record; trailing bytes are ignored.
    package init(parsing bytes: [UInt8]) throws(BitstreamError) {
        guard let version = bytes.first else {
            throw .truncated(.hevcConfiguration, offset: 0)
        }
        guard version == 1 else {
            throw .invalid(
                .hevcConfiguration, field: "configurationVersion", value: UInt64(version))
        }
        var fixed = BitReader(
            Array(bytes.prefix(Self.fixedSize).dropFirst()), of: .hevcConfiguration)
        profile = try H265ProfileTierLevel(reading: &fixed, subLayers: 0)
        // min_spatial_segmentation_idc and parallelismType, each after reserved bits.
        try fixed.skip(4 + 12 + 6 + 2)
        try fixed.skip(6)
        chromaFormat = UInt8(try fixed.bits(2))
        try fixed.skip(5)
        lumaBitDepth = 8 + UInt8(try fixed.bits(3))
        try fixed.skip(5)
        chromaBitDepth = 8 + UInt8(try fixed.bits(3))
        try fixed.skip(16 + 2)  // avgFrameRate, constantFrameRate
        temporalLayers = UInt8(try fixed.bits(3))
        isTemporallyNested = try fixed.flag()
        lengthSize = Int(try fixed.bits(2)) + 1
        guard lengthSize != 3 else {
            throw .invalid(.hevcConfiguration, field: "lengthSizeMinusOne", value: 2)
        }
        var fields = ConfigurationReader(bytes, of: .hevcConfiguration, from: Self.fixedSize)
        let arrays = Int(try fields.byte())
        guard arrays <= Self.maximumArrays else {
            throw .invalid(.hevcConfiguration, field: "numOfArrays", value: UInt64(arrays))
        }
        nalUnits = []
        for _ in 0..<arrays {
            let type = try fields.byte() & 0x3F
            let count = Int(try fields.byte()) << 8 | Int(try fields.byte())
            for nalUnit in try fields.nalUnits(count: count) {
                guard H265NALUnitHeader(NALUnit.header(of: nalUnit.span)).type == type else {
                    throw .invalid(
                        .hevcConfiguration, field: "NAL_unit_type", value: UInt64(type))
                }
                nalUnits.append(nalUnit)
            }
        }
    }

    /// Bytes before the arrays.
    private static let fixedSize = 22

    /// The record as bytes: one complete array for each type.
    ///
    /// - Throws: when there are more NAL units, or longer ones, than the record can count.
    package func bytes() throws(BitstreamError) -> [UInt8] {
        var result: [UInt8] = [
            1, profile.space << 6 | (profile.isHighTier ? 0x20 : 0) | profile.profile,
        ]
        func append(_ value: UInt64, bytes: Int) {
            for byte in (0..<bytes).reversed() {
                result.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * byte)))
            }
        }
        append(UInt64(profile.compatibility), bytes: 4)
        append(profile.constraints, bytes: 6)
        result.append(profile.level)
        // Segmentation, parallelism and frame rate: unknown.
        result += [0xF0, 0, 0xFC, 0xFC | chromaFormat]
        result += [0xF8 | (lumaBitDepth - 8), 0xF8 | (chromaBitDepth - 8), 0, 0]
        result.append(
            temporalLayers << 3 | (isTemporallyNested ? 4 : 0) | UInt8(lengthSize - 1))
        func type(_ nalUnit: [UInt8]) -> UInt8 {
            nalUnit.isEmpty ? 0 : H265NALUnitHeader(NALUnit.header(of: nalUnit.span)).type
        }
        let types = Set(nalUnits.map(type)).sorted()
        result.append(UInt8(types.count))
        for arrayType in types {
            let own = nalUnits.filter { type($0) == arrayType }
            // array_completeness: no more of them in the samples.
            result.append(0x80 | arrayType)
            append(UInt64(own.count), bytes: 2)
            for nalUnit in own {
                guard let size = UInt16(exactly: nalUnit.count), size > 0 else {
                    throw .invalid(
                        .hevcConfiguration, field: "nalUnitLength", value: UInt64(nalUnit.count))
                }
                append(UInt64(size), bytes: 2)
                result += nalUnit
            }
        }
        return result
    }
}
