import Glibc

/// Directories at paths that users give; symbolic links are followed. Recordings use `Archive.FileSystem`, which rejects
/// symbolic links.
package enum Directory {
    /// The names in a directory that match, unordered and without `.` and `..`.
    /// - Returns: nil, with `errno`, if it cannot be read.
    package static func names(
        in path: String, where isWanted: (String) -> Bool = { _ in true }
    ) -> [String]? {
        guard let handle = opendir(path) else { return nil }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != "..", isWanted(name) { names.append(name) }
        }
        return names
    }

    /// Creates a directory and its parents.
    /// - Parameter isForOwnerAbove: whether new directories have the mode regardless of the umask and, if root creates
    ///   them, belong to the owner of the directory above: root prepares them for services that run as other users.
    package static func make(
        _ path: String, mode: UInt32 = 0o755, isForOwnerAbove: Bool = false
    ) throws(FileError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            let above = made.isEmpty ? "/" : made
            made += "/\(part)"
            guard mkdir(made, mode) == 0 else {
                let code = errno
                // A parent directory may exist without being writable.
                if code == EEXIST || access(made, F_OK) == 0 { continue }
                throw .system(operation: "make the directory", path: made, errno: code)
            }
            guard isForOwnerAbove else { continue }
            guard chmod(made, mode) == 0, giveToOwner(of: above, made) else {
                throw .system(operation: "make the directory", path: made, errno: errno)
            }
        }
    }

    private static func giveToOwner(of above: String, _ path: String) -> Bool {
        guard geteuid() == 0 else { return true }
        var status = stat()
        return stat(above, &status) == 0 && chown(path, status.st_uid, status.st_gid) == 0
    }

    /// Makes the names in a directory durable.
    package static func synchronize(_ path: String) throws(FileError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: path, errno: errno)
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw .system(operation: "write into", path: path, errno: errno)
        }
    }
}
