import Files
import Glibc

/// The right to record into an archive: held by one collector at a time, until its process ends.
///
/// The locked file is not deleted: a lock file's existence would outlive a killed collector.
package final class ArchiveLock: Sendable {
    private let lock: FileLock

    private init(_ lock: FileLock) { self.lock = lock }

    /// Takes the lock; nil when another process has it.
    package static func take(_ layout: ArchiveLayout) throws(ArchiveError) -> ArchiveLock? {
        let descriptor = try FileSystem.open(layout.lock, flags: O_RDWR | O_CREAT, mode: 0o644)
        return try take(descriptor, .exclusive, layout)
    }

    /// Whether a collector is recording into the archive.
    package static func isTaken(_ layout: ArchiveLayout) throws(ArchiveError) -> Bool {
        let descriptor = PlainPath.openFile(layout.lock, flags: O_RDONLY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return false }
            throw .system(operation: "open", path: layout.lock, errno: errno)
        }
        // Shared, so that two processes that check simultaneously do not take each other for a collector.
        return try take(descriptor, .shared, layout) == nil
    }

    private static func take(
        _ descriptor: Int32, _ kind: FileLock.Kind, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> ArchiveLock? {
        do throws(FileError) {
            guard let lock = try FileLock.take(descriptor, kind, path: layout.lock) else {
                return nil
            }
            return ArchiveLock(lock)
        } catch {
            throw ArchiveError(error)
        }
    }
}
