import CLinux
import Glibc

/// A file that grows: the one place where recordings are written.
///
/// Owned by one thread. An append either happens whole or, after an error, leaves the file as it was.
package final class RecordingFile {
    package let path: String
    /// Bytes that are in the file.
    package private(set) var sizeBytes: UInt64 = 0
    private let descriptor: Int32
    private var writebackStart: UInt64 = 0

    /// Most vectors in one `writev` (IOV_MAX of Linux).
    private static let maximumVectors = 1024

    /// Makes a new file; one that is there already is an error, never overwritten.
    package init(creating path: String) throws(ArchiveError) {
        self.path = path
        descriptor = CLinux_open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw .system(operation: "create", path: path, errno: errno)
        }
    }

    /// Opens a file that is there, to go on with it.
    package init(reopening path: String) throws(ArchiveError) {
        self.path = path
        descriptor = CLinux_open(path, O_RDWR | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw .system(operation: "open", path: path, errno: errno)
        }
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else {
            throw .system(operation: "find the end of", path: path, errno: errno)
        }
        sizeBytes = UInt64(end)
        writebackStart = sizeBytes
    }

    deinit {
        close(descriptor)
    }

    /// Takes away what follows `size` bytes.
    package func cut(to size: UInt64) throws(ArchiveError) {
        precondition(size <= sizeBytes, "a file is cut, not stretched")
        guard ftruncate(descriptor, off_t(size)) == 0 else {
            throw .system(operation: "cut", path: path, errno: errno)
        }
        sizeBytes = size
        writebackStart = min(writebackStart, size)
    }

    /// The file's descriptor, for reading back what was written; valid as long as this object.
    package var readDescriptor: Int32 { descriptor }

    /// Writes memory at the end, in order, in as few calls as possible and without copying it.
    package func append(_ parts: [UnsafeRawBufferPointer]) throws(ArchiveError) {
        var vectors = parts.filter { !$0.isEmpty }.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
        let total = parts.reduce(0) { $0 + $1.count }
        var written = 0
        var first = 0
        while written < total {
            let count = vectors.withUnsafeBufferPointer { all in
                let some = all[first..<min(all.count, first + Self.maximumVectors)]
                return pwritev(
                    descriptor, UnsafeBufferPointer(rebasing: some).baseAddress, Int32(some.count),
                    off_t(sizeBytes) + off_t(written))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                let code = count < 0 ? errno : ENOSPC
                takeBack()
                throw .system(operation: "write", path: path, errno: code)
            }
            written += count
            var rest = count
            while rest > 0, rest >= vectors[first].iov_len {
                rest -= vectors[first].iov_len
                first += 1
            }
            if rest > 0 {
                vectors[first].iov_base = vectors[first].iov_base.advanced(by: rest)
                vectors[first].iov_len -= rest
            }
        }
        sizeBytes += UInt64(total)
    }

    /// Writes an array at the end.
    package func append(_ bytes: [UInt8]) throws(ArchiveError) {
        try withBytes(bytes) { (buffer) throws(ArchiveError) in try append([buffer]) }
    }

    /// Writes bytes that are already part of the file anew.
    package func overwrite(_ bytes: [UInt8], at offset: UInt64) throws(ArchiveError) {
        precondition(offset + UInt64(bytes.count) <= sizeBytes, "only what is there is overwritten")
        let count = bytes.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset))
        }
        guard count == bytes.count else {
            throw .system(operation: "write", path: path, errno: count < 0 ? errno : ENOSPC)
        }
    }

    /// Begins to write dirty pages to the disk, and returns at once.
    ///
    /// Called for every file before the first ``synchronize()``: the disk then works on all of them together, and one
    /// journal commit covers them.
    package func startWriteback() {
        let start = writebackStart
        guard sizeBytes > start else { return }
        writebackStart = sizeBytes
        // Only a hint: what it could not do, synchronize() does, and reports.
        _ = CLinux_start_writeback(descriptor, off_t(start), off_t(sizeBytes - start))
    }

    /// Returns when everything written is durable.
    package func synchronize() throws(ArchiveError) {
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else {
                throw .system(operation: "synchronise", path: path, errno: errno)
            }
        }
    }

    /// Removes what a failed append may have left behind.
    private func takeBack() {
        // If this fails too, the torn fragment stays as the file's tail, where every reader stops before it.
        _ = ftruncate(descriptor, off_t(sizeBytes))
    }
}

/// The bytes of an array while `body` runs, with its typed errors.
private func withBytes(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void
) throws(ArchiveError) {
    let result = bytes.withUnsafeBytes { buffer in
        Result { () throws(ArchiveError) in try body(buffer) }
    }
    try result.get()
}
