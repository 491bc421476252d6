import Archive
import CLinux
import Glibc

/// The files of a catalog: SQLite's database and its auxiliary files. They are checked before SQLite opens them,
/// because the archive is untrusted.
///
/// They are checked by name, not opened: closing a descriptor of a database releases all locks that the process has on
/// it (fcntl(2), "Record locks"), also those that SQLite took on another thread.
struct SQLiteCatalogFiles: Sendable {
    private static let name = "tributary.sqlite"
    /// SQLite's write-ahead log, and its index.
    private static let log = "-wal"
    private static let logIndex = "-shm"
    /// A rollback journal, which SQLite would write back into the database, and which could name other files to be
    /// deleted. A catalog has none: it is created under another name, and has a write-ahead log from then on.
    private static let journal = "-journal"
    private static let suffixes = ["", log, logIndex, journal]
    /// Fifty million segments.
    static let maximumBytes: Int64 = 16 << 30
    /// SQLite reads the whole log when it opens a database. Usually it has 4 MB.
    static let maximumLogBytes: Int64 = 1 << 30

    private let directory: String
    private let name: String
    private let disk: any Disk
    /// The database, for messages.
    var path: String { "\(directory)/\(name)" }

    /// An archive's catalog.
    init(_ layout: ArchiveLayout) {
        self.init(directory: layout.root, name: Self.name, disk: layout.disk)
    }

    private init(directory: String, name: String, disk: any Disk) {
        self.directory = directory
        self.name = name
        self.disk = disk
    }

    /// The catalog that will replace it.
    var next: SQLiteCatalogFiles {
        SQLiteCatalogFiles(directory: directory, name: "\(name).new", disk: disk)
    }

    // MARK: Checking

    /// Checks that each is a regular file without hard links and of a plausible size.
    /// - Returns: false: there is no catalog.
    /// - Throws: ``ArchiveError/malformed(path:reason:)`` for anything else with one of the names.
    func check() throws(ArchiveError) -> Bool {
        guard let database = try status("") else { return false }
        try require(database, "", atMost: Self.maximumBytes)
        guard database.st_size > 0 else { throw .malformed(path: path, reason: "is empty") }
        for (suffix, limit) in [(Self.log, Self.maximumLogBytes), (Self.logIndex, Int64.max)] {
            if let file = try status(suffix) { try require(file, suffix, atMost: limit) }
        }
        guard try status(Self.journal) == nil else {
            throw .malformed(
                path: path,
                reason: "has a rollback journal (\(name)\(Self.journal)), as no catalog has")
        }
        return true
    }

    private func status(_ suffix: String) throws(ArchiveError) -> stat? {
        var status = stat()
        if lstat(path + suffix, &status) == 0 { return status }
        if errno == ENOENT { return nil }
        throw .system(operation: "get the status of", path: path + suffix, errno: errno)
    }

    private func require(
        _ file: stat, _ suffix: String, atMost limit: Int64
    ) throws(ArchiveError) {
        let subject = suffix.isEmpty ? "" : "\(name)\(suffix) "
        guard file.st_mode & S_IFMT == S_IFREG else {
            throw .malformed(path: path, reason: "\(subject)is not a regular file")
        }
        // SQLite would write into a file at another path.
        guard file.st_nlink == 1 else {
            throw .malformed(path: path, reason: "\(subject)has another name, too (a hard link)")
        }
        guard file.st_size <= limit else {
            throw .malformed(path: path, reason: "\(subject)is larger than \(limit >> 30) GiB")
        }
    }

    /// Whether the file system is read-only and the write-ahead log is missing or empty: then the database file is complete.
    func isImmutable() throws(ArchiveError) -> Bool {
        var system = statvfs()
        guard statvfs(directory, &system) == 0 else {
            throw .system(operation: "get the status of", path: directory, errno: errno)
        }
        guard system.f_flag & UInt(ST_RDONLY) != 0 else { return false }
        return try status(Self.log)?.st_size ?? 0 == 0
    }

    /// The database's path without symbolic links: SQLite follows none, and the archive's own directory may be one.
    func resolvedPath() throws(ArchiveError) -> String {
        guard let resolved = realpath(directory, nil) else {
            throw .system(operation: "open the directory", path: directory, errno: errno)
        }
        defer { free(resolved) }
        let directory = String(cString: resolved)
        return directory == "/" ? "/\(name)" : "\(directory)/\(name)"
    }

    // MARK: Changing

    /// Removes all of them. The database goes first: a log is useless without its database.
    func remove() throws(ArchiveError) {
        for suffix in Self.suffixes { try FileSystem.remove(path + suffix, on: disk) }
    }

    /// Creates an empty database, which must not exist.
    func create() throws(ArchiveError) {
        let descriptor = CLinux_open(
            path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw .system(operation: "create", path: path, errno: errno)
        }
        close(descriptor)
    }

    /// Renames a complete database that is not open to the name of another one.
    func replace(_ other: SQLiteCatalogFiles) throws(ArchiveError) {
        guard try status(Self.log) == nil else {
            throw .malformed(path: path, reason: "its log was not moved into it")
        }
        try synchronize()
        // All files of the other database are removed first: SQLite would apply its log to this one.
        try other.remove()
        guard disk.rename(path, to: other.path) == 0 else {
            throw .system(operation: "replace", path: other.path, errno: errno)
        }
        try FileSystem.synchronizeDirectory(directory, on: disk)
    }

    private func synchronize() throws(ArchiveError) {
        let descriptor = CLinux_open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .system(operation: "open", path: path, errno: errno) }
        defer { close(descriptor) }
        guard disk.synchronize(descriptor) == 0 else {
            throw .system(operation: "synchronise", path: path, errno: errno)
        }
    }
}
