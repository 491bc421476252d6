/// The fields of an H.265 sequence parameter set (ITU-T H.265 §7.3.2.2.1) that a recording needs.
package struct H265SequenceParameterSet: Hashable, Sendable {
    /// Maximum picture side: that of the highest level (6.2, §A.4.1), √(8 · 35,651,584).
    static let maximumSide: UInt32 = 16_888
    /// `sps_max_dec_pic_buffering_minus1` is at most 15 (§A.4.2), and so is the number of reference pictures.
    private static let maximumPictures: UInt32 = 16

    /// `sps_seq_parameter_set_id`, 0 … 15.
    package var id: UInt8 = 0
    /// `sps_max_sub_layers_minus1` + 1.
    package var temporalLayers: UInt8 = 1
    /// `sps_temporal_id_nesting_flag`.
    package var isTemporallyNested = false
    package var profile: H265ProfileTierLevel
    /// `chroma_format_idc`: 0 monochrome, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    package var chromaFormat: UInt8 = 1
    package var lumaBitDepth: UInt8 = 8
    package var chromaBitDepth: UInt8 = 8
    /// The picture in the conformance window, in pixels.
    package var width: UInt32 = 0
    package var height: UInt32 = 0
    /// `separate_colour_plane_flag`.
    package var hasSeparatePlanes = false
    /// Bits of `slice_pic_order_cnt_lsb`.
    package var orderCountBits = 4
    /// `sps_max_num_reorder_pics` of the highest sub-layer.
    package var maximumReorderedPictures: UInt32 = 0
    /// Nil without video usability information, or if it is invalid: the picture itself does not depend on it.
    package var usability: H265UsabilityInformation?

    /// Reads a NAL unit, header included, without start code or length.
    package init(parsing nalUnit: [UInt8]) throws(BitstreamError) {
        var reader = try h265Fields(
            nalUnit, type: H265NALUnitHeader.sequenceParameterSet, of: .sequenceParameterSet)
        try reader.skip(4)  // sps_video_parameter_set_id
        let subLayers = try reader.bits(3)
        guard subLayers < 7 else {
            throw .invalid(
                .sequenceParameterSet, field: "sps_max_sub_layers_minus1",
                value: UInt64(subLayers))
        }
        temporalLayers = UInt8(subLayers) + 1
        isTemporallyNested = try reader.flag()
        profile = try H265ProfileTierLevel(reading: &reader, subLayers: Int(subLayers))
        id = UInt8(try reader.unsignedGolomb("sps_seq_parameter_set_id", atMost: 15))
        try readSize(&reader)
        try readBuffering(&reader)
        try skipCodingTools(&reader)
        try skipReferences(&reader)
        // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
        try reader.skip(2)
        if try reader.flag() {
            do {
                usability = try H265UsabilityInformation(reading: &reader)
            } catch {
                usability = nil
            }
        }
    }

    private mutating func readSize(_ reader: inout BitReader) throws(BitstreamError) {
        chromaFormat = UInt8(try reader.unsignedGolomb("chroma_format_idc", atMost: 3))
        if chromaFormat == 3 { hasSeparatePlanes = try reader.flag() }
        width = try side("pic_width_in_luma_samples", &reader)
        height = try side("pic_height_in_luma_samples", &reader)
        if try reader.flag() {
            var offsets: [UInt64] = []
            for edge in ["left", "right", "top", "bottom"] {
                offsets.append(
                    UInt64(
                        try reader.unsignedGolomb(
                            "conf_win_\(edge)_offset", atMost: Self.maximumSide)))
            }
            // SubWidthC and SubHeightC (table 6-1).
            let planes: UInt8 = hasSeparatePlanes ? 0 : chromaFormat
            let horizontal = (offsets[0] + offsets[1]) * (planes == 1 || planes == 2 ? 2 : 1)
            let vertical = (offsets[2] + offsets[3]) * (planes == 1 ? 2 : 1)
            guard horizontal < width, vertical < height else {
                throw .invalid(
                    .sequenceParameterSet, field: "conformance window",
                    value: max(horizontal, vertical))
            }
            width -= UInt32(horizontal)
            height -= UInt32(vertical)
        }
        // A configuration record has three bits for 15 at most (ISO/IEC 14496-15 §8.3.3.1).
        lumaBitDepth = 8 + UInt8(try reader.unsignedGolomb("bit_depth_luma_minus8", atMost: 7))
        chromaBitDepth =
            8 + UInt8(try reader.unsignedGolomb("bit_depth_chroma_minus8", atMost: 7))
    }

    private func side(
        _ field: String, _ reader: inout BitReader
    ) throws(BitstreamError) -> UInt32 {
        let side = try reader.unsignedGolomb(field, atMost: Self.maximumSide)
        guard side > 0 else { throw .invalid(.sequenceParameterSet, field: field, value: 0) }
        return side
    }

    private mutating func readBuffering(_ reader: inout BitReader) throws(BitstreamError) {
        orderCountBits =
            4 + Int(try reader.unsignedGolomb("log2_max_pic_order_cnt_lsb_minus4", atMost: 12))
        // sps_sub_layer_ordering_info_present_flag: of each sub-layer, or of the highest one.
        let layers = try reader.flag() ? temporalLayers : 1
        for _ in 0..<layers {
            let buffered = try reader.unsignedGolomb(
                "sps_max_dec_pic_buffering_minus1", atMost: Self.maximumPictures - 1)
            maximumReorderedPictures = try reader.unsignedGolomb(
                "sps_max_num_reorder_pics", atMost: buffered)
            _ = try reader.unsignedGolomb("sps_max_latency_increase_plus1")
        }
    }

    private mutating func skipCodingTools(_ reader: inout BitReader) throws(BitstreamError) {
        for field in [
            "log2_min_luma_coding_block_size_minus3",
            "log2_diff_max_min_luma_coding_block_size",
            "log2_min_luma_transform_block_size_minus2",
            "log2_diff_max_min_luma_transform_block_size",
            "max_transform_hierarchy_depth_inter", "max_transform_hierarchy_depth_intra",
        ] {
            _ = try reader.unsignedGolomb(field, atMost: 6)
        }
        // scaling_list_enabled_flag, sps_scaling_list_data_present_flag
        if try reader.flag(), try reader.flag() { try Self.skipScalingLists(&reader) }
        // amp_enabled_flag, sample_adaptive_offset_enabled_flag
        try reader.skip(2)
        guard try reader.flag() else { return }
        // pcm_sample_bit_depth_luma_minus1, pcm_sample_bit_depth_chroma_minus1
        try reader.skip(8)
        for field in [
            "log2_min_pcm_luma_coding_block_size_minus3",
            "log2_diff_max_min_pcm_luma_coding_block_size",
        ] {
            _ = try reader.unsignedGolomb(field, atMost: 6)
        }
        try reader.skip(1)  // pcm_loop_filter_disabled_flag
    }

    /// `scaling_list_data` (§7.3.4).
    private static func skipScalingLists(_ reader: inout BitReader) throws(BitstreamError) {
        for size in 0..<4 {
            for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
                guard try reader.flag() else {
                    _ = try reader.unsignedGolomb("scaling_list_pred_matrix_id_delta", atMost: 5)
                    continue
                }
                if size > 1 { try skipCoefficient("scaling_list_dc_coef_minus8", &reader) }
                for _ in 0..<min(64, 1 << (4 + 2 * size)) {
                    try skipCoefficient("scaling_list_delta_coef", &reader)
                }
            }
        }
    }

    private static func skipCoefficient(
        _ field: String, _ reader: inout BitReader
    ) throws(BitstreamError) {
        let value = try reader.signedGolomb(field)
        guard (-128...247).contains(value) else {
            throw .invalid(.sequenceParameterSet, field: field, value: UInt64(value.magnitude))
        }
    }

    private func skipReferences(_ reader: inout BitReader) throws(BitstreamError) {
        let count = try reader.unsignedGolomb("num_short_term_ref_pic_sets", atMost: 64)
        var sets: [[Int32]] = []
        for index in 0..<Int(count) {
            sets.append(try Self.readReferenceSet(&reader, after: sets, index: index))
        }
        guard try reader.flag() else { return }
        let longTerm = try reader.unsignedGolomb("num_long_term_ref_pics_sps", atMost: 32)
        // lt_ref_pic_poc_lsb_sps, used_by_curr_pic_lt_sps_flag
        try reader.skip(Int(longTerm) * (orderCountBits + 1))
    }

    /// `st_ref_pic_set` (§7.3.7): differences of picture order counts, negative ones first, each part by distance
    /// (§7.4.8).
    private static func readReferenceSet(
        _ reader: inout BitReader, after sets: [[Int32]], index: Int
    ) throws(BitstreamError) -> [Int32] {
        guard index > 0, try reader.flag() else { return try readExplicitSet(&reader) }
        // delta_idx_minus1 is only in slice headers: the previous set is the reference.
        let isNegative = try reader.flag()
        let distance = Int32(
            1 + (try reader.unsignedGolomb("abs_delta_rps_minus1", atMost: 32_767)))
        let shift = isNegative ? -distance : distance
        var deltas: [Int32] = []
        for reference in sets[index - 1] + [0] {
            let isUsed = try reader.flag()
            let isKept = try isUsed ? true : reader.flag()  // use_delta_flag
            if isKept, reference + shift != 0 { deltas.append(reference + shift) }
        }
        guard deltas.count <= maximumPictures,
            deltas.allSatisfy({ $0.magnitude <= 32_768 })
        else {
            throw .invalid(
                .sequenceParameterSet, field: "NumDeltaPocs", value: UInt64(deltas.count))
        }
        return deltas.filter { $0 < 0 }.sorted(by: >) + deltas.filter { $0 > 0 }.sorted()
    }

    private static func readExplicitSet(
        _ reader: inout BitReader
    ) throws(BitstreamError) -> [Int32] {
        let negative = try reader.unsignedGolomb("num_negative_pics", atMost: maximumPictures)
        let positive = try reader.unsignedGolomb(
            "num_positive_pics", atMost: maximumPictures - negative)
        var deltas: [Int32] = []
        for (count, sign) in [(negative, Int32(-1)), (positive, 1)] {
            var delta: Int32 = 0
            for _ in 0..<count {
                let step = 1 + (try reader.unsignedGolomb("delta_poc_minus1", atMost: 32_767))
                delta += sign * Int32(step)
                deltas.append(delta)
                try reader.skip(1)  // used_by_curr_pic_flag
            }
        }
        return deltas
    }
}

extension H265SequenceParameterSet: ParameterSet {
    package var pictures: PictureProperties? {
        PictureProperties(
            width: width, height: height, profile: profile.profile, chromaFormat: chromaFormat,
            lumaBitDepth: lumaBitDepth, chromaBitDepth: chromaBitDepth,
            sampleAspectRatio: usability?.sampleAspectRatio, colour: usability?.colour,
            frameDuration: usability?.frameDuration,
            maximumReorderedFrames: maximumReorderedPictures)
    }
}
