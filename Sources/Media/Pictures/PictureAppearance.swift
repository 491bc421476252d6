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

extension SampleAspectRatio {
    /// The ratios with a number (ISO/IEC 14496-10 table E-1, ITU-T H.265 table E.1).
    private static let aspectRatios: [(UInt16, UInt16)] = [
        (1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11), (80, 33),
        (18, 11), (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1),
    ]

    /// `aspect_ratio_idc` and what follows; nil: unspecified.
    static func reading(
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
}

extension ColourDescription {
    /// From `video_format` on; nil: unspecified.
    static func reading(
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
}
