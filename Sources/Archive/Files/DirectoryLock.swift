import CLinux
import Glibc

/// Prevents other programs from doing the same work in a directory at the same time; the kernel releases it when the program
/// ends, for whatever reason.
package struct DirectoryLock: ~Copyable {
    /// Between two looks whether the other program is ready.
    private static let pauseNanoseconds = 10_000_000
    private let descriptor: Int32

    /// - Parameter busy: the error text when another program holds it.
    init(_ path: String, busy: String) throws(ArchiveError) {
        let descriptor = PlainPath.openDirectory(path, flags: O_RDONLY)
        guard descriptor >= 0 else {
            throw .system(operation: "open the directory", path: path, errno: errno)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            if code == EWOULDBLOCK { throw .malformed(path: path, reason: busy) }
            throw .system(operation: "lock", path: path, errno: code)
        }
        self.descriptor = descriptor
    }

    /// Waits for the other program: for work that takes milliseconds.
    /// - Parameters:
    ///   - patienceMilliseconds: a program that hangs may hold it for ever.
    ///   - busy: the error text when another program holds it after that.
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

    deinit {
        close(descriptor)
    }
}
