package import Hashing

/// The body of a request, sent from its own memory, which can be reused.
package struct ObjectBytes: Sendable {
    /// `@unchecked Sendable`: written before it is shared, and again only by the holder of the last reference.
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

    /// Bytes written into new or reused memory.
    /// - Parameters:
    ///   - count: the required size.
    ///   - spare: bytes that are no longer needed. Their memory is reused, unless there are other references.
    ///   - fill: writes into the memory, which has at least `count` bytes, and returns the number written.
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
        // The memory must outlive the call.
        let memory = memory
        defer { withExtendedLifetime(memory) {} }
        return try body(UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]))
    }
}

extension ObjectBytes {
    package func hash(with function: HashFunction) -> [UInt8] {
        withUnsafeBytes { function.hash($0) }
    }
}
