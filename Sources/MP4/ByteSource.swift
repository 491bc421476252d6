import Files
import Glibc

/// Bytes with random access: a file, or memory.
package protocol ByteSource {
    /// Number of bytes; of a growing file, when the source was created.
    var sizeBytes: Int64 { get }

    /// Exactly `count` bytes from `offset` on.
    ///
    /// - Throws: ``MP4Error/unreadable(offset:errno:)`` or ``MP4Error/shortRead(offset:wanted:got:)``.
    func read(at offset: Int64, count: Int) throws(MP4Error) -> [UInt8]
}

/// Bytes in memory.
package struct MemorySource: ByteSource, Sendable {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var sizeBytes: Int64 { Int64(bytes.count) }

    package func read(at offset: Int64, count: Int) throws(MP4Error) -> [UInt8] {
        precondition(offset >= 0 && count >= 0)
        let available = offset < sizeBytes ? bytes.count - Int(offset) : 0
        guard count <= available else {
            throw .shortRead(offset: offset, wanted: count, got: available)
        }
        return Array(bytes[Int(offset)..<Int(offset) + count])
    }
}

/// A file descriptor that the caller keeps open while the source is used.
package struct DescriptorSource: ByteSource, Sendable {
    private let descriptor: Int32
    package let sizeBytes: Int64

    /// - Throws: when the descriptor has no size.
    package init(descriptor: Int32) throws(MP4Error) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .unreadable(offset: 0, errno: errno)
        }
        self.descriptor = descriptor
        sizeBytes = Int64(status.st_size)
    }

    /// Calls `body` with the file at `path` open for reading.
    package static func withFile<Result>(
        _ path: String, _ body: (DescriptorSource) throws -> Result
    ) throws -> Result {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw MP4Error.unreadable(offset: 0, errno: errno) }
        defer { close(descriptor) }
        return try body(DescriptorSource(descriptor: descriptor))
    }

    package func read(at offset: Int64, count: Int) throws(MP4Error) -> [UInt8] {
        precondition(offset >= 0 && count >= 0)
        guard let bytes = Descriptor.read(descriptor, at: offset, count: count) else {
            throw .unreadable(offset: offset, errno: errno)
        }
        guard bytes.count == count else {
            throw .shortRead(offset: offset, wanted: count, got: bytes.count)
        }
        return bytes
    }
}
