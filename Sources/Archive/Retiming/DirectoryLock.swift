import CLinux
import Glibc

/// Prevents other programs from doing the same work in a directory at the same time; the kernel releases it when the program
/// ends, for whatever reason.
struct DirectoryLock: ~Copyable {
    private let descriptor: Int32

    /// - Parameter busy: the error text when another program holds it.
    init(_ path: String, busy: String) throws(ArchiveError) {
        let descriptor = CLinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
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

    deinit {
        close(descriptor)
    }
}
