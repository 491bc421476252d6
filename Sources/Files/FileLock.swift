import Glibc

/// A lock on a file or directory (flock(2)); the kernel releases it when the program ends, for whatever reason.
package final class FileLock: Sendable {
    package enum Kind: Sendable {
        case exclusive
        case shared
    }

    /// flock(2) has no timeout: the lock is tried at this interval.
    private static let retryMicroseconds: UInt32 = 10_000

    private let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Takes the lock, and ownership of the descriptor.
    /// - Parameter timeout: blocks up to this long while another process has the lock.
    /// - Returns: nil if another process still has the lock.
    package static func take(
        _ descriptor: Int32, _ kind: Kind = .exclusive, path: String, timeout: Duration = .zero
    ) throws(FileError) -> FileLock? {
        let lock = FileLock(descriptor: descriptor)
        var retries = Int(timeout / .microseconds(Int(retryMicroseconds)))
        while flock(descriptor, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK else {
                throw .system(operation: "lock", path: path, errno: code)
            }
            guard retries > 0 else { return nil }
            retries -= 1
            usleep(retryMicroseconds)
        }
        return lock
    }

    /// Device and inode of the locked file; nil if the kernel does not report them.
    package var file: (device: UInt64, inode: UInt64)? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        return (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    /// Takes the lock on a directory. Blocks without a limit: holders change files, which takes milliseconds.
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
