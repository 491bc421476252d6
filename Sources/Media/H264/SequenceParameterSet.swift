/// The fields of an H.264 sequence parameter set (ISO/IEC 14496-10 §7.3.2.1.1) that a recording needs.
package struct SequenceParameterSet: Hashable, Sendable {
    /// Maximum picture side in macroblocks: above every level's bound (level 6.2: 1,055).
    static let maximumSideInMacroblocks: UInt32 = 1_056
    /// The longest NAL unit that is parsed; avcC cannot hold a longer one.
    static let maximumSize = 65_535

    /// `seq_parameter_set_id`, 0 … 31.
    package var id: UInt8 = 0
    /// `profile_idc`: 66 baseline, 77 main, 100 high, …
    package var profile: UInt8 = 0
    /// The byte of `constraint_set0_flag` … `constraint_set5_flag`.
    package var constraints: UInt8 = 0
    /// `level_idc`: ten times the level.
    package var level: UInt8 = 0
    /// `chroma_format_idc`: 0 monochrome, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    package var chromaFormat: UInt8 = 1
    package var lumaBitDepth: UInt8 = 8
    package var chromaBitDepth: UInt8 = 8
    /// The cropped picture, in pixels.
    package var width: UInt32 = 0
    package var height: UInt32 = 0
    /// The fields that determine the order of pictures (§8.2.1).
    struct PictureOrder: Hashable, Sendable {
        /// Bits of `frame_num` in slice headers.
        var frameNumberBits = 4
        /// `pic_order_cnt_type`.
        var type: UInt8 = 0
        /// Type 0: bits of `pic_order_cnt_lsb` in slice headers.
        var countBits = 4
        // Type 1, in the standard's order. Slice headers have no `delta_pic_order_cnt` if it is always zero.
        var deltaIsAlwaysZero = true
        var nonReferenceOffset: Int64 = 0
        var bottomOffset: Int64 = 0
        var referenceOffsets: [Int64] = []
    }

    var pictureOrder = PictureOrder()
    /// `pic_order_cnt_type`; with 2, output order is decoding order.
    package var pictureOrderCountType: UInt8 { pictureOrder.type }
    package var maximumReferenceFrames: UInt32 = 0
    /// `frame_mbs_only_flag`: every picture is a whole frame, never a field.
    package var isProgressive = true
    /// `separate_colour_plane_flag`: each colour plane has its own slices.
    package var hasSeparatePlanes = false
    /// Nil if missing or invalid: the picture itself does not depend on it.
    package var usability: VideoUsabilityInformation?

    /// Maximum number of pictures that precede one in decoding order and follow it in presentation; nil if unspecified.
    package var maximumReorderedFrames: UInt32? {
        if let told = usability?.maximumReorderedFrames { return told }
        if profile == 66 || pictureOrderCountType == 2 { return 0 }
        let isIntraOnly =
            [44, 86, 100, 110, 122, 244].contains(profile) && constraints & 0x10 != 0
        return isIntraOnly ? 0 : nil
    }

    /// Whether presentation order may differ from decoding order (B pictures).
    package var mayReorder: Bool { maximumReorderedFrames != 0 }

    /// Reads a NAL unit, header byte included, without start code or length.
    package init(parsing nalUnit: [UInt8]) throws(BitstreamError) {
        guard nalUnit.count <= Self.maximumSize else {
            throw .invalid(
                .sequenceParameterSet, field: "size", value: UInt64(nalUnit.count))
        }
        guard let header = nalUnit.first else {
            throw .truncated(.sequenceParameterSet, offset: 0)
        }
        guard NALUnitType(header: header) == .sequenceParameterSet else {
            throw .invalid(
                .sequenceParameterSet, field: "nal_unit_type", value: UInt64(header & 0x1F))
        }
        var reader = BitReader(
            withoutEmulationPrevention(nalUnit.dropFirst()), of: .sequenceParameterSet)
        profile = UInt8(try reader.bits(8))
        constraints = UInt8(try reader.bits(8))
        level = UInt8(try reader.bits(8))
        id = UInt8(try reader.unsignedGolomb("seq_parameter_set_id", atMost: 31))
        if Self.profilesWithChroma.contains(profile) {
            hasSeparatePlanes = try readChroma(&reader)
        }
        try readPictureOrder(&reader)
        try readSize(&reader)
        if try reader.flag() {
            do {
                usability = try VideoUsabilityInformation(reading: &reader)
            } catch {
                usability = nil
            }
        }
    }

    /// Profiles whose parameter sets state chroma format and bit depths.
    static let profilesWithChroma: Set<UInt8> = [
        44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244,
    ]

    /// Chroma format, bit depths, scaling matrices; the result is `separate_colour_plane_flag`.
    private mutating func readChroma(_ reader: inout BitReader) throws(BitstreamError) -> Bool {
        chromaFormat = UInt8(try reader.unsignedGolomb("chroma_format_idc", atMost: 3))
        let hasSeparatePlanes = chromaFormat == 3 ? try reader.flag() : false
        lumaBitDepth = 8 + UInt8(try reader.unsignedGolomb("bit_depth_luma_minus8", atMost: 6))
        chromaBitDepth =
            8 + UInt8(try reader.unsignedGolomb("bit_depth_chroma_minus8", atMost: 6))
        try reader.skip(1)
        if try reader.flag() {
            for list in 0..<(chromaFormat == 3 ? 12 : 8) where try reader.flag() {
                try Self.skipScalingList(&reader, count: list < 6 ? 16 : 64)
            }
        }
        return hasSeparatePlanes
    }

    /// §7.3.2.1.1.1.
    private static func skipScalingList(
        _ reader: inout BitReader, count: Int
    ) throws(BitstreamError) {
        var last: Int32 = 8
        var next: Int32 = 8
        for _ in 0..<count {
            if next != 0 {
                let delta = try reader.signedGolomb("delta_scale")
                guard (-128...127).contains(delta) else {
                    throw .invalid(
                        .sequenceParameterSet, field: "delta_scale",
                        value: UInt64(delta.magnitude))
                }
                next = (last + delta + 256) % 256
            }
            if next != 0 { last = next }
        }
    }

    private mutating func readPictureOrder(_ reader: inout BitReader) throws(BitstreamError) {
        pictureOrder.frameNumberBits =
            4 + Int(try reader.unsignedGolomb("log2_max_frame_num_minus4", atMost: 12))
        pictureOrder.type = UInt8(try reader.unsignedGolomb("pic_order_cnt_type", atMost: 2))
        switch pictureOrder.type {
        case 0:
            pictureOrder.countBits =
                4 + Int(try reader.unsignedGolomb("log2_max_pic_order_cnt_lsb_minus4", atMost: 12))
        case 1:
            pictureOrder.deltaIsAlwaysZero = try reader.flag()
            pictureOrder.nonReferenceOffset = Int64(
                try reader.signedGolomb("offset_for_non_ref_pic"))
            pictureOrder.bottomOffset = Int64(
                try reader.signedGolomb("offset_for_top_to_bottom_field"))
            let cycle = try reader.unsignedGolomb(
                "num_ref_frames_in_pic_order_cnt_cycle", atMost: 255)
            for _ in 0..<cycle {
                pictureOrder.referenceOffsets.append(
                    Int64(try reader.signedGolomb("offset_for_ref_frame")))
            }
        default:
            break
        }
        maximumReferenceFrames = try reader.unsignedGolomb("max_num_ref_frames", atMost: 16)
        try reader.skip(1)
    }

    private mutating func readSize(_ reader: inout BitReader) throws(BitstreamError) {
        let limit = Self.maximumSideInMacroblocks - 1
        let columns = 1 + (try reader.unsignedGolomb("pic_width_in_mbs_minus1", atMost: limit))
        let rows =
            1 + (try reader.unsignedGolomb("pic_height_in_map_units_minus1", atMost: limit))
        isProgressive = try reader.flag()
        if !isProgressive { try reader.skip(1) }
        try reader.skip(1)
        let fields: UInt32 = isProgressive ? 1 : 2
        width = columns * 16
        height = rows * 16 * fields
        guard try reader.flag() else { return }
        let left = UInt64(try reader.unsignedGolomb("frame_crop_left_offset"))
        let right = UInt64(try reader.unsignedGolomb("frame_crop_right_offset"))
        let top = UInt64(try reader.unsignedGolomb("frame_crop_top_offset"))
        let bottom = UInt64(try reader.unsignedGolomb("frame_crop_bottom_offset"))
        let planes: UInt8 = hasSeparatePlanes ? 0 : chromaFormat
        let horizontal = (left + right) * (planes == 1 || planes == 2 ? 2 : 1)
        let vertical = (top + bottom) * (planes == 1 ? 2 : 1) * UInt64(fields)
        guard horizontal < width, vertical < height else {
            throw .invalid(
                .sequenceParameterSet, field: "frame cropping", value: max(horizontal, vertical))
        }
        width -= UInt32(horizontal)
        height -= UInt32(vertical)
    }
}

/// A NAL unit's payload without its `emulation_prevention_three_byte`s (§7.4.1.1).
func withoutEmulationPrevention(_ payload: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(payload.count)
    var zeros = 0
    for byte in payload {
        if zeros >= 2, byte == 3 {
            zeros = 0
            continue
        }
        zeros = byte == 0 ? zeros + 1 : 0
        result.append(byte)
    }
    return result
}
