package import Hashing
import NIOCore

/// Bytes for a store. They go to the connection from where they are: the HTTP client gets slices of this memory, not copies. (Of more
/// than 16 MiB, NIO copies what is behind those: a slice's begin has 24 bits.)
package struct ObjectBytes: Sendable {
    let buffer: ByteBuffer

    package init(_ bytes: [UInt8]) { buffer = ByteBuffer(bytes: bytes) }

    /// Bytes that are written into new memory, or into that of others.
    /// - Parameters:
    ///   - count: how many there are to be.
    ///   - spare: bytes that are not needed any more. Their memory is used again, unless a connection still has some of it.
    ///   - fill: writes into the memory, which has `count` bytes at least, and returns how many it has written.
    package init(
        count: Int, in spare: consuming ObjectBytes? = nil,
        _ fill: (UnsafeMutableRawBufferPointer) -> Int
    ) {
        var buffer = spare.take()?.buffer ?? ByteBuffer()
        buffer.clear(minimumCapacity: count)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count, fill)
        self.buffer = buffer
    }

    package var count: Int { buffer.readableBytes }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        buffer.withUnsafeReadableBytes(body)
    }
}

extension ObjectBytes {
    /// Their digest by a hash function.
    package func hash(with function: HashFunction) -> [UInt8] {
        withUnsafeBytes { function.hash($0) }
    }
}
