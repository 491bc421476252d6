import Glibc

/// Small files whose permission bits are checked.
enum PrivateFile {
    /// The permissions that a file must not have.
    enum Rule {
        /// A secret: readable by its owner only.
        case secret
        /// A list of trusted keys: writable by its owner only.
        case trusted
    }

    /// Suffix of temporary files.
    private static let temporarySuffix = ".new"
    /// Age from which a temporary file is a leftover of a killed process.
    private static let leftoverSeconds = 3_600

    /// A whole file; nil if it does not exist.
    static func read(
        _ path: String, limit: Int, _ rule: Rule
    ) throws(TrustError) -> [UInt8]? {
        // Links are followed, because secrets are often mounted as links: the permissions of the opened file count.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(operation: "read", path: path, errno: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .system(operation: "read", path: path, errno: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .malformed(path: path, line: 1, reason: "this is not a regular file")
        }
        try check(status, rule, path: path)
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw .system(operation: "read", path: path, errno: errno) }
            if got == 0 { break }
            count += got
        }
        guard count <= limit else {
            throw .malformed(path: path, line: 1, reason: "it is larger than \(limit) bytes")
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Checks that only the owner can add files to a directory, because its files decide which keys are trusted.
    static func checkDirectory(_ path: String) throws(TrustError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .system(operation: "read", path: path, errno: errno)
        }
        try check(status, .trusted, path: path)
    }

    private static func check(
        _ status: stat, _ rule: Rule, path: String
    ) throws(TrustError) {
        switch rule {
        case .secret:
            guard status.st_mode & 0o077 == 0 else { throw .readableByOthers(path: path) }
        case .trusted:
            guard status.st_mode & 0o022 == 0 else { throw .writableByOthers(path: path) }
        }
    }

    /// Writes a file atomically and durably: at every instant, either the old or the new file exists, complete.
    /// - Parameter replacing: whether an existing file is replaced.
    static func write(
        _ path: String, _ bytes: [UInt8], mode: mode_t, replacing: Bool
    ) throws(TrustError) {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        removeLeftovers(of: path, in: directory)
        // Random, not a process ID: in a container, every process ID is 1, and a file left by a killed process would
        // block the name forever.
        let temporary =
            "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36))\(temporarySuffix)"
        let descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: directory, errno: errno)
        }
        defer { unlink(temporary) }
        try fill(descriptor, bytes, mode: mode, path: temporary, owner: directory)
        // link(2) fails if there is a file, rename(2) replaces it.
        guard (replacing ? rename(temporary, path) : link(temporary, path)) == 0 else {
            if errno == EEXIST { throw .ownKeyExists(path: path) }
            throw .system(operation: "write", path: path, errno: errno)
        }
        try synchronizeDirectory(directory)
    }

    /// Removes temporary files of this file that are older than an hour; newer ones may be in use. Files that cannot be
    /// removed are harmless, because their names are not used again.
    private static func removeLeftovers(of path: String, in directory: String) {
        guard let handle = opendir(directory) else { return }
        defer { closedir(handle) }
        let beginning =
            (path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]) + "."
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix(beginning), name.hasSuffix(temporarySuffix) else { continue }
            let leftover = "\(directory)/\(name)"
            var status = stat()
            guard lstat(leftover, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                time(nil) - status.st_mtim.tv_sec >= leftoverSeconds
            else { continue }
            unlink(leftover)
        }
    }

    /// Writes a new file's bytes, makes them durable, and closes it.
    private static func fill(
        _ descriptor: Int32, _ bytes: [UInt8], mode: mode_t, path: String, owner directory: String
    ) throws(TrustError) {
        defer { close(descriptor) }
        // open(2) applies the process's umask; the file belongs to the owner of the directory.
        guard fchmod(descriptor, mode) == 0 else {
            throw .system(operation: "write", path: path, errno: errno)
        }
        try giveToOwner(of: directory, descriptor, path: path)
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress?.advanced(by: offset), $0.count - offset)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .system(operation: "write", path: path, errno: errno) }
            offset += count
        }
        guard fsync(descriptor) == 0 else {
            throw .system(operation: "write", path: path, errno: errno)
        }
    }

    /// Creates a directory and its parents.
    static func makeDirectory(_ path: String) throws(TrustError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            let above = made.isEmpty ? "/" : made
            made += "/\(part)"
            guard mkdir(made, 0o755) == 0 else {
                if errno == EEXIST { continue }
                throw .system(operation: "make the directory", path: made, errno: errno)
            }
            // Regardless of the umask: these files decide which keys are trusted.
            guard chmod(made, 0o755) == 0 else {
                throw .system(operation: "make the directory", path: made, errno: errno)
            }
            try giveToOwner(of: above, directory: made)
        }
    }

    /// Root creates keys for services that run as other users: a new file belongs to the owner of the directory above it.
    private static func giveToOwner(
        of directory: String, _ descriptor: Int32, path: String
    ) throws(TrustError) {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(directory, &status) == 0, fchown(descriptor, status.st_uid, status.st_gid) == 0
        else { throw .system(operation: "write", path: path, errno: errno) }
    }

    private static func giveToOwner(
        of above: String, directory: String
    ) throws(TrustError) {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(above, &status) == 0, chown(directory, status.st_uid, status.st_gid) == 0
        else { throw .system(operation: "make the directory", path: directory, errno: errno) }
    }

    private static func synchronizeDirectory(_ path: String) throws(TrustError) {
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
