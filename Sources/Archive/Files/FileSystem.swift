import CLinux
import Glibc

/// The few whole-path operations that an archive needs; their errors name the path.
package enum FileSystem {
    /// Names in a directory, sorted; none when the directory does not exist.
    package static func names(in directory: String) throws(ArchiveError) -> [String] {
        guard let handle = opendir(directory) else {
            if errno == ENOENT { return [] }
            throw .system(operation: "read the directory", path: directory, errno: errno)
        }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// What is in a directory.
    package struct Entry {
        /// Valid while it is looked at: most who look at many need no copy.
        package let name: UnsafePointer<CChar>
        package let inode: UInt64
        package let isFolder: Bool
        package let sizeBytes: Int64
        /// Nanoseconds since 1970.
        package let modifiedNanoseconds: Int64
    }

    /// Looks at what is in a directory, in no order; nothing where there is none. What is removed meanwhile may be left out.
    package static func forEachEntry(
        in directory: String, _ body: (Entry) -> Void
    ) throws(ArchiveError) {
        guard let handle = opendir(directory) else {
            if errno == ENOENT { return }
            throw .system(operation: "read the directory", path: directory, errno: errno)
        }
        defer { closedir(handle) }
        let descriptor = dirfd(handle)
        while let entry = readdir(handle) {
            withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    if strcmp(name, ".") == 0 || strcmp(name, "..") == 0 { return }
                    var status = stat()
                    guard fstatat(descriptor, name, &status, 0) == 0 else { return }
                    let modified = status.st_mtim
                    body(
                        Entry(
                            name: name, inode: UInt64(status.st_ino),
                            isFolder: status.st_mode & S_IFMT == S_IFDIR,
                            sizeBytes: Int64(status.st_size),
                            modifiedNanoseconds: Int64(modified.tv_sec) * 1_000_000_000
                                + Int64(modified.tv_nsec)))
                }
            }
        }
    }

    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    package static func exists(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0
    }

    /// Whether permissions and the file system allow to write into a directory. ``checkWritable(_:)`` tries it.
    package static func isWritable(_ directory: String) -> Bool { access(directory, W_OK) == 0 }

    /// Size of a file in bytes.
    package static func size(_ path: String) throws(ArchiveError) -> UInt64 {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .system(operation: "get the status of", path: path, errno: errno)
        }
        return UInt64(status.st_size)
    }

    /// Size and modification time; nil for a file that does not exist.
    static func status(_ path: String) -> (sizeBytes: UInt64, modified: UTCTime)? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return (UInt64(status.st_size), UTCTime(clamping: status.st_mtim))
    }

    /// Available bytes of the disk that contains `path`, and its size.
    package static func freeBytes(_ path: String) throws(ArchiveError) -> (free: UInt64, of: UInt64)
    {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else {
            throw .system(operation: "determine the free space of", path: path, errno: errno)
        }
        let block = UInt64(status.f_frsize)
        return (UInt64(status.f_bavail) * block, UInt64(status.f_blocks) * block)
    }

    /// Removes a directory and its content. Symbolic links are removed, not followed.
    /// - Parameter kept: the name of a file in the directory that stays, and the directory with it.
    package static func removeTree(
        _ path: String, keeping kept: String? = nil, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        for name in try names(in: path) where name != kept {
            let entry = "\(path)/\(name)"
            var status = stat()
            if lstat(entry, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                try removeTree(entry, on: disk)
            } else {
                try remove(entry, on: disk)
            }
        }
        if kept != nil { return }
        guard disk.removeDirectory(path) == 0 || errno == ENOENT else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
    }

    /// Removes a file; it is no error if it does not exist.
    package static func remove(_ path: String, on disk: any Disk) throws(ArchiveError) {
        guard disk.unlink(path) == 0 || errno == ENOENT else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
    }

    /// A file's modification time.
    package static func modified(_ path: String) throws(ArchiveError) -> UTCTime {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .system(operation: "get the status of", path: path, errno: errno)
        }
        return UTCTime(clamping: status.st_mtim)
    }

    /// Creates a directory and its parents.
    package static func makeDirectories(
        _ path: String, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        if isDirectory(path) { return }
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/\(part)"
            if isDirectory(made) { continue }
            if disk.makeDirectory(made) != 0 && errno != EEXIST {
                throw .system(operation: "create the directory", path: path, errno: errno)
            }
        }
        guard isDirectory(path) else {
            throw .system(operation: "use the directory", path: path, errno: ENOTDIR)
        }
    }

    /// Checks that files can be created in a directory. It creates one, because permissions, read-only mounts and quotas may each
    /// prevent it.
    package static func checkWritable(_ directory: String) throws(ArchiveError) {
        let probe = "\(directory)/.tributary-\(getpid())"
        let descriptor = CLinux_open(probe, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: directory, errno: errno)
        }
        close(descriptor)
        unlink(probe)
    }

    /// Makes the names in a directory durable.
    package static func synchronizeDirectory(
        _ path: String, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        guard disk.synchronizeDirectory(path) == 0 else {
            throw .system(operation: "synchronise the directory", path: path, errno: errno)
        }
    }

    /// Reads a small file completely.
    /// - Throws: also when it is larger than `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(ArchiveError) -> [UInt8] {
        let descriptor = CLinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw .system(operation: "open", path: path, errno: errno)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &block, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .system(operation: "read", path: path, errno: errno) }
            if count == 0 { return bytes }
            bytes += block[..<count]
            guard bytes.count <= limit else {
                throw .malformed(path: path, reason: "larger than \(limit) bytes")
            }
        }
    }

    /// Replaces a small file atomically: at every instant either the old or the new one exists, complete.
    package static func replace(
        _ path: String, with bytes: [UInt8], on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        let temporary = "\(path).new"
        // Left by an interrupted attempt.
        try remove(temporary, on: disk)
        do throws(ArchiveError) {
            let file = try RecordingFile(creating: temporary, on: disk)
            try file.append(bytes)
            try file.synchronize()
        } catch {
            _ = disk.unlink(temporary)
            throw error
        }
        guard disk.rename(temporary, to: path) == 0 else {
            throw .system(operation: "replace", path: path, errno: errno)
        }
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        try synchronizeDirectory(directory, on: disk)
    }
}

/// The system's error message for an errno.
func systemMessage(_ code: Int32) -> String {
    String(cString: strerror(code))
}
