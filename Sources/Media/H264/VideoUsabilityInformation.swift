/// `num_units_in_tick` and `time_scale`: a frame lasts two ticks.
package struct FrameTiming: Hashable, Sendable {
    package var unitsInTick: UInt32
    package var timescale: UInt32
    package var isFixed: Bool
}

/// Video usability information of a sequence parameter set (ISO/IEC 14496-10 §E.1.1).
package struct VideoUsabilityInformation: Hashable, Sendable {
    /// Nil when unspecified.
    package var sampleAspectRatio: SampleAspectRatio?
    /// Nil when unspecified.
    package var colour: ColourDescription?
    /// Nil when unspecified, or zero.
    package var timing: FrameTiming?
    /// `max_num_reorder_frames`; nil without bitstream restrictions.
    package var maximumReorderedFrames: UInt32?

    init(reading reader: inout BitReader) throws(BitstreamError) {
        if try reader.flag() { sampleAspectRatio = try SampleAspectRatio.reading(&reader) }
        if try reader.flag() { try reader.skip(1) }
        if try reader.flag() { colour = try ColourDescription.reading(&reader) }
        if try reader.flag() {
            _ = try reader.unsignedGolomb("chroma_sample_loc_type_top_field", atMost: 5)
            _ = try reader.unsignedGolomb("chroma_sample_loc_type_bottom_field", atMost: 5)
        }
        if try reader.flag() {
            let units = try reader.bits(32)
            let timescale = try reader.bits(32)
            let isFixed = try reader.flag()
            if units > 0, timescale > 0 {
                timing = FrameTiming(
                    unitsInTick: units, timescale: timescale, isFixed: isFixed)
            }
        }
        let hasNALParameters = try reader.flag()
        if hasNALParameters { try Self.skipHypotheticalDecoder(&reader) }
        let hasVCLParameters = try reader.flag()
        if hasVCLParameters { try Self.skipHypotheticalDecoder(&reader) }
        if hasNALParameters || hasVCLParameters { try reader.skip(1) }
        try reader.skip(1)
        if try reader.flag() {
            try reader.skip(1)
            for field in [
                "max_bytes_per_pic_denom", "max_bits_per_mb_denom",
                "log2_max_mv_length_horizontal", "log2_max_mv_length_vertical",
            ] {
                _ = try reader.unsignedGolomb(field, atMost: 16)
            }
            maximumReorderedFrames = try reader.unsignedGolomb(
                "max_num_reorder_frames", atMost: 16)
            _ = try reader.unsignedGolomb("max_dec_frame_buffering", atMost: 16)
        }
    }

    /// `hrd_parameters` (§E.1.2).
    private static func skipHypotheticalDecoder(
        _ reader: inout BitReader
    ) throws(BitstreamError) {
        let buffers = 1 + (try reader.unsignedGolomb("cpb_cnt_minus1", atMost: 31))
        try reader.skip(8)
        for _ in 0..<buffers {
            _ = try reader.unsignedGolomb("bit_rate_value_minus1")
            _ = try reader.unsignedGolomb("cpb_size_value_minus1")
            try reader.skip(1)
        }
        try reader.skip(20)
    }
}
