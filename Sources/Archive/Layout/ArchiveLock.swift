import Glibc

/// The right to record into an archive: held by one collector at a time, until its process ends.
///
/// A kernel lock (flock(2)) on a file that is not deleted: a lock file's existence would outlive a killed collector.
package final class ArchiveLock: Sendable {
    private let descriptor: Int32

    private init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Takes the lock; nil when another process has it.
    package static func take(_ layout: ArchiveLayout) throws(ArchiveError) -> ArchiveLock? {
        let descriptor = try FileSystem.open(layout.lock, flags: O_RDWR | O_CREAT, mode: 0o644)
        return try lock(descriptor, LOCK_EX, layout)
    }

    /// Whether a collector is recording into the archive.
    package static func isTaken(_ layout: ArchiveLayout) throws(ArchiveError) -> Bool {
        let descriptor = PlainPath.openFile(layout.lock, flags: O_RDONLY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return false }
            throw .system(operation: "open", path: layout.lock, errno: errno)
        }
        // Shared, so that two processes that check simultaneously do not take each other for a collector.
        return try lock(descriptor, LOCK_SH, layout) == nil
    }

    private static func lock(
        _ descriptor: Int32, _ kind: Int32, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> ArchiveLock? {
        let lock = ArchiveLock(descriptor: descriptor)
        guard flock(descriptor, kind | LOCK_NB) != 0 else { return lock }
        guard errno == EWOULDBLOCK else {
            throw .system(operation: "lock", path: layout.lock, errno: errno)
        }
        return nil
    }
}
