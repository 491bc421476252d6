/// Ratio of width to height of a picture's samples.
package struct SampleAspectRatio: Hashable, Sendable {
    package var horizontal: UInt16
    package var vertical: UInt16
}

/// The colour space of a picture (ISO/IEC 14496-10 §E.2.1; code points of ISO/IEC 23091-2).
package struct ColourDescription: Hashable, Sendable {
    package var primaries: UInt8
    package var transferCharacteristics: UInt8
    package var matrixCoefficients: UInt8
    package var isFullRange: Bool
}

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
        if try reader.flag() { sampleAspectRatio = try Self.readAspectRatio(&reader) }
        if try reader.flag() { try reader.skip(1) }
        if try reader.flag() { colour = try Self.readColour(&reader) }
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

    /// Table E-1.
    private static let aspectRatios: [(UInt16, UInt16)] = [
        (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33),
        (18, 11), (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
    ]

    private static func readAspectRatio(
        _ reader: inout BitReader
    ) throws(BitstreamError) -> SampleAspectRatio? {
        let index = Int(try reader.bits(8))
        if index == 255 {
            let horizontal = UInt16(try reader.bits(16))
            let vertical = UInt16(try reader.bits(16))
            guard horizontal > 0, vertical > 0 else { return nil }
            return SampleAspectRatio(horizontal: horizontal, vertical: vertical)
        }
        guard (1...aspectRatios.count).contains(index) else { return nil }
        let (horizontal, vertical) = aspectRatios[index - 1]
        return SampleAspectRatio(horizontal: horizontal, vertical: vertical)
    }

    private static func readColour(
        _ reader: inout BitReader
    ) throws(BitstreamError) -> ColourDescription? {
        try reader.skip(3)
        let isFullRange = try reader.flag()
        // 2 means unspecified, and is the default of a stream that states only its range.
        guard try reader.flag() else {
            guard isFullRange else { return nil }
            return ColourDescription(
                primaries: 2, transferCharacteristics: 2, matrixCoefficients: 2,
                isFullRange: true)
        }
        return ColourDescription(
            primaries: UInt8(try reader.bits(8)),
            transferCharacteristics: UInt8(try reader.bits(8)),
            matrixCoefficients: UInt8(try reader.bits(8)), isFullRange: isFullRange)
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
