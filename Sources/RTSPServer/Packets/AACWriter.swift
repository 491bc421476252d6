import Media

/// AAC (RFC 3640, mode AAC-hbr): one AAC packet in one packet of RTP, or in several.
enum AACWriter: PayloadWriter {
    /// Sizes have 13 bits.
    private static let maximumSampleBytes = 8_191

    static func parts(
        of sample: [UInt8], maximumBytes: Int
    ) throws(BitstreamError) -> [PayloadPart] {
        // No decoder's input is as long (ISO/IEC 14496-3 §4.5.3): 6,144 bits for each channel.
        guard (1...maximumSampleBytes).contains(sample.count) else { return [] }
        let size = sample.count << 3
        // Sixteen bits of headers: the size, and an index of 0. A part has the size of the whole.
        let header = [0, 16, UInt8(truncatingIfNeeded: size >> 8), UInt8(truncatingIfNeeded: size)]
        let content = maximumBytes - header.count
        return stride(from: 0, to: sample.count, by: content).map { start in
            PayloadPart(
                header: header, pieces: [start..<min(start + content, sample.count)])
        }
    }
}
