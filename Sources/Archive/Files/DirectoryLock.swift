import Files
import Glibc

/// An exclusive lock on work in a directory; the kernel releases it when the program ends, for whatever reason.
package struct DirectoryLock: ~Copyable {
    /// Interval of attempts to take the lock.
    private static let pauseNanoseconds = 10_000_000
    private let lock: FileLock

    /// - Parameter busy: the error text when another program holds it.
    init(_ path: String, busy: String) throws(ArchiveError) {
        let descriptor = PlainPath.openDirectory(path, flags: O_RDONLY)
        guard descriptor >= 0 else {
            throw .system(operation: "open the directory", path: path, errno: errno)
        }
        let lock: FileLock?
        do throws(FileError) { lock = try FileLock.take(descriptor, path: path) } catch {
            throw ArchiveError(error)
        }
        guard let lock else { throw .malformed(path: path, reason: busy) }
        self.lock = lock
    }

    /// Waits for the lock, for work that takes milliseconds.
    /// - Parameters:
    ///   - patienceMilliseconds: timeout, because a hung program may hold it forever.
    ///   - busy: the error text when another program still holds it then.
    package init(
        _ path: String, patienceMilliseconds: Int, busy: String
    ) throws(ArchiveError) {
        var left = patienceMilliseconds * 1_000_000 / Self.pauseNanoseconds
        while true {
            do throws(ArchiveError) {
                try self.init(path, busy: busy)
                return
            } catch {
                guard case .malformed = error, left > 0 else { throw error }
            }
            left -= 1
            var pause = timespec(tv_sec: 0, tv_nsec: Self.pauseNanoseconds)
            nanosleep(&pause, nil)
        }
    }
}
