/// The start of an H.265 slice segment header (ITU-T H.265 §7.3.6.1).
struct H265SliceHeader: Hashable, Sendable {
    /// `first_slice_segment_in_pic_flag`.
    var isFirst: Bool
    /// `slice_pic_parameter_set_id`.
    var pictureSetID: UInt8
    /// `slice_pic_order_cnt_lsb`; nil after the first segment of a picture, and when the parameter sets are unknown.
    var orderCount: UInt32?

    /// Bytes of a slice that are parsed: all fields at their longest, with emulation prevention, are shorter.
    private static let longestBytes = 32

    /// Reads a slice's NAL unit, header included, without start code or length.
    init(parsing nalUnit: Span<UInt8>, with table: ParameterSetTable) throws(BitstreamError) {
        guard nalUnit.count > h265HeaderSize else {
            throw .truncated(.sliceHeader, offset: nalUnit.count)
        }
        let unit = H265NALUnitHeader(NALUnit.header(of: nalUnit))
        let bytes = nalUnit.extracting(first: Self.longestBytes)
            .withUnsafeBufferPointer { Array($0.dropFirst(h265HeaderSize)) }
        var reader = BitReader(withoutEmulationPrevention(bytes[...]), of: .sliceHeader)
        isFirst = try reader.flag()
        if unit.isRandomAccess { try reader.skip(1) }  // no_output_of_prior_pics_flag
        pictureSetID = UInt8(try reader.unsignedGolomb("slice_pic_parameter_set_id", atMost: 63))
        guard isFirst,
            let picture = table.content(.picture(pictureSetID)) as? H265PictureParameterSet,
            let sequence = table.content(.sequence(picture.sequenceID))
                as? H265SequenceParameterSet
        else { return }
        try reader.skip(picture.extraSliceHeaderBits)
        _ = try reader.unsignedGolomb("slice_type", atMost: 2)
        if picture.hasOutputFlag { try reader.skip(1) }  // pic_output_flag
        if sequence.hasSeparatePlanes { try reader.skip(2) }  // colour_plane_id
        orderCount = unit.isIDR ? 0 : try reader.bits(sequence.orderCountBits)
    }
}
