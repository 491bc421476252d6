import CLinux
import Files
import Glibc
import MP4

/// A growing file: the only code that writes recordings.
///
/// Owned by one thread. An append is either complete or, after an error, leaves the file unchanged.
package final class RecordingFile {
    package private(set) var path: String
    /// Bytes that are in the file.
    package private(set) var sizeBytes: UInt64 = 0
    /// Bytes that were durable when ``synchronize()`` last returned, or when the file was opened to be resumed.
    package private(set) var durableBytes: UInt64
    /// An `fdatasync` has failed: data after ``durableBytes`` may be lost. The next `fdatasync` would succeed
    /// nevertheless, because Linux reports a lost page once and then treats it as clean.
    package private(set) var hasLostPages = false
    private let disk: any Disk
    private var descriptor: Int32
    private var writebackStart: UInt64 = 0
    /// The file has other names (hard links), possibly outside of the archive: it is replaced by a copy before its
    /// first change.
    private var hasOtherNames = false
    /// Bytes copied per step.
    private static let copiedBytes = 1 << 20

    /// Creates a file; an existing file is an error, and is never overwritten.
    package convenience init(
        creating path: String, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        try self.init(path, flags: O_CREAT | O_EXCL, operation: "create", on: disk)
    }

    /// Opens an existing file, to resume it.
    package convenience init(
        reopening path: String, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        try self.init(path, flags: 0, operation: "open", on: disk)
    }

    /// Opens a file to resume it, or creates one.
    package convenience init(
        growing path: String, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        try self.init(path, flags: O_CREAT, operation: "open", on: disk)
    }

    private init(
        _ path: String, flags: Int32, operation: String, on disk: any Disk
    ) throws(ArchiveError) {
        self.path = path
        self.disk = disk
        descriptor = disk.open(path, flags: flags | O_RDWR | O_CLOEXEC, mode: 0o644)
        guard descriptor >= 0 else {
            throw .system(operation: operation, path: path, errno: errno)
        }
        let end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else {
            let code = errno
            disk.close(descriptor)
            throw .system(operation: "find the end of", path: path, errno: code)
        }
        sizeBytes = UInt64(end)
        durableBytes = sizeBytes
        writebackStart = sizeBytes
        var status = stat()
        hasOtherNames = fstat(descriptor, &status) == 0 && status.st_nlink > 1
    }

    deinit {
        disk.close(descriptor)
    }

    /// Removes everything after `size` bytes.
    package func cut(to size: UInt64) throws(ArchiveError) {
        precondition(size <= sizeBytes, "a file can only be shortened")
        try separate()
        guard disk.truncate(descriptor, to: Int64(size)) == 0 else {
            throw .system(operation: "cut", path: path, errno: errno)
        }
        sizeBytes = size
        durableBytes = min(durableBytes, size)
        writebackStart = min(writebackStart, size)
    }

    /// Replaces a file with hard links by a copy, so that the other names keep the original.
    func separate() throws(ArchiveError) {
        guard hasOtherNames else { return }
        let unfinished = SegmentCompanion.unnamed.path(of: path)
        try FileSystem.remove(unfinished, on: disk)
        let copy = try RecordingFile(creating: unfinished, on: disk)
        while copy.sizeBytes < sizeBytes {
            let count = min(UInt64(Self.copiedBytes), sizeBytes - copy.sizeBytes)
            let bytes: [UInt8]
            do throws(MP4Error) {
                bytes = try DescriptorSource(descriptor: descriptor).read(
                    at: Int64(copy.sizeBytes), count: Int(count))
            } catch {
                throw .malformed(path: path, reason: "cannot be copied: \(error)")
            }
            try copy.append(bytes)
        }
        try copy.synchronize()
        guard disk.rename(unfinished, to: path) == 0 else {
            throw .system(operation: "replace", path: path, errno: errno)
        }
        let directory = Path.directory(of: path)
        try FileSystem.synchronizeDirectory(directory, on: disk)
        // The other descriptor is closed with the copy.
        swap(&descriptor, &copy.descriptor)
        hasOtherNames = false
    }

    /// The file's descriptor, for reading back what was written; valid until the file is changed next.
    package var readDescriptor: Int32 { descriptor }

    /// Appends memory regions, in order, in as few calls as possible and without copying them.
    package func append(_ parts: [UnsafeRawBufferPointer]) throws(ArchiveError) {
        try separate()
        var rest = parts[...]
        let total = parts.reduce(0) { $0 + $1.count }
        var written = 0
        while written < total {
            var count = disk.write(descriptor, rest, at: Int64(sizeBytes) + Int64(written))
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                let code = count < 0 ? errno : ENOSPC
                takeBack()
                throw .system(operation: "write", path: path, errno: code)
            }
            written += count
            while let first = rest.first, count >= first.count {
                count -= first.count
                rest = rest.dropFirst()
            }
            if count > 0, let first = rest.first {
                rest[rest.startIndex] = UnsafeRawBufferPointer(rebasing: first[count...])
            }
        }
        sizeBytes += UInt64(total)
    }

    /// Appends an array.
    package func append(_ bytes: [UInt8]) throws(ArchiveError) {
        try withBytes(bytes) { (buffer) throws(ArchiveError) in try append([buffer]) }
    }

    /// Overwrites bytes of the file.
    package func overwrite(_ bytes: [UInt8], at offset: UInt64) throws(ArchiveError) {
        precondition(offset + UInt64(bytes.count) <= sizeBytes, "only existing bytes change")
        try separate()
        let count = bytes.withUnsafeBytes { disk.write(descriptor, [$0], at: Int64(offset)) }
        guard count == bytes.count else {
            throw .system(operation: "write", path: path, errno: count < 0 ? errno : ENOSPC)
        }
    }

    /// Starts to write dirty pages to the disk, without waiting.
    ///
    /// Called for every file before the first ``synchronize()``: the disk then works on all of them together, and one
    /// journal commit covers them.
    package func startWriteback() {
        let start = writebackStart
        guard sizeBytes > start else { return }
        writebackStart = sizeBytes
        disk.startWriteback(descriptor, from: Int64(start), count: Int64(sizeBytes - start))
    }

    /// Makes later reads return the content of the disk. An earlier process may have been killed after the kernel had
    /// reported to it alone that pages could not be written: they remain in memory as if they were on the disk.
    ///
    /// The file must be synchronised, because only unchanged pages are dropped.
    /// - Parameter offset: the end of the data that is known to be durable.
    package func readAnew(from offset: UInt64 = 0) {
        disk.forget(descriptor, from: Int64(clamping: offset))
    }

    /// Returns when everything written is durable. After a failure, call ``cutToDurable()`` first.
    package func synchronize() throws(ArchiveError) {
        guard !hasLostPages else {
            throw .system(operation: "synchronise", path: path, errno: EIO)
        }
        while disk.synchronize(descriptor) != 0 {
            guard errno == EINTR else {
                hasLostPages = true
                throw .system(operation: "synchronise", path: path, errno: errno)
            }
        }
        durableBytes = sizeBytes
    }

    /// Removes data that a failed ``synchronize()`` may have lost.
    package func cutToDurable() throws(ArchiveError) {
        try cut(to: durableBytes)
        hasLostPages = false
        try synchronize()
    }

    /// Renames the file in its directory, to an unused name.
    package func rename(to new: String) throws(ArchiveError) {
        guard !FileSystem.exists(new) else {
            throw .system(operation: "create", path: new, errno: EEXIST)
        }
        guard disk.rename(path, to: new) == 0 else {
            throw .system(operation: "create", path: new, errno: errno)
        }
        path = new
    }

    /// Removes data that a failed append may have left behind.
    private func takeBack() {
        // If this fails too, the torn fragment remains as the file's tail, and every reader stops before it.
        _ = disk.truncate(descriptor, to: Int64(sizeBytes))
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
