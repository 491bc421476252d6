import CLinux
import Files
import Glibc

/// Reads a spool's directory, for its owner and for read-only access.
struct DirectoryReading: Sendable {
    let path: String

    /// The names of the entries that match `isWanted`.
    func names(where isWanted: (String) -> Bool) throws(SpoolError) -> [String] {
        guard let names = Directory.names(in: path, where: isWanted) else {
            throw .system(operation: "read the directory", path: path, errno: errno)
        }
        return names
    }

    /// At most `limit` bytes from `offset` on; fewer at the file's end.
    func read(_ name: String, at offset: Int, limit: Int) throws(SpoolError) -> [UInt8] {
        let file = CLinux_open("\(path)/\(name)", O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { throw error("open", name) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw error("get the status of", name) }
        let size = max(0, min(limit, Int(status.st_size) - offset))
        guard let bytes = Descriptor.read(file, at: Int64(offset), count: size) else {
            throw error("read", name)
        }
        return bytes
    }

    func sizeBytes(of name: String) throws(SpoolError) -> Int {
        var status = stat()
        guard stat("\(path)/\(name)", &status) == 0 else { throw error("get the status of", name) }
        return Int(status.st_size)
    }

    /// An error with the last system call's errno.
    func error(_ operation: String, _ name: String) -> SpoolError {
        .system(operation: operation, path: "\(path)/\(name)", errno: errno)
    }
}
