package import Hashing

/// Bytes for a store. They go to the connection from where they are, and their memory can be used again.
package struct ObjectBytes: Sendable {
    /// `@unchecked Sendable`: written before it is shared, and again only by the one who has the last reference.
    private final class Memory: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer

        init(count: Int) {
            bytes = .allocate(byteCount: count, alignment: MemoryLayout<UInt64>.alignment)
        }

        deinit { bytes.deallocate() }
    }

    private let memory: Memory
    package let count: Int

    package init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { memory in
            memory.copyBytes(from: bytes)
            return bytes.count
        }
    }

    /// Bytes that are written into new memory, or into that of others.
    /// - Parameters:
    ///   - count: how many there are to be.
    ///   - spare: bytes that are not needed any more. Their memory is used again, unless somebody else still has it.
    ///   - fill: writes into the memory, which has `count` bytes at least, and returns how many it has written.
    package init(
        count: Int, in spare: consuming ObjectBytes? = nil,
        _ fill: (UnsafeMutableRawBufferPointer) -> Int
    ) {
        var memory = spare.take()?.memory ?? Memory(count: count)
        if memory.bytes.count < count || !isKnownUniquelyReferenced(&memory) {
            memory = Memory(count: count)
        }
        let filled = fill(memory.bytes)
        precondition((0...memory.bytes.count).contains(filled))
        self.memory = memory
        self.count = filled
    }

    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The memory lives as long as the bytes are looked at.
        let memory = memory
        defer { withExtendedLifetime(memory) {} }
        return try body(UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]))
    }
}

extension ObjectBytes {
    /// Their digest by a hash function.
    package func hash(with function: HashFunction) -> [UInt8] {
        withUnsafeBytes { function.hash($0) }
    }
}
