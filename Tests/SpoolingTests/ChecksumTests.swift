import Testing
import TestSpools

@testable import Spooling

struct ChecksumTests {
    @Test func `RFC 3720's examples`() {
        func checksum(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { CRC32C.of($0) } }
        #expect(checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(checksum(Array(0..<32)) == 0x46DD_794E)
        #expect(checksum(Array("123456789".utf8)) == 0xE306_9283)
    }

    @Test(arguments: 0..<64)
    func `the instruction and the table agree, at any length and place`(length: Int) {
        let bytes = Shelf.body(UInt64(length), bytes: length + 7)
        for start in 0..<7 {
            var fast = CRC32C()
            var slow = CRC32C()
            bytes.withUnsafeBytes { bytes in
                let slice = UnsafeRawBufferPointer(rebasing: bytes[start..<start + length])
                fast.update(slice)
                slow.updateByTable(slice)
            }
            #expect(fast.value == slow.value)
        }
    }
}
