extension VideoCodec {
    package static let h265 = VideoCodec(H265.self)
}

/// H.265, also named HEVC (ITU-T H.265, ISO/IEC 23008-2).
///
/// Layers other than the base layer (annexes F to I) are kept in the samples and not read.
package enum H265: VideoCoding {
    package static let identifier = "h265"
    package static let name = "H.265"
    package static let libraryName = "hevc"
    package static let encoders = [
        "hevc_vaapi", "hevc_v4l2m2m", "hevc_nvenc", "hevc_qsv", "libx265",
    ]
    package static let fileSuffixes = ["h265", "265", "hevc"]

    /// Some players read no `hev1`.
    package static let entry = "hvc1"
    package static let readableEntries = ["hvc1", "hev1"]
    package static let configurationBox = ConfigurationBox("hvcC")
    /// With `hvc1`, all sets are in the sample entry (ISO/IEC 14496-15 §8.4.1).
    package static let allowsSetsInSamples = false
    /// §8.3.2.
    package static let mayOmitLeadingPictures = true

    /// A CRA picture becomes a BLA picture with leading pictures (§7.4.2.2, §8.1.3): both have the same slice headers.
    package static func brokenLink(
        _ accessUnit: Span<UInt8>
    ) throws(BitstreamError) -> [BytePatch] {
        var patches: [BytePatch] = []
        var cursor = NALUnitCursor()
        while let unit = try cursor.next(in: accessUnit) {
            guard H265NALUnitHeader(unit.header).isCleanRandomAccess else { continue }
            let offset = unit.range.lowerBound
            // The lowest bit belongs to the layer's number.
            let byte = H265NALUnitHeader.brokenLinkAccess << 1 | accessUnit[offset] & 1
            patches.append(BytePatch(offset: offset, byte: byte))
        }
        return patches
    }

    package static func configuration(
        parsing record: [UInt8]
    ) throws(BitstreamError) -> DecoderConfiguration {
        let parsed = try HEVCDecoderConfiguration(parsing: record)
        return DecoderConfiguration(
            lengthSize: parsed.lengthSize,
            parameterSets: parsed.nalUnits.filter { kind(of: $0).isParameterSet })
    }

    package static func recordFields(
        _ record: [UInt8]
    ) throws(BitstreamError) -> [(name: String, value: UInt64)] {
        let parsed = try HEVCDecoderConfiguration(parsing: record)
        return [
            ("profile", UInt64(parsed.profile.profile)),
            ("tier", parsed.profile.isHighTier ? 1 : 0),
            ("compatibility", UInt64(parsed.profile.compatibility)),
            ("constraints", parsed.profile.constraints),
            ("level", UInt64(parsed.profile.level)),
            ("temporalLayers", UInt64(parsed.temporalLayers)),
        ]
    }

    package static func record(
        for format: VideoFormat, lengthSize: Int
    ) throws(BitstreamError) -> [UInt8] {
        var record = try HEVCDecoderConfiguration(format)
        record.lengthSize = lengthSize
        return try record.bytes()
    }

    /// `hvc1.1.6.L93.B0`: profile, compatibility flags, tier and level, constraint flags.
    package static func codecText(_ format: VideoFormat) -> String {
        do throws(BitstreamError) {
            guard let set = format.sets(.sequence).first else { return entry }
            return "\(entry).\(try H265SequenceParameterSet(parsing: set).profile.codecText)"
        } catch {
            // Without profile and level, a player has to try to decode it.
            return entry
        }
    }

    package static func kind(ofHeader header: UInt16) -> NALUnitKind {
        let unit = H265NALUnitHeader(header)
        guard unit.layerID == 0 else { return .suffix }
        switch unit.type {
        case 0...9, 16...21: return .slice
        case H265NALUnitHeader.videoParameterSet: return .parameterSet(.video)
        case H265NALUnitHeader.sequenceParameterSet: return .parameterSet(.sequence)
        case H265NALUnitHeader.pictureParameterSet: return .parameterSet(.picture)
        case H265NALUnitHeader.accessUnitDelimiter: return .delimiter
        // Prefix SEI and reserved types that only precede a picture (§7.4.2.4.4).
        case 39, 41...44, 48...55: return .preamble
        default: return .suffix
        }
    }

    private static func kind(of nalUnit: [UInt8]) -> NALUnitKind {
        kind(ofHeader: NALUnit.header(of: nalUnit.span))
    }

    package static let neededSets: [ParameterSetKind] = [.video, .sequence, .picture]

    /// Maximum number of parameter sets of a kind: the number of their identifiers (§7.4.3).
    package static func maximumSets(_ kind: ParameterSetKind) -> Int {
        kind == .picture ? 64 : 16
    }

    package static func identifier(
        of nalUnit: [UInt8], _ kind: ParameterSetKind
    ) throws(BitstreamError) -> UInt8 {
        try parse(nalUnit, kind).id
    }

    package static func parse(
        _ nalUnit: [UInt8], _ kind: ParameterSetKind
    ) throws(BitstreamError) -> any ParameterSet {
        switch kind {
        case .video: try H265VideoParameterSet(parsing: nalUnit)
        case .sequence: try H265SequenceParameterSet(parsing: nalUnit)
        case .picture: try H265PictureParameterSet(parsing: nalUnit)
        }
    }

    package static func pictureReader() -> any PictureReader { H265Picture() }

    package static func orderReader() -> any PictureOrderReader { H265PictureOrder() }
}

/// The header of an H.265 NAL unit (ITU-T H.265 §7.3.1.2).
struct H265NALUnitHeader: Hashable {
    static let videoParameterSet: UInt8 = 32
    static let sequenceParameterSet: UInt8 = 33
    static let pictureParameterSet: UInt8 = 34
    static let accessUnitDelimiter: UInt8 = 35
    static let endOfSequence: UInt8 = 36
    static let endOfBitstream: UInt8 = 37
    /// BLA_W_LP.
    static let brokenLinkAccess: UInt8 = 16

    /// `nal_unit_type`, 0 … 63 (table 7-1).
    let type: UInt8
    /// `nuh_layer_id`; 0: base layer.
    let layerID: UInt8
    /// `TemporalId`.
    let temporalID: UInt8

    init(_ header: UInt16) {
        type = UInt8(header >> 9 & 0x3F)
        layerID = UInt8(header >> 3 & 0x3F)
        temporalID = UInt8(max(1, header & 7) - 1)
    }

    /// An intra random access point: BLA, IDR or CRA, or a reserved one (§3.70).
    var isRandomAccess: Bool { (16...23).contains(type) }
    /// CRA_NUT.
    var isCleanRandomAccess: Bool { type == 21 }
    /// BLA_W_LP, BLA_W_RADL, BLA_N_LP.
    var isBrokenLink: Bool { (16...18).contains(type) }
    /// The next picture begins a coded video sequence (§7.4.2.2).
    var endsSequence: Bool { type == Self.endOfSequence || type == Self.endOfBitstream }
    /// IDR_W_RADL, IDR_N_LP.
    var isIDR: Bool { type == 19 || type == 20 }
    /// RASL_N, RASL_R: may refer to pictures before the random access point that they follow.
    var isSkippedLeading: Bool { type == 8 || type == 9 }
    /// RADL_N, RADL_R.
    var isDecodableLeading: Bool { type == 6 || type == 7 }
    /// Not referred to by pictures of the same temporal sub-layer.
    var isSubLayerNonReference: Bool { type <= 14 && type % 2 == 0 }
}

/// Bytes of a NAL unit's header.
let h265HeaderSize = 2

/// A parameter set's fields after its header.
/// - Throws: when the NAL unit has another type, or is too long for a configuration record.
func h265Fields(
    _ nalUnit: [UInt8], type: UInt8, of syntax: BitstreamError.Syntax
) throws(BitstreamError) -> BitReader {
    guard nalUnit.count <= SequenceParameterSet.maximumSize else {
        throw .invalid(syntax, field: "size", value: UInt64(nalUnit.count))
    }
    guard nalUnit.count >= h265HeaderSize else { throw .truncated(syntax, offset: nalUnit.count) }
    let header = H265NALUnitHeader(NALUnit.header(of: nalUnit.span))
    guard header.type == type else {
        throw .invalid(syntax, field: "nal_unit_type", value: UInt64(header.type))
    }
    return BitReader(
        withoutEmulationPrevention(nalUnit.dropFirst(h265HeaderSize)), of: syntax)
}
