import CLinux
import Glibc

/// All system calls that change an archive.
///
/// They have Linux's semantics: each returns what the system call of its name returns, −1 with `errno` on failure. No
/// symbolic link is followed in any part of a path. Read-only calls are not included, except ``isAttached()``. So tests
/// can put a simulated disk with torn writes, lost writes, errors and no space under the real files of a real archive,
/// and run the recording code.
package protocol Disk: Sendable {
    /// open(2); fails unless the file is regular. Not needed for files that are only read.
    func open(_ path: String, flags: Int32, mode: UInt32) -> Int32
    /// close(2).
    func close(_ descriptor: Int32)
    /// pwritev(2); may write only the first of many parts.
    func write(
        _ descriptor: Int32, _ parts: ArraySlice<UnsafeRawBufferPointer>, at offset: Int64
    ) -> Int
    /// ftruncate(2).
    func truncate(_ descriptor: Int32, to sizeBytes: Int64) -> Int32
    /// fdatasync(2).
    func synchronize(_ descriptor: Int32) -> Int32
    /// sync_file_range(2): starts writing without waiting. Only a hint.
    func startWriteback(_ descriptor: Int32, from offset: Int64, count: Int64)
    /// syncfs(2): returns when everything that was written to the file system with this directory is durable, names included.
    func synchronizeFileSystem(of directory: String) -> Int32
    /// posix_fadvise(2), POSIX_FADV_DONTNEED: drops a synchronised file's pages from memory, so that reading returns what is on
    /// the disk.
    /// - Parameter offset: of the first page to drop, or within it.
    func forget(_ descriptor: Int32, from offset: Int64)
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
    /// Whether the archive's path still leads to the archive. If it does not, nothing must be created.
    func isAttached() -> Bool
}

extension Disk {
    package func isAttached() -> Bool { true }
}

/// A ``Disk`` that makes the system calls.
package struct SystemDisk: Disk {
    /// Maximum parts per call (IOV_MAX of Linux).
    private static let maximumParts = 1024

    package init() {}

    package func open(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        PlainPath.openFile(path, flags: flags, mode: mode)
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
        // synchronize() writes the rest, and reports errors.
        _ = CLinux_start_writeback(descriptor, off_t(offset), off_t(count))
    }

    package func synchronizeFileSystem(of directory: String) -> Int32 {
        Self.synchronize(directory, CLinux_synchronize_file_system)
    }

    package func forget(_ descriptor: Int32, from offset: Int64) {
        // The kernel keeps a page of which only a part is named.
        let page = Int64(sysconf(Int32(_SC_PAGESIZE)))
        _ = posix_fadvise(descriptor, off_t(offset / page * page), 0, POSIX_FADV_DONTNEED)
    }

    package func synchronizeDirectory(_ path: String) -> Int32 { Self.synchronize(path, fsync) }

    private static func synchronize(_ directory: String, _ call: (Int32) -> Int32) -> Int32 {
        let descriptor = PlainPath.openDirectory(directory, flags: O_RDONLY)
        guard descriptor >= 0 else { return -1 }
        let result = call(descriptor)
        let code = errno
        _ = Glibc.close(descriptor)
        errno = code
        return result
    }

    package func makeDirectory(_ path: String) -> Int32 { PlainPath.makeDirectory(path) }
    package func rename(_ path: String, to new: String) -> Int32 { PlainPath.rename(path, to: new) }
    package func unlink(_ path: String) -> Int32 { PlainPath.unlink(path) }
    package func removeDirectory(_ path: String) -> Int32 { PlainPath.removeDirectory(path) }
}
