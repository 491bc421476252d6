/// The fields of an H.264 picture parameter set (ISO/IEC 14496-10 §7.3.2.2) that slice headers depend on.
package struct PictureParameterSet: Hashable, Sendable {
    /// `pic_parameter_set_id`, 0 … 255.
    package var id: UInt8 = 0
    /// `seq_parameter_set_id` of the sequence parameter set that it refers to.
    package var sequenceID: UInt8 = 0
    /// `bottom_field_pic_order_in_frame_present_flag`.
    package var hasBottomFieldOrder = false
    /// `redundant_pic_cnt_present_flag`.
    package var hasRedundantPictures = false

    /// Reads a NAL unit, header byte included, without start code or length.
    package init(parsing nalUnit: [UInt8]) throws(BitstreamError) {
        guard nalUnit.count <= SequenceParameterSet.maximumSize else {
            throw .invalid(.pictureParameterSet, field: "size", value: UInt64(nalUnit.count))
        }
        guard let header = nalUnit.first else {
            throw .truncated(.pictureParameterSet, offset: 0)
        }
        guard NALUnitType(header: header) == .pictureParameterSet else {
            throw .invalid(
                .pictureParameterSet, field: "nal_unit_type", value: UInt64(header & 0x1F))
        }
        var reader = BitReader(
            withoutEmulationPrevention(nalUnit.dropFirst()), of: .pictureParameterSet)
        id = UInt8(try reader.unsignedGolomb("pic_parameter_set_id", atMost: 255))
        sequenceID = UInt8(try reader.unsignedGolomb("seq_parameter_set_id", atMost: 31))
        try reader.skip(1)  // entropy_coding_mode_flag
        hasBottomFieldOrder = try reader.flag()
        try Self.skipSliceGroups(&reader)
        for list in 0...1 {
            _ = try reader.unsignedGolomb(
                "num_ref_idx_l\(list)_default_active_minus1", atMost: 31)
        }
        try reader.skip(3)  // weighted_pred_flag, weighted_bipred_idc
        for field in ["pic_init_qp_minus26", "pic_init_qs_minus26", "chroma_qp_index_offset"] {
            _ = try reader.signedGolomb(field)
        }
        try reader.skip(2)  // deblocking_filter_control_present_flag, constrained_intra_pred_flag
        hasRedundantPictures = try reader.flag()
    }

    private static func skipSliceGroups(_ reader: inout BitReader) throws(BitstreamError) {
        let last = try reader.unsignedGolomb("num_slice_groups_minus1", atMost: 7)
        guard last > 0 else { return }
        let side = SequenceParameterSet.maximumSideInMacroblocks
        let most = side * side
        switch try reader.unsignedGolomb("slice_group_map_type", atMost: 6) {
        case 0:
            for _ in 0...last {
                _ = try reader.unsignedGolomb("run_length_minus1", atMost: most)
            }
        case 2:
            for _ in 0..<last {
                _ = try reader.unsignedGolomb("top_left", atMost: most)
                _ = try reader.unsignedGolomb("bottom_right", atMost: most)
            }
        case 3, 4, 5:
            try reader.skip(1)  // slice_group_change_direction_flag
            _ = try reader.unsignedGolomb("slice_group_change_rate_minus1", atMost: most)
        case 6:
            let units =
                1 + (try reader.unsignedGolomb("pic_size_in_map_units_minus1", atMost: most))
            // Ceil(Log2(num_slice_groups_minus1 + 1)) bits each.
            try reader.skip(Int(units) * (last > 3 ? 3 : last > 1 ? 2 : 1))
        default:
            break
        }
    }
}
