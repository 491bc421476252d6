import Hashing
import Testing

@testable import ObjectStore

@Suite struct BytesTests {
    private func address(of bytes: ObjectBytes) -> UnsafeRawPointer? {
        bytes.withUnsafeBytes { $0.baseAddress }
    }

    private func array(_ bytes: ObjectBytes) -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }

    private func bytes(_ value: UInt8, count: Int, in spare: consuming ObjectBytes? = nil)
        -> ObjectBytes
    {
        ObjectBytes(count: count, in: spare) { memory in
            for index in 0..<count { memory[index] = value }
            return count
        }
    }

    @Test func `the memory of released bytes is reused`() throws {
        var spare: ObjectBytes? = bytes(1, count: 70_000)
        let place = try #require(spare.map(address))
        let second = bytes(2, count: 60_000, in: spare.take())
        #expect(address(of: second) == place)
        #expect(second.count == 60_000)
        #expect(array(second).allSatisfy { $0 == 2 })
    }

    @Test func `bytes that are still referenced are not overwritten`() {
        let first = bytes(1, count: 70_000)
        let second = bytes(2, count: 70_000, in: first)
        #expect(array(second).allSatisfy { $0 == 2 })
        #expect(array(first).allSatisfy { $0 == 1 })
    }

    @Test func `the count is that of the written bytes`() {
        let short = ObjectBytes(count: 5_000) { memory in
            #expect(memory.count >= 5_000)
            memory[0] = 7
            return 1
        }
        #expect(array(short) == [7])
        #expect(ObjectBytes([]).count == 0)
    }

    @Test func `their digest is that of the same bytes in an array`() {
        let array = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(ObjectBytes(array).hash(with: .sha256) == HashFunction.sha256.hash(array))
        #expect(ObjectBytes([]).hash(with: .sha256) == HashFunction.sha256.hash([]))
    }
}
