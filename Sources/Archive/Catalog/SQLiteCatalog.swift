import Glibc
import GRDB
import Media

/// The archive's index, `tributary.sqlite`, which finds sessions and files in milliseconds. It is a copy of the files' content:
/// if it is deleted, an equal one is rebuilt.
///
/// Any number of processes may read while one writes (SQLite's write-ahead log). Any thread may call.
package final class SQLiteCatalog: CatalogStore {
    /// Marks the SQLite file as ours: "TRIB".
    private static let applicationID = 0x5452_4942
    private static let schemaVersion = 4
    /// How long to wait for another process's write, seconds.
    private static let busySeconds = 5.0

    package let path: String
    package var name: String { path }
    private let database: any DatabaseWriter

    private init(path: String, database: any DatabaseWriter) {
        self.path = path
        self.database = database
    }

    /// The path of an archive's catalog.
    package static func path(_ layout: ArchiveLayout) -> String {
        "\(layout.root)/tributary.sqlite"
    }

    /// Opens the catalog for reading and writing; creates an empty one if there is none.
    /// - Throws: ``ArchiveError/malformed(path:reason:)`` when it is damaged, or of another version.
    package static func open(_ layout: ArchiveLayout) throws(ArchiveError) -> SQLiteCatalog {
        let path = path(layout)
        return try guarded(path) {
            var configuration = Configuration()
            configuration.busyMode = .timeout(busySeconds)
            // A power cut may lose the newest rows, and never damages the catalog: the rows are restored from the files.
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
            let pool = try DatabasePool(path: path, configuration: configuration)
            let catalog = SQLiteCatalog(path: path, database: pool)
            try catalog.prepare()
            return catalog
        }
    }

    /// Opens the catalog for reading; nil if there is none.
    package static func read(_ layout: ArchiveLayout) throws(ArchiveError) -> SQLiteCatalog? {
        guard FileSystem.exists(path(layout)) else { return nil }
        return try open(layout)
    }

    /// Opens the catalog for reading and writes nothing; nil if there is none.
    /// - Throws: also where SQLite would have to write: its files `-wal` and `-shm` are missing, and the directory is not writable.
    package static func readUnchanged(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> SQLiteCatalog? {
        let path = path(layout)
        guard FileSystem.exists(path) else { return nil }
        return try guarded(path) {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(1)
            let catalog = SQLiteCatalog(
                path: path, database: try DatabaseQueue(path: path, configuration: configuration))
            guard try catalog.database.read(catalog.isPrepared) else {
                throw ArchiveError.malformed(path: path, reason: "the catalog is empty")
            }
            return catalog
        }
    }

    /// An empty catalog in memory.
    package static func inMemory() throws(ArchiveError) -> SQLiteCatalog {
        try guarded("memory") {
            let catalog = SQLiteCatalog(path: "memory", database: try DatabaseQueue())
            try catalog.prepare()
            return catalog
        }
    }

    /// Deletes a catalog, with SQLite's auxiliary files.
    package static func remove(_ layout: ArchiveLayout) throws(ArchiveError) {
        for suffix in ["", "-wal", "-shm"] {
            let path = path(layout) + suffix
            guard unlink(path) == 0 || errno == ENOENT else {
                throw .system(operation: "remove", path: path, errno: errno)
            }
        }
    }

    /// Whether it has its tables.
    /// - Throws: when they are another program's, or of another version.
    private func isPrepared(_ db: Database) throws -> Bool {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let tables = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") ?? 0
        guard tables > 0 else { return false }
        guard application == Self.applicationID, version == Self.schemaVersion else {
            throw ArchiveError.malformed(
                path: path, reason: "is not a catalog of a supported version (\(version))")
        }
        return true
    }

    private func prepare() throws {
        if try database.read(isPrepared) { return }
        try database.write { db in
            // Another process may have done it in between.
            guard try !isPrepared(db) else { return }
            try db.execute(sql: Self.schema)
            try db.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
            try db.execute(sql: "PRAGMA user_version = \(Self.schemaVersion)")
        }
    }

    private static let schema = """
        CREATE TABLE session (
            session TEXT PRIMARY KEY, zero INTEGER NOT NULL, state TEXT NOT NULL, endReason TEXT,
            segmentLength INTEGER NOT NULL, software TEXT NOT NULL, isProtected INTEGER NOT NULL,
            name TEXT, tags TEXT NOT NULL, note TEXT,
            segments INTEGER NOT NULL, bytes INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE source (
            session TEXT NOT NULL, source TEXT NOT NULL, agent TEXT NOT NULL, tracks TEXT NOT NULL,
            isComplete INTEGER NOT NULL, PRIMARY KEY (session, source)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE segment (
            session TEXT NOT NULL, source TEXT NOT NULL, file TEXT NOT NULL, begins INTEGER NOT NULL,
            ends INTEGER, bytes INTEGER, revision INTEGER NOT NULL,
            PRIMARY KEY (session, source, file)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX segmentByTime ON segment (begins, ends, bytes);
        CREATE INDEX segmentByLength ON segment (ends - begins);
        CREATE INDEX segmentGrowing ON segment (begins) WHERE ends IS NULL;
        CREATE TRIGGER segmentAdded AFTER INSERT ON segment BEGIN
            UPDATE session SET segments = segments + 1, bytes = bytes + COALESCE(new.bytes, 0)
                WHERE session = new.session;
        END;
        CREATE TRIGGER segmentChanged AFTER UPDATE ON segment BEGIN
            UPDATE session SET bytes = bytes + COALESCE(new.bytes, 0) - COALESCE(old.bytes, 0)
                WHERE session = new.session;
        END;
        CREATE TRIGGER segmentRemoved AFTER DELETE ON segment BEGIN
            UPDATE session SET segments = segments - 1, bytes = bytes - COALESCE(old.bytes, 0)
                WHERE session = old.session;
        END;
        CREATE TABLE event (
            session TEXT NOT NULL, source TEXT NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL,
            starts INTEGER, duration INTEGER, samples INTEGER, track TEXT, cause TEXT,
            bound INTEGER, text TEXT, PRIMARY KEY (session, source, line)
        ) STRICT, WITHOUT ROWID;
        """

    /// Runs database work and converts its errors.
    fileprivate static func guarded<Result>(
        _ path: String, _ body: () throws -> Result
    ) throws(ArchiveError) -> Result {
        do {
            return try body()
        } catch let error as ArchiveError {
            throw error
        } catch let error as DatabaseError {
            let code: Int32? =
                switch error.resultCode {
                case .SQLITE_READONLY: EROFS
                case .SQLITE_CANTOPEN, .SQLITE_PERM: EACCES
                case .SQLITE_FULL: ENOSPC
                case .SQLITE_BUSY, .SQLITE_LOCKED: EBUSY
                case .SQLITE_IOERR: EIO
                default: nil
                }
            if let code { throw .system(operation: "use the catalog", path: path, errno: code) }
            throw .malformed(
                path: path,
                reason: "the catalog cannot be used: \(error.message ?? "\(error.resultCode)")")
        } catch {
            throw .malformed(path: path, reason: "the catalog cannot be used: \(error)")
        }
    }
}

// MARK: - Writing

extension SQLiteCatalog {
    /// Writes changes in one transaction.
    package func apply(_ changes: [CatalogChange]) throws(ArchiveError) {
        guard !changes.isEmpty else { return }
        try Self.guarded(path) {
            try database.write { db in
                for change in changes { try Self.apply(change, to: db) }
            }
        }
    }

    private static func apply(_ change: CatalogChange, to db: Database) throws {
        switch change {
        case .session(let session, let sources):
            try insert(session, db)
            try db.execute(
                sql: "DELETE FROM source WHERE session = ?", arguments: [session.session])
            for source in sources { try insert(source, of: session.session, db) }
        case .segment(let segment): try insert(segment, db)
        case .segmentRemoved(let session, let source, let file):
            try db.execute(
                sql: "DELETE FROM segment WHERE session = ? AND source = ? AND file = ?",
                arguments: [session, source, file])
        case .event(let event): try insert(event, db)
        case .events(let session, let source, let events):
            try db.execute(
                sql: "DELETE FROM event WHERE session = ? AND source = ?",
                arguments: [session, source])
            for event in events { try insert(event, db) }
        case .sessionRemoved(let session): try remove(session, db)
        case .labels(let session, let isProtected, let notes):
            try db.execute(
                sql:
                    "UPDATE session SET isProtected = ?, name = ?, tags = ?, note = ? WHERE session = ?",
                arguments: [
                    isProtected, notes.name, notes.tags.joined(separator: "\n"), notes.note,
                    session,
                ])
        case .all(let entry):
            try remove(entry.session.session, db)
            try insert(entry.session, db)
            for source in entry.sources { try insert(source, of: entry.session.session, db) }
            for segment in entry.segments { try insert(segment, db) }
            for event in entry.events { try insert(event, db) }
        }
    }

    private static func remove(_ session: String, _ db: Database) throws {
        for table in ["session", "source", "segment", "event"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE session = ?", arguments: [session])
        }
    }

    private static func insert(_ row: CatalogSession, _ db: Database) throws {
        // Not INSERT OR REPLACE: that would lose the totals that triggers maintain.
        try db.cachedStatement(
            sql: """
                INSERT INTO session SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10, COUNT(*), COALESCE(SUM(bytes), 0)
                    FROM segment WHERE session = ?1
                ON CONFLICT (session) DO UPDATE SET zero = ?2, state = ?3, endReason = ?4,
                    segmentLength = ?5, software = ?6, isProtected = ?7, name = ?8, tags = ?9, note = ?10
                """
        ).execute(arguments: [
            row.session, row.zeroUTCNanoseconds, row.state, row.endReason,
            row.segmentNanoseconds, row.software, row.isProtected, row.notes.name,
            row.notes.tags.joined(separator: "\n"), row.notes.note,
        ])
    }

    private static func insert(_ row: CatalogSource, of session: String, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO source VALUES (?,?,?,?,?)")
            .execute(arguments: [session, row.source, row.agent, row.tracks, row.isComplete])
    }

    private static func insert(_ row: CatalogSegment, _ db: Database) throws {
        let zero = row.zeroUTCNanoseconds
        try db.cachedStatement(
            sql: """
                INSERT INTO segment VALUES (?1,?2,?3,?4,?5,?6,?7)
                ON CONFLICT (session, source, file)
                    DO UPDATE SET begins = ?4, ends = ?5, bytes = ?6, revision = ?7
                """
        ).execute(arguments: [
            row.session, row.source, row.file, zero.clampedAdding(row.originNanoseconds),
            row.endNanoseconds.map { zero.clampedAdding($0) }, row.sizeBytes,
            Int64(row.revision),
        ])
    }

    private static func insert(_ row: CatalogEvent, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO event VALUES (?,?,?,?,?,?,?,?,?,?,?)")
            .execute(arguments: [
                row.session, row.source, row.ledgerOffset, row.kind, row.startNanoseconds,
                row.durationNanoseconds,
                row.samples, row.track, row.cause, row.boundNanoseconds, row.text,
            ])
    }
}

// MARK: - Reading

extension SQLiteCatalog {
    /// Sessions, oldest first. With a time range (UTC, nanoseconds since 1970): those with content in it, and that content.
    package func sessions(
        from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [CatalogListing] {
        try Self.guarded(path) {
            try database.read { db in
                let columns = """
                    s.session, s.state, s.isProtected, s.name, s.tags, s.note,
                        (SELECT GROUP_CONCAT(source, '\n') FROM (SELECT source FROM source
                            WHERE session = s.session ORDER BY source)) AS sources
                    """
                let rows: [Row]
                if from == nil, until == nil {
                    rows = try Row.fetchAll(
                        db,
                        sql: """
                            SELECT \(columns), s.segments, s.bytes FROM session s ORDER BY session
                            """)
                } else {
                    rows = try Row.fetchAll(
                        db,
                        sql: """
                            SELECT \(columns), g.segments, g.bytes FROM (SELECT session,
                                COUNT(*) AS segments, COALESCE(SUM(bytes), 0) AS bytes
                                FROM (\(Self.found)) GROUP BY session) g
                            JOIN session s ON s.session = g.session ORDER BY s.session
                            """,
                        arguments: try Self.range(from, until, db))
                }
                return rows.map(Self.listing)
            }
        }
    }

    private static func listing(_ row: Row) -> CatalogListing {
        let tags: String = row["tags"]
        let sources: String? = row["sources"]
        let bytes: Int64 = row["bytes"]
        return CatalogListing(
            session: row["session"], state: row["state"], isProtected: row["isProtected"],
            notes: SessionNotes(name: row["name"], tags: lines(tags), note: row["note"]),
            sources: lines(sources ?? ""), segments: row["segments"],
            sizeBytes: UInt64(clamping: bytes))
    }

    /// Files that overlap ``range(_:_:_:)``. A file that overlaps it begins at most the length of the longest file before it: an
    /// index on start times finds it. Growing files have no end yet: they extend to the present.
    private static let found = """
        SELECT * FROM segment INDEXED BY segmentByTime
            WHERE begins > :earliest AND begins < :until AND ends > :from
        UNION ALL SELECT * FROM segment INDEXED BY segmentGrowing
            WHERE ends IS NULL AND begins < :until
        """

    private static func range(
        _ from: Int64?, _ until: Int64?, _ db: Database
    ) throws -> StatementArguments {
        let longest = try Int64.fetchOne(
            db, sql: "SELECT ends - begins FROM segment ORDER BY ends - begins DESC LIMIT 1")
        let from = from ?? .min
        let (earliest, overflow) = from.subtractingReportingOverflow(max(0, longest ?? 0))
        return [
            "from": from, "until": until ?? .max, "earliest": overflow ? Int64.min : earliest,
        ]
    }

    /// Files of a session, or of all sessions; with a time range, those with content in it.
    package func segments(
        of session: String? = nil, from: Int64? = nil, until: Int64? = nil
    ) throws(ArchiveError) -> [CatalogSegment] {
        try Self.guarded(path) {
            try database.read { db in
                var arguments: StatementArguments = ["session": session]
                var files = "SELECT * FROM segment WHERE :session IS NULL OR session = :session"
                if from != nil || until != nil {
                    files = Self.found
                    arguments += try Self.range(from, until, db)
                } else if session != nil {
                    files = "SELECT * FROM segment WHERE session = :session"
                }
                return try Self.segments(files, arguments, db)
            }
        }
    }

    /// Files of a session that have not ended.
    package func growingSegments(
        of session: String
    ) throws(ArchiveError) -> [CatalogSegment] {
        try Self.guarded(path) {
            try database.read { db in
                try Self.segments(
                    """
                    SELECT * FROM segment INDEXED BY segmentGrowing
                        WHERE ends IS NULL AND session = :session
                    """,
                    ["session": session], db)
            }
        }
    }

    private static func segments(
        _ files: String, _ arguments: StatementArguments, _ db: Database
    ) throws -> [CatalogSegment] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT g.*, s.zero FROM (\(files)) g JOIN session s ON s.session = g.session
                WHERE :session IS NULL OR g.session = :session
                ORDER BY g.session, g.source, g.file
                """, arguments: arguments
        ).map { row in
            let zero: Int64 = row["zero"]
            let begins: Int64 = row["begins"]
            let ends: Int64? = row["ends"]
            return CatalogSegment(
                session: row["session"], source: row["source"], file: row["file"],
                zeroUTCNanoseconds: zero, originNanoseconds: begins &- zero,
                endNanoseconds: ends.map { $0 &- zero }, sizeBytes: row["bytes"],
                revision: UInt32(truncatingIfNeeded: row["revision"] as Int64))
        }
    }

    /// Names of the sessions in the catalog.
    package func sessionNames() throws(ArchiveError) -> [String] {
        try Self.guarded(path) {
            try database.read { db in
                try String.fetchAll(db, sql: "SELECT session FROM session ORDER BY session")
            }
        }
    }

    /// Names of all sessions of which it has a row.
    package func indexedSessionNames() throws(ArchiveError) -> Set<String> {
        try Self.guarded(path) {
            try database.read { db in
                try String.fetchSet(
                    db, sql: "SELECT session FROM session UNION SELECT session FROM segment")
            }
        }
    }

    /// Names of a session's files, as "source/file".
    package func files(of session: String) throws(ArchiveError) -> Set<String> {
        try Self.guarded(path) {
            try database.read { db in
                try String.fetchSet(
                    db, sql: "SELECT source || '/' || file FROM segment WHERE session = ?",
                    arguments: [session])
            }
        }
    }

    /// All rows as lines in a fixed order: equal catalogs have equal lines.
    package func dump() throws(ArchiveError) -> [String] {
        try Self.guarded(path) {
            try database.read { db in
                var lines: [String] = []
                for table in ["session", "source", "segment", "event"] {
                    let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(table)")
                    lines += rows.map { row in
                        "\(table) "
                            + row.map { "\($0)=\($1)" }.joined(separator: " ")
                    }.sorted()
                }
                return lines
            }
        }
    }

    /// The first error of SQLite's integrity check, in one line; nil: none.
    package func damage() throws(ArchiveError) -> String? {
        try Self.guarded(path) {
            let answer = try database.read { db in
                try String.fetchOne(db, sql: "PRAGMA integrity_check(1)")
            }
            return answer == "ok" ? nil : answer ?? "no answer"
        }
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }
}
