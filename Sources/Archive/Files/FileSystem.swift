import CLinux
import Files
import Glibc
package import MP4

/// Whole-path operations on an archive; their errors name the path. Symbolic links are not followed (``PlainPath``):
/// for users' paths, there is ``NamedPath``.
package enum FileSystem {
    /// Maximum number of entries in a directory: a source's segments of ten minutes for ten years, with their proofs.
    private static let maximumEntries = 1 << 20

    /// Opens a regular file; the caller closes the descriptor.
    package static func open(
        _ path: String, flags: Int32 = O_RDONLY, mode: UInt32 = 0
    ) throws(ArchiveError) -> Int32 {
        let descriptor = PlainPath.openFile(path, flags: flags, mode: mode)
        guard descriptor >= 0 else {
            throw .system(operation: "open", path: path, errno: errno)
        }
        return descriptor
    }

    /// Calls `body` with the file open for reading.
    package static func withFile<Result>(
        _ path: String, _ body: (DescriptorSource) throws -> Result
    ) throws -> Result {
        let descriptor = try open(path)
        defer { close(descriptor) }
        return try body(DescriptorSource(descriptor: descriptor))
    }

    /// Names in a directory, sorted; empty when the directory does not exist. Names that are not UTF-8 are omitted: the
    /// archive's own are ASCII.
    package static func names(in directory: String) throws(ArchiveError) -> [String] {
        var names: [String] = []
        try forEachName(in: directory) { _, name, _ in
            if let name = String(validatingCString: name) { names.append(name) }
            return true
        }
        return names.sorted()
    }

    /// Names of the directories in a directory, sorted; empty when it does not exist. A link to a directory is not one.
    package static func directoryNames(in directory: String) throws(ArchiveError) -> [String] {
        var names: [String] = []
        try forEachName(in: directory) { descriptor, name, type in
            if isDirectory(name, type, in: descriptor), let name = String(validatingCString: name) {
                names.append(name)
            }
            return true
        }
        return names.sorted()
    }

    private static func isDirectory(
        _ name: UnsafePointer<CChar>, _ type: Int32, in directory: Int32
    ) -> Bool {
        guard type == DT_UNKNOWN else { return type == DT_DIR }
        var status = stat()
        return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT == S_IFDIR
    }

    /// An entry of a directory.
    package struct Entry {
        /// Valid during the call of `body` only, to avoid a copy.
        package let name: UnsafePointer<CChar>
        package let inode: UInt64
        package let isFolder: Bool
        package let sizeBytes: Int64
        /// Nanoseconds since 1970.
        package let modifiedNanoseconds: Int64
    }

    /// Iterates over a directory's entries, unordered; does nothing if it does not exist. Entries that are removed
    /// meanwhile may be omitted.
    package static func forEachEntry(
        in directory: String, _ body: (Entry) -> Void
    ) throws(ArchiveError) {
        try forEachName(in: directory) { descriptor, name, _ in
            var status = stat()
            guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return true }
            body(
                Entry(
                    name: name, inode: UInt64(status.st_ino),
                    isFolder: status.st_mode & S_IFMT == S_IFDIR,
                    sizeBytes: Int64(status.st_size),
                    modifiedNanoseconds: UTCTime(clamping: status.st_mtim).nanoseconds))
            return true
        }
    }

    /// - Parameter body: receives the directory's descriptor, a name, and its type (`DT_UNKNOWN` if the file system
    ///   does not report it); returns whether to continue.
    private static func forEachName(
        in directory: String,
        _ body: (_ descriptor: Int32, _ name: UnsafePointer<CChar>, _ type: Int32) -> Bool
    ) throws(ArchiveError) {
        let descriptor = PlainPath.openDirectory(directory, flags: O_RDONLY)
        guard descriptor >= 0, let handle = fdopendir(descriptor) else {
            if descriptor < 0, errno == ENOENT { return }
            throw .system(operation: "read the directory", path: directory, errno: errno)
        }
        defer { closedir(handle) }
        var count = 0
        while let entry = readdir(handle) {
            let type = Int32(entry.pointee.d_type)
            let goesOn = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    if strcmp(name, ".") == 0 || strcmp(name, "..") == 0 { return true }
                    return body(descriptor, name, type)
                }
            }
            guard goesOn else { return }
            count += 1
            guard count <= maximumEntries else {
                throw .system(operation: "read the directory", path: directory, errno: E2BIG)
            }
        }
    }

    package static func isDirectory(_ path: String) -> Bool {
        PlainPath.status(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Whether a directory exists.
    /// - Throws: if the name is not a directory's.
    package static func hasDirectory(_ path: String) throws(ArchiveError) -> Bool {
        guard let status = PlainPath.status(path) else {
            if errno == ENOENT { return false }
            throw .system(operation: "open", path: path, errno: errno)
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return true
        case S_IFLNK: throw .system(operation: "open", path: path, errno: ELOOP)
        default: throw .system(operation: "open", path: path, errno: ENOTDIR)
        }
    }

    /// Whether permissions and the file system allow writing into a directory. ``checkWritable(_:)`` tries it.
    package static func isWritable(_ directory: String) -> Bool { access(directory, W_OK) == 0 }

    /// Whether the name exists, as any kind of file.
    package static func exists(_ path: String) -> Bool { PlainPath.status(path) != nil }

    /// Size of a file in bytes.
    package static func size(_ path: String) throws(ArchiveError) -> UInt64 {
        UInt64(try existing(path).st_size)
    }

    /// A file's status, without opening it.
    struct FileStatus {
        var sizeBytes: UInt64
        /// The space that its removal frees: less than its size if it has holes.
        var allocatedBytes: UInt64
        var modified: UTCTime
    }

    /// Status of a regular file; nil if it does not exist.
    static func status(_ path: String) -> FileStatus? {
        guard let status = PlainPath.status(path), status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        let sizeBytes = UInt64(status.st_size)
        return FileStatus(
            sizeBytes: sizeBytes, allocatedBytes: min(sizeBytes, UInt64(status.st_blocks) * 512),
            modified: UTCTime(clamping: status.st_mtim))
    }

    private static func existing(_ path: String) throws(ArchiveError) -> stat {
        guard let status = PlainPath.status(path) else {
            throw .system(operation: "get the status of", path: path, errno: errno)
        }
        return status
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

    /// Maximum depth of a removed directory tree: an archive has fewer than five levels.
    private static let maximumDepth = 64
    /// Names held in memory during a removal.
    private static let namesAtOnce = 4_096

    /// Removes a directory and its content, or another kind of file. Symbolic links are removed, not followed.
    /// - Parameter kept: the name of a file in the directory to be kept, and the directory with it.
    package static func removeTree(
        _ path: String, keeping kept: String? = nil, on disk: any Disk = SystemDisk()
    ) throws(ArchiveError) {
        guard isDirectory(path) else { return try remove(path, on: disk) }
        try removeContent(of: path, keeping: kept, depth: 1, on: disk)
        if kept == nil { try removeDirectory(path, on: disk) }
    }

    private static func removeContent(
        of path: String, keeping kept: String?, depth: Int, on disk: any Disk
    ) throws(ArchiveError) {
        guard depth <= maximumDepth else {
            throw .malformed(
                path: path,
                reason: "directories are nested more than \(maximumDepth) deep: remove them by hand"
            )
        }
        while true {
            let (files, directories) = try entries(of: path, except: kept)
            if files.isEmpty, directories.isEmpty { return }
            for name in files { try remove("\(path)/\(name)", on: disk) }
            for name in directories {
                let inner = "\(path)/\(name)"
                try removeContent(of: inner, keeping: nil, depth: depth + 1, on: disk)
                try removeDirectory(inner, on: disk)
            }
        }
    }

    private static func removeDirectory(_ path: String, on disk: any Disk) throws(ArchiveError) {
        guard disk.removeDirectory(path) == 0 || errno == ENOENT else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
    }

    /// Some entries of a directory. A name that is not UTF-8 is renamed to one that is: no path could represent it.
    private static func entries(
        of directory: String, except kept: String?
    ) throws(ArchiveError) -> (files: [String], directories: [String]) {
        var files: [String] = []
        var directories: [String] = []
        try forEachName(in: directory) { descriptor, name, type in
            let isDirectory = isDirectory(name, type, in: descriptor)
            var valid = String(validatingCString: name)
            if valid == nil {
                let replacement = ".unreadable-\(UInt64.random(in: 0 ... .max))"
                if renameat(descriptor, name, descriptor, replacement) == 0 { valid = replacement }
            }
            if let valid, valid != kept {
                if isDirectory { directories.append(valid) } else { files.append(valid) }
            }
            return files.count + directories.count < namesAtOnce
        }
        return (files, directories)
    }

    /// Removes a file; it is no error if it does not exist.
    package static func remove(_ path: String, on disk: any Disk) throws(ArchiveError) {
        guard disk.unlink(path) == 0 || errno == ENOENT else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
    }

    /// The last modification time.
    package static func modified(_ path: String) throws(ArchiveError) -> UTCTime {
        UTCTime(clamping: try existing(path).st_mtim)
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
            let code = NamedPath.isDirectory(path) ? ELOOP : ENOTDIR
            throw .system(operation: "use the directory", path: path, errno: code)
        }
    }

    /// Checks that files can be created in a directory. It creates one, because permissions, read-only mounts and
    /// quotas may each prevent it.
    package static func checkWritable(_ directory: String) throws(ArchiveError) {
        let probe = "\(directory)/.tributary-\(getpid())"
        let descriptor = PlainPath.openFile(
            probe, flags: O_CREAT | O_EXCL | O_WRONLY, mode: 0o600)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: directory, errno: errno)
        }
        close(descriptor)
        _ = PlainPath.unlink(probe)
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
        var bytes: [UInt8] = []
        try forEachBlock(of: path, limit: limit) {
            bytes.append(contentsOf: $0)
            return true
        }
        return bytes
    }

    /// Bytes of a file that are in memory at a time.
    private static let blockBytes = 64 << 10

    /// Reads a file from its beginning, a block at a time.
    /// - Parameter body: receives bytes, one or more; returns whether to continue.
    /// - Throws: also when the file is larger than `limit` bytes.
    static func forEachBlock(
        of path: String, limit: Int, _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(ArchiveError) {
        let descriptor = try open(path)
        defer { close(descriptor) }
        let tooLarge = ArchiveError.malformed(path: path, reason: "larger than \(limit) bytes")
        // Before anything is read of a file that claims to be large.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size <= limit else { throw tooLarge }
        var block = [UInt8](repeating: 0, count: blockBytes)
        var total = 0
        while true {
            let count = Glibc.read(descriptor, &block, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .system(operation: "read", path: path, errno: errno) }
            if count == 0 { return }
            total += count
            guard total <= limit else { throw tooLarge }
            let goesOn = block.withUnsafeBytes {
                body(UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            guard goesOn else { return }
        }
    }

    /// Writes over a small file's beginning, or creates it, without making it durable. Errors are not reported: for files
    /// that can be missing or damaged.
    static func overwrite(_ path: String, with bytes: [UInt8], on disk: any Disk) {
        let descriptor = disk.open(path, flags: O_CREAT | O_WRONLY | O_CLOEXEC, mode: 0o644)
        guard descriptor >= 0 else { return }
        defer { disk.close(descriptor) }
        bytes.withUnsafeBytes { _ = disk.write(descriptor, [$0], at: 0) }
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
        let directory = Path.directory(of: path)
        try synchronizeDirectory(directory, on: disk)
    }
}
