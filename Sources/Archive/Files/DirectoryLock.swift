import Files
import Glibc

/// An exclusive lock on work in a directory; the kernel releases it when the program ends, for whatever reason.
package struct DirectoryLock: ~Copyable {
    private let lock: FileLock

    /// - Parameters:
    ///   - timeout: blocks up to this long while another program holds it; a hung program may hold it forever.
    ///   - busy: the error text if another program still holds it.
    package init(
        _ path: String, timeout: Duration = .zero, busy: String
    ) throws(ArchiveError) {
        let descriptor = PlainPath.openDirectory(path, flags: O_RDONLY)
        guard descriptor >= 0 else {
            throw .system(operation: "open the directory", path: path, errno: errno)
        }
        let lock: FileLock?
        do throws(FileError) {
            lock = try FileLock.take(descriptor, path: path, timeout: timeout)
        } catch {
            throw ArchiveError(error)
        }
        guard let lock else { throw .malformed(path: path, reason: busy) }
        self.lock = lock
    }
}
