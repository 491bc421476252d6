import CChecksum

/// CRC-32C (Castagnoli, RFC 3720 §B.4), for which the processors of camera boxes have an instruction.
package struct CRC32C: Hashable, Sendable {
    private static let hasInstruction = CChecksum_has_crc32c() != 0
    /// Reflected polynomial 0x1EDC6F41.
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in
            value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1
        }
    }

    private var state: UInt32 = 0xFFFF_FFFF

    package init() {}

    /// The checksum of everything so far.
    package var value: UInt32 { ~state }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard Self.hasInstruction else { return updateByTable(bytes) }
        guard let start = bytes.baseAddress else { return }
        state = CChecksum_crc32c(state, start, bytes.count)
    }

    /// CRC-32C for processors without the instruction.
    mutating func updateByTable(_ bytes: UnsafeRawBufferPointer) {
        Self.table.withUnsafeBufferPointer { table in
            for byte in bytes {
                state = state >> 8 ^ table[Int(UInt8(truncatingIfNeeded: state) ^ byte)]
            }
        }
    }

    /// The checksum of some bytes.
    package static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = CRC32C()
        checksum.update(bytes)
        return checksum.value
    }
}
