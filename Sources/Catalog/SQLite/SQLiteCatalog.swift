package import Archive
import Glibc
package import SQLite

/// The archive's index, `tributary.sqlite`, which finds sessions and files in milliseconds. It is a copy of the files'
/// content: if it is deleted, an equal one is rebuilt.
///
/// Any number of processes may read while one writes (SQLite's write-ahead log). Thread-safe.
///
/// The file is untrusted (``SQLiteCatalogFiles``, ``SQLiteCatalogSchema``): it is opened read-only, until it is known
/// to be a catalog and there is something to write. Any other file is not written to, but replaced.
package final class SQLiteCatalog: CatalogStore {
    /// Maximum simultaneous queries.
    private static let maximumReaders = 4
    /// Limits of a query. Those of an intact catalog take milliseconds.
    package static let questionLimits = SQLiteLimits(statement: .seconds(5))
    /// Limits of a change. The largest one removes all rows of a session.
    private static let changeLimits = SQLiteLimits(statement: .seconds(60))
    /// Limits of operations on the whole catalog: an integrity check, a comparison, and a catalog in memory.
    private static let wholeLimits = SQLiteLimits(
        statement: .seconds(600), temporaryBytes: 1 << 30, answerBytes: 4 << 30)

    package let path: String
    package var name: String { path }
    let readers: SQLiteConnectionLane
    let writer: SQLiteConnectionLane
    /// For ``damage()`` and ``dump()``.
    let whole: SQLiteConnectionLane

    private init(
        path: String, readers: SQLiteConnectionLane, writer: SQLiteConnectionLane,
        whole: SQLiteConnectionLane
    ) {
        self.path = path
        self.readers = readers
        self.writer = writer
        self.whole = whole
    }

    /// - Parameter isUnchanged: whether it is never written to.
    private convenience init(
        _ files: SQLiteCatalogFiles, questions: SQLiteLimits, isUnchanged: Bool = false
    ) {
        self.init(
            path: files.path,
            readers: SQLiteConnectionLane(most: Self.maximumReaders) {
                () throws(ArchiveError) in try Self.connect(files, limits: questions)
            },
            writer: SQLiteConnectionLane(most: 1) { () throws(ArchiveError) in
                guard !isUnchanged else {
                    throw .system(operation: "use the catalog", path: files.path, errno: EROFS)
                }
                return try Self.connect(files, for: .writing, limits: Self.changeLimits)
            },
            whole: SQLiteConnectionLane(most: 1) { () throws(ArchiveError) in
                try Self.connect(files, limits: Self.wholeLimits)
            })
    }

    /// The path of an archive's catalog.
    package static func path(_ layout: ArchiveLayout) -> String { SQLiteCatalogFiles(layout).path }

    // MARK: Opening

    /// Opens the catalog for reading and writing; creates an empty one if there is none.
    /// - Throws: ``ArchiveError/malformed(path:reason:)`` when it is damaged, of another version, or no catalog.
    package static func open(_ layout: ArchiveLayout) throws(ArchiveError) -> SQLiteCatalog {
        if let catalog = try read(layout) { return catalog }
        return try create(layout) { _ throws(ArchiveError) in }.catalog
    }

    /// Opens the catalog; nil if there is none. It is opened for writing when there is something to write.
    /// - Parameter limits: of each query.
    package static func read(
        _ layout: ArchiveLayout, limits: SQLiteLimits = questionLimits
    ) throws(ArchiveError) -> SQLiteCatalog? {
        try existing(layout, questions: limits, isUnchanged: false)
    }

    /// Opens the catalog read-only; nil if there is none.
    /// - Throws: also if SQLite would have to create its files `-wal` and `-shm` and may not, unless the whole file
    ///   system is read-only and the catalog complete without them.
    package static func readUnchanged(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> SQLiteCatalog? {
        var limits = questionLimits
        limits.lock = .seconds(1)
        return try existing(layout, questions: limits, isUnchanged: true)
    }

    private static func existing(
        _ layout: ArchiveLayout, questions: SQLiteLimits, isUnchanged: Bool
    ) throws(ArchiveError) -> SQLiteCatalog? {
        let files = SQLiteCatalogFiles(layout)
        guard try files.check() else { return nil }
        let catalog = SQLiteCatalog(files, questions: questions, isUnchanged: isUnchanged)
        // The first connection validates the file.
        try catalog.readers.lend { _ throws(ArchiveError) in }
        return catalog
    }

    /// Creates a new catalog in another file, which then replaces the old one. Readers of the old one are not
    /// disturbed; it is not opened, and is removed whatever it is.
    /// - Parameter fill: writes its content.
    package static func create<Result>(
        _ layout: ArchiveLayout, fill: (SQLiteCatalog) throws(ArchiveError) -> Result
    ) throws(ArchiveError) -> (catalog: SQLiteCatalog, result: Result) {
        let files = SQLiteCatalogFiles(layout)
        let next = files.next
        // Left by an interrupted attempt.
        try next.remove()
        try next.create()
        let result: Result
        do throws(ArchiveError) {
            let path = try next.resolvedPath()
            try guarded(next.path) { () throws(SQLiteError) in
                try SQLiteCatalogSchema.create(SQLiteConnection(path, for: .writing))
            }
            let catalog = SQLiteCatalog(next, questions: questionLimits)
            result = try fill(catalog)
            // Closing the last writing connection moves the log into the database.
            catalog.readers.close()
            catalog.whole.close()
            try catalog.write { connection throws(SQLiteError) in
                try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            }
            catalog.writer.close()
            try next.replace(files)
        } catch {
            do throws(ArchiveError) {
                try next.remove()
            } catch {
                // The next attempt removes it, or reports why it cannot.
            }
            throw error
        }
        guard let catalog = try read(layout) else {
            throw .system(operation: "open", path: files.path, errno: ENOENT)
        }
        return (catalog, result)
    }

    /// An empty catalog in memory.
    package static func inMemory() throws(ArchiveError) -> SQLiteCatalog {
        let path = "memory"
        let lane = SQLiteConnectionLane(most: 1) { () throws(ArchiveError) in
            try guarded(path) { () throws(SQLiteError) in
                let connection = try SQLiteConnection("", for: .memory, limits: wholeLimits)
                try SQLiteCatalogSchema.create(connection)
                return connection
            }
        }
        return SQLiteCatalog(path: path, readers: lane, writer: lane, whole: lane)
    }

    /// Deletes a catalog, with SQLite's auxiliary files.
    package static func remove(_ layout: ArchiveLayout) throws(ArchiveError) {
        try SQLiteCatalogFiles(layout).remove()
    }

    /// Opens a connection for reading.
    private static func connect(
        _ files: SQLiteCatalogFiles, limits: SQLiteLimits
    ) throws(ArchiveError) -> SQLiteConnection {
        do throws(ArchiveError) {
            return try connect(files, for: .reading, limits: limits)
        } catch {
            guard error.isForPermission, try files.isImmutable() else { throw error }
            return try connect(files, for: .readingImmutable, limits: limits)
        }
    }

    /// Opens a connection to a validated catalog.
    private static func connect(
        _ files: SQLiteCatalogFiles, for purpose: SQLiteConnection.Purpose, limits: SQLiteLimits
    ) throws(ArchiveError) -> SQLiteConnection {
        guard try files.check() else {
            throw .system(operation: "use the catalog", path: files.path, errno: ENOENT)
        }
        let path = try files.resolvedPath()
        let (connection, difference) = try guarded(files.path) { () throws(SQLiteError) in
            let connection = try SQLiteConnection(path, for: purpose, limits: limits)
            return (
                connection,
                try SQLiteCatalogSchema.difference(
                    connection, isImmutable: purpose == .readingImmutable)
            )
        }
        if let difference {
            throw .malformed(
                path: files.path, reason: "is not a catalog of this version: \(difference)")
        }
        if purpose == .writing, connection.isReadOnly {
            guard access(path, W_OK) == 0 else {
                throw .system(operation: "use the catalog", path: files.path, errno: errno)
            }
            throw .malformed(
                path: files.path, reason: "is of a format that this version does not write")
        }
        return connection
    }

    /// Checks that it is writable. Otherwise the first change would fail.
    func checkWritable() throws(ArchiveError) { try write { _ throws(SQLiteError) in } }

    // MARK: Reading and writing

    /// Reads in one snapshot.
    func ask<Result>(
        _ lane: SQLiteConnectionLane,
        _ question: (SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(ArchiveError) -> Result {
        try lane.lend { connection throws(ArchiveError) in
            try Self.guarded(path) { () throws(SQLiteError) in
                try connection.transaction("BEGIN", question)
            }
        }
    }

    /// Lends the writing connection.
    func write<Result>(
        _ change: (SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(ArchiveError) -> Result {
        try writer.lend { connection throws(ArchiveError) in
            try Self.guarded(path) { () throws(SQLiteError) in try change(connection) }
        }
    }

    /// Runs database work and converts its errors.
    private static func guarded<Result>(
        _ path: String, _ body: () throws(SQLiteError) -> Result
    ) throws(ArchiveError) -> Result {
        do throws(SQLiteError) {
            return try body()
        } catch {
            let reason = "the catalog cannot be used: \(error)"
            switch error {
            case .timedOut, .tooMuchTemporary, .tooLarge:
                throw .exceeded(path: path, reason: reason)
            case .unexpected: throw .malformed(path: path, reason: reason)
            case .refused: break
            }
            let code: Int32
            switch error.refusal {
            case .readOnly: code = EROFS
            case .cannotOpen: code = EACCES
            case .full: code = ENOSPC
            case .locked: code = EBUSY
            case .inputOutput: code = EIO
            case .content: throw .malformed(path: path, reason: reason)
            }
            throw .system(operation: "use the catalog", path: path, errno: code)
        }
    }
}
