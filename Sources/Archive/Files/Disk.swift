import CLinux
import Glibc

/// The system calls that change what is on a disk: an archive is changed by nothing else.
///
/// They are as Linux has them: each returns what the call of its name returns, −1 with `errno` where that failed. What only reads is
/// not here. So a disk that tears, forgets, fills up and fails can stand under the real files of a real archive, and the code
/// above it is the one that records.
package protocol Disk: Sendable {
    /// open(2); what is opened for reading alone need not come this way.
    func open(_ path: String, flags: Int32, mode: UInt32) -> Int32
    /// close(2).
    func close(_ descriptor: Int32)
    /// pwritev(2); of many parts perhaps only the first.
    func write(
        _ descriptor: Int32, _ parts: ArraySlice<UnsafeRawBufferPointer>, at offset: Int64
    ) -> Int
    /// ftruncate(2).
    func truncate(_ descriptor: Int32, to sizeBytes: Int64) -> Int32
    /// fdatasync(2).
    func synchronize(_ descriptor: Int32) -> Int32
    /// sync_file_range(2): begins to write without waiting. Only a hint.
    func startWriteback(_ descriptor: Int32, from offset: Int64, count: Int64)
    /// posix_fadvise(2), POSIX_FADV_DONTNEED: what is in memory of a synchronised file is forgotten, so that reading shows what the
    /// disk has.
    func forget(_ descriptor: Int32)
    /// fsync(2) of a directory: the names in it are durable.
    func synchronizeDirectory(_ path: String) -> Int32
    /// mkdir(2).
    func makeDirectory(_ path: String) -> Int32
    /// rename(2).
    func rename(_ path: String, to new: String) -> Int32
    /// unlink(2).
    func unlink(_ path: String) -> Int32
    /// rmdir(2).
    func removeDirectory(_ path: String) -> Int32
}

/// The kernel's disks.
package struct SystemDisk: Disk {
    /// Most parts in one call (IOV_MAX of Linux).
    private static let maximumParts = 1024

    package init() {}

    package func open(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        CLinux_open(path, flags, mode)
    }

    package func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    package func write(
        _ descriptor: Int32, _ parts: ArraySlice<UnsafeRawBufferPointer>, at offset: Int64
    ) -> Int {
        let vectors = parts.prefix(Self.maximumParts).map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
        return pwritev(descriptor, vectors, Int32(vectors.count), off_t(offset))
    }

    package func truncate(_ descriptor: Int32, to sizeBytes: Int64) -> Int32 {
        ftruncate(descriptor, off_t(sizeBytes))
    }

    package func synchronize(_ descriptor: Int32) -> Int32 { fdatasync(descriptor) }

    package func startWriteback(_ descriptor: Int32, from offset: Int64, count: Int64) {
        // What it could not do, synchronize() does, and reports.
        _ = CLinux_start_writeback(descriptor, off_t(offset), off_t(count))
    }

    package func forget(_ descriptor: Int32) {
        _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }

    package func synchronizeDirectory(_ path: String) -> Int32 {
        let descriptor = CLinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return -1 }
        let result = fsync(descriptor)
        let code = errno
        _ = Glibc.close(descriptor)
        errno = code
        return result
    }

    package func makeDirectory(_ path: String) -> Int32 { mkdir(path, 0o755) }
    package func rename(_ path: String, to new: String) -> Int32 { Glibc.rename(path, new) }
    package func unlink(_ path: String) -> Int32 { Glibc.unlink(path) }
    package func removeDirectory(_ path: String) -> Int32 { rmdir(path) }
}
