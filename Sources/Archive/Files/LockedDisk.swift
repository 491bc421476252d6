import CLinux
import Glibc
import Synchronization

/// The disk of an archive that is locked.
///
/// If the archive was removed, moved, replaced or unmounted, its path leads to another directory or to none. A file or
/// directory created there would not be in the archive and not under its lock, so nothing is created until the path leads
/// to the locked file again.
package final class LockedDisk: Disk {
    private let system = SystemDisk()
    /// `nil` before the lock is taken.
    private let locked = Mutex<LockedFile?>(nil)

    package init() {}

    /// Creates files and directories only while the archive's path leads to this lock's file.
    package func follow(_ lock: ArchiveLock) { locked.withLock { $0 = lock.locked } }

    package func isAttached() -> Bool { locked.withLock { $0 }?.isInPlace() ?? true }

    /// Sets `errno` if nothing may be created.
    private func mayCreate() -> Bool {
        guard isAttached() else {
            errno = ENOENT
            return false
        }
        return true
    }

    package func open(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        guard flags & O_CREAT == 0 || mayCreate() else { return -1 }
        return system.open(path, flags: flags, mode: mode)
    }

    package func makeDirectory(_ path: String) -> Int32 {
        mayCreate() ? system.makeDirectory(path) : -1
    }

    package func close(_ descriptor: Int32) { system.close(descriptor) }

    package func write(
        _ descriptor: Int32, _ parts: ArraySlice<UnsafeRawBufferPointer>, at offset: Int64
    ) -> Int {
        system.write(descriptor, parts, at: offset)
    }

    package func truncate(_ descriptor: Int32, to sizeBytes: Int64) -> Int32 {
        system.truncate(descriptor, to: sizeBytes)
    }

    package func synchronize(_ descriptor: Int32) -> Int32 { system.synchronize(descriptor) }

    package func startWriteback(_ descriptor: Int32, from offset: Int64, count: Int64) {
        system.startWriteback(descriptor, from: offset, count: count)
    }

    package func synchronizeFileSystem(of directory: String) -> Int32 {
        system.synchronizeFileSystem(of: directory)
    }

    package func forget(_ descriptor: Int32, from offset: Int64) {
        system.forget(descriptor, from: offset)
    }

    package func synchronizeDirectory(_ path: String) -> Int32 {
        system.synchronizeDirectory(path)
    }

    package func rename(_ path: String, to new: String) -> Int32 { system.rename(path, to: new) }
    package func unlink(_ path: String) -> Int32 { system.unlink(path) }
    package func removeDirectory(_ path: String) -> Int32 { system.removeDirectory(path) }
}

/// A file that was locked by its path.
struct LockedFile: Sendable {
    var path: String
    var device: UInt64
    var inode: UInt64

    /// Whether the path leads to this file; true also if that cannot be determined.
    func isInPlace() -> Bool {
        guard let status = PlainPath.status(path) else {
            switch errno {
            case ENOENT, ENOTDIR, ELOOP, ESTALE: return false
            default: return true
            }
        }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }
}
