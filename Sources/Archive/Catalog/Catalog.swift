import Glibc
import GRDB

/// The archive's index, `tributary.sqlite`: what is there, found in milliseconds. A copy of what the files say: deleted, it is made
/// again, and is equal.
///
/// Any number of processes may read while one writes (SQLite's write-ahead log). Any thread may call.
package final class Catalog: Sendable {
    /// What makes SQLite's file ours: "TRIB".
    private static let applicationID = 0x5452_4942
    private static let schemaVersion = 1
    /// How long another process's write is waited for, seconds.
    private static let busySeconds = 5.0

    package let path: String
    private let database: any DatabaseWriter

    private init(path: String, database: any DatabaseWriter) {
        self.path = path
        self.database = database
    }

    /// Where an archive's catalog is.
    package static func path(_ layout: ArchiveLayout) -> String {
        "\(layout.root)/tributary.sqlite"
    }

    /// Opens the catalog to read and write; makes an empty one where there is none.
    /// - Throws: ``ArchiveError/malformed(path:reason:)`` when it is damaged, or of another version.
    package static func open(_ layout: ArchiveLayout) throws(ArchiveError) -> Catalog {
        let path = path(layout)
        return try guarded(path) {
            var configuration = Configuration()
            configuration.busyMode = .timeout(busySeconds)
            // A row is durable before what it speaks of is acknowledged.
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            let pool = try DatabasePool(path: path, configuration: configuration)
            let catalog = Catalog(path: path, database: pool)
            try catalog.prepare()
            return catalog
        }
    }

    /// Opens the catalog to read; nil where there is none.
    package static func read(_ layout: ArchiveLayout) throws(ArchiveError) -> Catalog? {
        guard FileSystem.exists(path(layout)) else { return nil }
        return try open(layout)
    }

    /// An empty catalog that is gone with the process.
    package static func inMemory() throws(ArchiveError) -> Catalog {
        try guarded("memory") {
            let catalog = Catalog(path: "memory", database: try DatabaseQueue())
            try catalog.prepare()
            return catalog
        }
    }

    /// Takes a catalog away, with what SQLite keeps beside it.
    package static func remove(_ layout: ArchiveLayout) throws(ArchiveError) {
        for suffix in ["", "-wal", "-shm"] {
            let path = path(layout) + suffix
            guard unlink(path) == 0 || errno == ENOENT else {
                throw .system(operation: "remove", path: path, errno: errno)
            }
        }
    }

    private func prepare() throws {
        func isPrepared(_ db: Database) throws -> Bool {
            let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
            let tables = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") ?? 0
            guard tables > 0 else { return false }
            guard application == Self.applicationID, version == Self.schemaVersion else {
                throw ArchiveError.malformed(
                    path: path, reason: "is no catalog of this version's (\(version))")
            }
            return true
        }
        if try database.read(isPrepared) { return }
        try database.write { db in
            // Another process may have been here in between.
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
            name TEXT, tags TEXT NOT NULL, note TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE source (
            session TEXT NOT NULL, source TEXT NOT NULL, agent TEXT NOT NULL, tracks TEXT NOT NULL,
            isComplete INTEGER NOT NULL, PRIMARY KEY (session, source)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE segment (
            session TEXT NOT NULL, source TEXT NOT NULL, file TEXT NOT NULL, origin INTEGER NOT NULL,
            ends INTEGER, bytes INTEGER, PRIMARY KEY (session, source, file)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE event (
            session TEXT NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL, starts INTEGER,
            duration INTEGER, samples INTEGER, track TEXT, cause TEXT, bound INTEGER, text TEXT
        ) STRICT;
        CREATE INDEX eventBySource ON event (session, source);
        """

    /// Runs database work with its errors as this module's.
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

/// Something that has changed in an archive's files.
package enum CatalogChange: Sendable {
    /// A session's description, with its sources.
    case session(CatalogSession, [CatalogSource])
    /// A file that has begun, or ended.
    case segment(CatalogSegment)
    case segmentRemoved(session: String, source: String, file: String)
    case event(CatalogEvent)
    case sessionRemoved(String)
    /// What people say of a session.
    case labels(session: String, isProtected: Bool, notes: SessionNotes)
    /// All of a session, in the place of what was there of it.
    case all(CatalogEntry)
}

extension Catalog {
    /// Writes changes in one transaction, durably.
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
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO session VALUES (?,?,?,?,?,?,?,?,?,?)")
            .execute(arguments: [
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
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO segment VALUES (?,?,?,?,?,?)")
            .execute(arguments: [
                row.session, row.source, row.file, row.originNanoseconds, row.endNanoseconds,
                row.sizeBytes,
            ])
    }

    private static func insert(_ row: CatalogEvent, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?)")
            .execute(arguments: [
                row.session, row.source, row.kind, row.startNanoseconds, row.durationNanoseconds,
                row.samples, row.track, row.cause, row.boundNanoseconds, row.text,
            ])
    }
}

// MARK: - Reading

/// A session in a list.
package struct CatalogListing: Hashable, Sendable {
    package var session: String
    package var state: String
    package var isProtected: Bool
    package var notes: SessionNotes
    package var sources: [String]
    package var segments: Int
    /// Of the files that have ended.
    package var sizeBytes: UInt64
}

extension Catalog {
    /// Sessions, oldest first; those that have something between two instants of UTC (nanoseconds since 1970), where they are given.
    package func sessions(
        from: Int64? = nil, until: Int64? = nil
    ) throws(ArchiveError) -> [CatalogListing] {
        try Self.guarded(path) {
            try database.read { db in
                // Growing files have no end yet: they reach to the present.
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT s.session, s.state, s.isProtected, s.name, s.tags, s.note,
                            (SELECT GROUP_CONCAT(source, '\n') FROM (SELECT source FROM source
                                WHERE session = s.session ORDER BY source)) AS sources,
                            COUNT(g.file) AS segments, COALESCE(SUM(g.bytes), 0) AS bytes
                        FROM session s LEFT JOIN segment g ON g.session = s.session
                            AND s.zero + g.origin < ? AND (g.ends IS NULL OR s.zero + g.ends > ?)
                        GROUP BY s.session HAVING segments > 0 OR ? ORDER BY s.session
                        """,
                    arguments: [until ?? Int64.max, from ?? Int64.min, from == nil && until == nil])
                return rows.map { row in
                    let tags: String = row["tags"]
                    let sources: String? = row["sources"]
                    let bytes: Int64 = row["bytes"]
                    return CatalogListing(
                        session: row["session"], state: row["state"],
                        isProtected: row["isProtected"],
                        notes: SessionNotes(
                            name: row["name"], tags: Self.lines(tags), note: row["note"]),
                        sources: Self.lines(sources ?? ""), segments: row["segments"],
                        sizeBytes: UInt64(clamping: bytes))
                }
            }
        }
    }

    /// Files of a session, or of all; those that have something between two instants, where they are given.
    package func segments(
        of session: String? = nil, from: Int64? = nil, until: Int64? = nil
    ) throws(ArchiveError) -> [CatalogSegment] {
        try Self.guarded(path) {
            try database.read { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT g.* FROM segment g JOIN session s ON s.session = g.session
                        WHERE (?1 IS NULL OR g.session = ?1) AND s.zero + g.origin < ?2
                            AND (g.ends IS NULL OR s.zero + g.ends > ?3)
                        ORDER BY g.session, g.source, g.file
                        """, arguments: [session, until ?? Int64.max, from ?? Int64.min]
                ).map { row in
                    CatalogSegment(
                        session: row["session"], source: row["source"], file: row["file"],
                        originNanoseconds: row["origin"], endNanoseconds: row["ends"],
                        sizeBytes: row["bytes"])
                }
            }
        }
    }

    /// Names of the sessions that it has, with the names of their files.
    package func files() throws(ArchiveError) -> [String: Set<String>] {
        try Self.guarded(path) {
            try database.read { db in
                var files: [String: Set<String>] = [:]
                for session in try String.fetchAll(db, sql: "SELECT session FROM session") {
                    files[session] = []
                }
                let rows = try Row.fetchCursor(db, sql: "SELECT session, source, file FROM segment")
                while let row = try rows.next() {
                    let (session, source, file): (String, String, String) = (row[0], row[1], row[2])
                    files[session, default: []].insert("\(source)/\(file)")
                }
                return files
            }
        }
    }

    /// Everything in it as lines in a fixed order: equal catalogs have equal lines.
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

    /// What SQLite finds wrong with its file, in one line; nil: nothing.
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

extension CatalogSegment {
    fileprivate init(
        session: String, source: String, file: String, originNanoseconds: Int64,
        endNanoseconds: Int64?, sizeBytes: Int64?
    ) {
        self.session = session
        self.source = source
        self.file = file
        self.originNanoseconds = originNanoseconds
        self.endNanoseconds = endNanoseconds
        self.sizeBytes = sizeBytes
    }
}
