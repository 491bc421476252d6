/// The fields of an H.265 video parameter set (ITU-T H.265 §7.3.2.1) that a recording needs.
package struct H265VideoParameterSet: ParameterSet, Hashable {
    /// `vps_video_parameter_set_id`, 0 … 15.
    package var id: UInt8
    package var pictures: PictureProperties? { nil }

    /// Reads a NAL unit, header included, without start code or length.
    package init(parsing nalUnit: [UInt8]) throws(BitstreamError) {
        var reader = try h265Fields(
            nalUnit, type: H265NALUnitHeader.videoParameterSet, of: .videoParameterSet)
        id = UInt8(try reader.bits(4))
        // vps_base_layer_internal_flag, vps_base_layer_available_flag, vps_max_layers_minus1
        try reader.skip(2 + 6)
        let subLayers = try reader.bits(3)
        guard subLayers < 7 else {
            throw .invalid(
                .videoParameterSet, field: "vps_max_sub_layers_minus1", value: UInt64(subLayers))
        }
        // vps_temporal_id_nesting_flag, vps_reserved_0xffff_16bits
        try reader.skip(1 + 16)
    }
}
