import Archive
import CLinux
import Files
import Glibc
import Recordings

/// A buffered sequential writer of a descriptor.
///
/// Owned by one thread.
final class ByteFile {
    /// Large enough to amortise system calls.
    private static let bufferBytes = 1 << 20

    /// For errors.
    let path: String
    /// Bytes written so far.
    private(set) var position: Int64 = 0
    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private var buffer: [UInt8] = []

    /// A new or truncated file.
    init(creating path: String, named name: String) throws {
        self.path = name
        descriptor = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0o644)
        ownsDescriptor = true
        guard descriptor >= 0 else { throw failure("write", errno) }
        buffer.reserveCapacity(Self.bufferBytes)
    }

    /// A temporary file without a name, in the directory of `path`.
    init(scratchBeside path: String) throws {
        self.path = path
        var template = Array("\(Path.directory(of: path))/.tributary-XXXXXX".utf8CString)
        descriptor = template.withUnsafeMutableBufferPointer { name in
            name.baseAddress.map { mkstemp($0) } ?? -1
        }
        ownsDescriptor = true
        guard descriptor >= 0 else { throw failure("write next to", errno) }
        template.withUnsafeBufferPointer { name in
            if let name = name.baseAddress { unlink(name) }
        }
    }

    /// Another owner's descriptor, such as standard output.
    init(descriptor: Int32, named name: String) {
        path = name
        self.descriptor = descriptor
        ownsDescriptor = false
        buffer.reserveCapacity(Self.bufferBytes)
    }

    deinit { if ownsDescriptor { close(descriptor) } }

    /// Appends bytes, possibly only to the buffer.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        if buffer.count + bytes.count > Self.bufferBytes { try flush() }
        if bytes.count >= Self.bufferBytes {
            try writeAll(bytes)
        } else {
            buffer.append(contentsOf: bytes)
        }
        position += Int64(bytes.count)
    }

    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try write($0) }
    }

    func flush() throws {
        guard !buffer.isEmpty else { return }
        try buffer.withUnsafeBytes { try writeAll($0) }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Overwrites earlier bytes.
    func overwrite(_ bytes: [UInt8], at offset: Int64) throws {
        try flush()
        let count = bytes.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset))
        }
        guard count == bytes.count else { throw failure("write", count < 0 ? errno : ENOSPC) }
    }

    /// Reads bytes back.
    func read(at offset: Int64, count: Int) throws -> [UInt8] {
        try flush()
        guard let bytes = Descriptor.read(descriptor, at: offset, count: count) else {
            throw failure("read", errno)
        }
        guard bytes.count == count else { throw failure("read", EIO) }
        return bytes
    }

    /// Appends bytes of another file, within the kernel if possible.
    func copy(from source: any StoredFile, _ range: Range<Int64>) throws {
        try flush()
        guard let descriptor = source.localDescriptor else {
            return try copyThroughMemory(from: source, range)
        }
        var offset = off_t(range.lowerBound)
        let end = off_t(range.upperBound)
        while offset < end {
            let count = CLinux_copy_file_range(
                descriptor, &offset, self.descriptor, Int(end - offset))
            if count > 0 {
                position += Int64(count)
                continue
            }
            if count == 0 {
                throw ExportError.damaged(path: source.path, reason: "it ends too early")
            }
            switch errno {
            case EINTR: continue
            case ENOSYS, EXDEV, EINVAL, EBADF, EPERM, EOPNOTSUPP, ETXTBSY:
                return try copyThroughMemory(from: source, Int64(offset)..<range.upperBound)
            default: throw failure("write", errno)
            }
        }
    }

    /// For files on different disks, objects of a store, and pipes.
    private func copyThroughMemory(from source: any StoredFile, _ range: Range<Int64>) throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.bufferBytes, alignment: 4096)
        defer { memory.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(Int64(Self.bufferBytes), range.upperBound - offset))
            let got = try source.read(
                at: offset, into: UnsafeMutableRawBufferPointer(rebasing: memory[..<wanted]))
            guard got > 0 else {
                throw ExportError.damaged(path: source.path, reason: "it ends too early")
            }
            try writeAll(UnsafeRawBufferPointer(rebasing: memory[..<got]))
            offset += Int64(got)
            position += Int64(got)
        }
    }

    private func writeAll(_ bytes: UnsafeRawBufferPointer) throws {
        guard Descriptor.write(descriptor, bytes) else { throw failure("write", errno) }
    }

    private func failure(_ operation: String, _ code: Int32) -> ExportError {
        .system(operation: operation, path: path, reason: systemMessage(code))
    }
}
