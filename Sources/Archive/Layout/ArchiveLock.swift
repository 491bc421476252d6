import Files
import Glibc

/// The lock of an archive's collector, released when its process ends.
///
/// The locked file is not deleted: a lock file's existence would outlive a killed collector.
package final class ArchiveLock: Sendable {
    private let lock: FileLock
    private let path: String

    private init(_ lock: FileLock, path: String) {
        self.lock = lock
        self.path = path
    }

    /// The locked file; nil if the kernel does not report it.
    var locked: LockedFile? {
        lock.file.map { LockedFile(path: path, device: $0.device, inode: $0.inode) }
    }

    /// - Parameter timeout: blocks up to this long while another process has the lock.
    /// - Returns: nil if another process still has it.
    package static func take(
        _ layout: ArchiveLayout, timeout: Duration = .zero
    ) throws(ArchiveError) -> ArchiveLock? {
        let descriptor = try FileSystem.open(layout.lock, flags: O_RDWR | O_CREAT, mode: 0o644)
        return try take(descriptor, .exclusive, layout, timeout)
    }

    /// Whether a collector is recording into the archive.
    package static func isTaken(_ layout: ArchiveLayout) throws(ArchiveError) -> Bool {
        let descriptor = PlainPath.openFile(layout.lock, flags: O_RDONLY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return false }
            throw .system(operation: "open", path: layout.lock, errno: errno)
        }
        // A shared lock does not exclude other processes that check.
        return try take(descriptor, .shared, layout, .zero) == nil
    }

    private static func take(
        _ descriptor: Int32, _ kind: FileLock.Kind, _ layout: ArchiveLayout, _ timeout: Duration
    ) throws(ArchiveError) -> ArchiveLock? {
        do throws(FileError) {
            return try FileLock.take(descriptor, kind, path: layout.lock, timeout: timeout)
                .map { ArchiveLock($0, path: layout.lock) }
        } catch {
            throw ArchiveError(error)
        }
    }
}
