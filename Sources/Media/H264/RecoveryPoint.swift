/// A recovery point message (ISO/IEC 14496-10 §D.1.8, §D.2.8).
package struct RecoveryPoint: Hashable, Sendable {
    /// `recovery_frame_cnt`: reference frames until decoded pictures are correct.
    package var frames: UInt32

    /// The recovery point among a NAL unit's messages (§7.3.2.3); nil when there is none.
    /// - Parameter nalUnit: a supplemental enhancement information NAL unit, header byte included.
    package init?(in nalUnit: Span<UInt8>) throws(BitstreamError) {
        // Messages after the limit are not parsed.
        let bytes = nalUnit.extracting(first: Self.longestBytes).withUnsafeBufferPointer {
            withoutEmulationPrevention(Array($0.dropFirst())[...])
        }
        var position = 0
        func number() -> Int? {
            var sum = 0
            while position < bytes.count {
                let byte = bytes[position]
                position += 1
                sum += Int(byte)
                if byte < 255 { return sum }
            }
            return nil
        }
        while position < bytes.count, let type = number(), let size = number() {
            guard size <= bytes.count - position else { return nil }
            if type == Self.payloadType {
                var reader = BitReader(
                    Array(bytes[position..<position + size]), of: .supplementalEnhancement)
                frames = try reader.unsignedGolomb("recovery_frame_cnt", atMost: 65_535)
                return
            }
            position += size
        }
        return nil
    }

    private static let payloadType = 6
    /// Far more than the user data that cameras put first.
    private static let longestBytes = 65_536
}
