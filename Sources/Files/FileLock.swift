import Glibc

/// A lock on a file or directory (flock(2)); the kernel releases it when the program ends, for whatever reason.
package final class FileLock: Sendable {
    package enum Kind: Sendable {
        case exclusive
        case shared
    }

    private let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Takes the lock, and the descriptor.
    /// - Returns: nil if another process has the lock.
    package static func take(
        _ descriptor: Int32, _ kind: Kind = .exclusive, path: String
    ) throws(FileError) -> FileLock? {
        let lock = FileLock(descriptor: descriptor)
        guard flock(descriptor, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 else {
            return lock
        }
        let code = errno
        guard code == EWOULDBLOCK else {
            throw .system(operation: "lock", path: path, errno: code)
        }
        return nil
    }

    /// Waits for the lock on a directory, for changes of its files that take milliseconds.
    package static func wait(directory: String) throws(FileError) -> FileLock {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: directory, errno: errno)
        }
        let lock = FileLock(descriptor: descriptor)
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                throw .system(operation: "lock", path: directory, errno: errno)
            }
        }
        return lock
    }
}
