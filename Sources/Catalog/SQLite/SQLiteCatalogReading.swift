package import Archive
import SQLite

/// Queries. Every value is checked before it is used, because the file is untrusted.
extension SQLiteCatalog {
    /// Sessions, oldest first. With a time range (UTC, nanoseconds since 1970): those with content in it, and that content.
    package func sessions(
        from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [CatalogListing] {
        let columns = """
            s.session, s.state, s.isProtected, s.name, s.tags, s.note,
                (SELECT GROUP_CONCAT(source, '\n') FROM (SELECT source FROM source
                    WHERE session = s.session ORDER BY source)) AS sources
            """
        return try ask(readers) { connection throws(SQLiteError) in
            guard from != nil || until != nil else {
                return try connection.rows(
                    "SELECT \(columns), s.segments, s.bytes FROM session s ORDER BY session", [],
                    Self.listing)
            }
            return try connection.rows(
                """
                SELECT \(columns), g.segments, g.bytes FROM (SELECT session,
                    COUNT(*) AS segments, COALESCE(SUM(bytes), 0) AS bytes
                    FROM (\(Self.found)) GROUP BY session) g
                JOIN session s ON s.session = g.session ORDER BY s.session
                """, try Self.range(nil, from, until, connection), Self.listing)
        }
    }

    private static func listing(
        _ row: borrowing SQLiteRow
    ) throws(SQLiteError) -> CatalogListing {
        let sources = lines(try row.optionalText(6) ?? "")
        for source in sources { _ = try name(source) }
        let state = try row.text(1)
        guard SessionManifest.State(rawValue: state) != nil else {
            throw .unexpected(reason: "a state that no session has")
        }
        return CatalogListing(
            session: try name(row.text(0)), state: state, isProtected: try row.boolean(2),
            notes: SessionNotes(
                name: try row.optionalText(3), tags: lines(try row.text(4)),
                note: try row.optionalText(5)),
            sources: sources, segments: Int(try row.count(7)),
            sizeBytes: UInt64(try row.count(8)))
    }

    /// Files that overlap a time range (``range(_:_:_:_:)``). A file that overlaps it begins at most the length of the
    /// longest file before it: an index on start times finds it. Growing files have no end yet: they extend to the present.
    private static let found = """
        SELECT * FROM segment INDEXED BY segmentByTime
            WHERE begins > ?4 AND begins < ?3 AND ends > ?2
        UNION ALL SELECT * FROM segment INDEXED BY segmentGrowing
            WHERE ends IS NULL AND begins < ?3
        """

    /// The parameters of a query: `?1` is a session, `?2` and `?3` the range, `?4` the earliest start of a file in it.
    private static func range(
        _ session: String?, _ from: Int64?, _ until: Int64?, _ connection: SQLiteConnection
    ) throws(SQLiteError) -> [SQLiteValue] {
        let longest = try connection.rows(
            "SELECT ends - begins FROM segment ORDER BY ends - begins DESC LIMIT 1"
        ) { row throws(SQLiteError) in try row.optionalInteger(0) }
        let from = from ?? .min
        let (earliest, overflow) = from.subtractingReportingOverflow(
            max(0, (longest.first ?? nil) ?? 0))
        return [
            SQLiteValue(session), .integer(from), .integer(until ?? .max),
            .integer(overflow ? .min : earliest),
        ]
    }

    /// Files of a session, or of all sessions; with a time range, those with content in it.
    package func segments(
        of session: String? = nil, from: Int64? = nil, until: Int64? = nil
    ) throws(ArchiveError) -> [CatalogSegment] {
        try ask(readers) { connection throws(SQLiteError) in
            guard from == nil, until == nil else {
                return try Self.segments(
                    Self.found, try Self.range(session, from, until, connection), connection)
            }
            let files = "SELECT * FROM segment" + (session == nil ? "" : " WHERE session = ?1")
            return try Self.segments(files, [SQLiteValue(session)], connection)
        }
    }

    /// Files of a session that have not ended.
    package func growingSegments(
        of session: String
    ) throws(ArchiveError) -> [CatalogSegment] {
        try ask(readers) { connection throws(SQLiteError) in
            try Self.segments(
                """
                SELECT * FROM segment INDEXED BY segmentGrowing
                    WHERE ends IS NULL AND session = ?1
                """, [.text(session)], connection)
        }
    }

    private static func segments(
        _ files: String, _ values: [SQLiteValue], _ connection: SQLiteConnection
    ) throws(SQLiteError) -> [CatalogSegment] {
        try connection.rows(
            """
            SELECT g.session, g.source, g.file, s.zero, g.begins, g.ends, g.bytes, g.revision
                FROM (\(files)) g JOIN session s ON s.session = g.session
            WHERE ?1 IS NULL OR g.session = ?1
            ORDER BY g.session, g.source, g.file
            """, values
        ) { row throws(SQLiteError) in
            let zero = try row.integer(3)
            let size = try row.optionalInteger(6)
            guard let revision = UInt32(exactly: try row.integer(7)), size ?? 0 >= 0 else {
                throw .unexpected(reason: "a number that no segment has")
            }
            return CatalogSegment(
                session: try name(row.text(0)), source: try name(row.text(1)),
                file: try fileName(row.text(2)), zeroUTCNanoseconds: zero,
                originNanoseconds: try row.integer(4) &- zero,
                endNanoseconds: try row.optionalInteger(5).map { $0 &- zero }, sizeBytes: size,
                revision: revision)
        }
    }

    /// Names of the sessions in the catalog.
    package func sessionNames() throws(ArchiveError) -> [String] {
        try names("SELECT session FROM session ORDER BY session")
    }

    /// Sessions with rows. Each search for the next one skips all segments of the previous one.
    private static let indexed = """
        SELECT session FROM session UNION SELECT session FROM (
            WITH RECURSIVE next(session) AS (
                SELECT MIN(session) FROM segment UNION ALL
                SELECT (SELECT MIN(s.session) FROM segment s WHERE s.session > next.session)
                    FROM next WHERE next.session IS NOT NULL)
            SELECT session FROM next WHERE session IS NOT NULL)
        """

    /// Names of all sessions that have a row.
    package func indexedSessionNames() throws(ArchiveError) -> Set<String> {
        Set(try names(Self.indexed))
    }

    private func names(_ statement: String) throws(ArchiveError) -> [String] {
        try ask(readers) { connection throws(SQLiteError) in
            try connection.rows(statement) { row throws(SQLiteError) in
                try Self.name(row.text(0))
            }
        }
    }

    package func checkSessions(_ sessions: Int, isListed: Bool) throws(ArchiveError) {
        let most = sessions * 2 + 1_000
        let counted = isListed ? "SELECT session FROM session" : Self.indexed
        let found = try ask(readers) { connection throws(SQLiteError) in
            try connection.rows(
                "SELECT COUNT(*) FROM (\(counted) LIMIT ?1)", [.integer(Int64(most) + 1)]
            ) {
                row throws(SQLiteError) in try row.integer(0)
            }
        }
        guard found.first ?? 0 <= most else {
            throw .malformed(
                path: path, reason: "the catalog has many sessions that are not in its archive")
        }
    }

    /// Names of a session's files, as "source/file".
    package func files(of session: String) throws(ArchiveError) -> Set<String> {
        try ask(readers) { connection throws(SQLiteError) in
            Set(
                try connection.rows(
                    "SELECT source, file FROM segment WHERE session = ?1", [.text(session)]
                ) { row throws(SQLiteError) in
                    "\(try Self.name(row.text(0)))/\(try Self.fileName(row.text(1)))"
                })
        }
    }

    /// Total number of rows.
    private func rowCount() throws(ArchiveError) -> Int64 {
        try ask(whole) { connection throws(SQLiteError) in
            var sum: Int64 = 0
            for table in SQLiteCatalogSchema.tables {
                sum +=
                    try connection.rows("SELECT COUNT(*) FROM \(table)") {
                        row throws(SQLiteError) in try row.integer(0)
                    }.first ?? 0
            }
            return sum
        }
    }

    /// All rows as lines in a fixed order: equal catalogs have equal lines.
    package func dump() throws(ArchiveError) -> [String] {
        try ask(whole) { connection throws(SQLiteError) in
            var lines: [String] = []
            for table in SQLiteCatalogSchema.tables {
                lines += try connection.rows("SELECT * FROM \(table)") {
                    row throws(SQLiteError) in
                    var line = table
                    for column in 0..<row.count {
                        line += " \(try row.name(column))=\(try row.value(column))"
                    }
                    return line
                }.sorted()
            }
            return lines
        }
    }

    package func damage(expectedRows: Int) throws(ArchiveError) -> String? {
        let count = try rowCount()
        guard count <= expectedRows * 2 + 10_000 else {
            return "has \(count) rows, and the files have content for \(expectedRows)"
        }
        return try damage().map { "is damaged: \($0)" }
    }

    /// The first error of SQLite's integrity check, in one line; nil: none.
    package func damage() throws(ArchiveError) -> String? {
        let answer = try ask(whole) { connection throws(SQLiteError) in
            try connection.rows("PRAGMA integrity_check(1)") { row throws(SQLiteError) in
                try row.text(0)
            }.first
        }
        return answer == "ok" ? nil : answer.map(SQLiteError.oneLine) ?? "no answer"
    }

    // MARK: Values

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }

    /// A name that becomes a directory name.
    private static func name(_ name: String) throws(SQLiteError) -> String {
        guard ArchiveLayout.isValidName(name) else {
            throw .unexpected(reason: "a name that no session or source has")
        }
        return name
    }

    /// A name that becomes a segment's file name.
    private static func fileName(_ name: String) throws(SQLiteError) -> String {
        guard SegmentName(name) != nil else {
            throw .unexpected(reason: "a name that no segment has")
        }
        return name
    }
}
