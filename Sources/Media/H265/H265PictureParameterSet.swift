/// The fields of an H.265 picture parameter set (ITU-T H.265 §7.3.2.3.1) that slice headers depend on.
package struct H265PictureParameterSet: ParameterSet, Hashable {
    /// `pps_pic_parameter_set_id`, 0 … 63.
    package var id: UInt8
    /// `pps_seq_parameter_set_id` of the sequence parameter set that it refers to.
    package var sequenceID: UInt8
    /// `output_flag_present_flag`.
    package var hasOutputFlag: Bool
    /// `num_extra_slice_header_bits`.
    package var extraSliceHeaderBits: Int
    package var pictures: PictureProperties? { nil }
    package var reference: UInt8? { sequenceID }

    /// Reads a NAL unit, header included, without start code or length.
    package init(parsing nalUnit: [UInt8]) throws(BitstreamError) {
        var reader = try h265Fields(
            nalUnit, type: H265NALUnitHeader.pictureParameterSet, of: .pictureParameterSet)
        id = UInt8(try reader.unsignedGolomb("pps_pic_parameter_set_id", atMost: 63))
        sequenceID = UInt8(try reader.unsignedGolomb("pps_seq_parameter_set_id", atMost: 15))
        try reader.skip(1)  // dependent_slice_segments_enabled_flag
        hasOutputFlag = try reader.flag()
        extraSliceHeaderBits = Int(try reader.bits(3))
    }
}
