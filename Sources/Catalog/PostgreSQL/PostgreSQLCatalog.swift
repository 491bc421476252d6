package import Archive
import PostgreSQL
import Synchronization

/// An archive's catalog in a database that several archives share: rows of the archive's ``ArchiveIdentity``.
///
/// It behaves like ``SQLiteCatalog``, with two differences due to the database: a zero byte in a text becomes U+FFFD,
/// and a source with an invalid directory name is omitted.
///
/// Each writing transaction has the next number of the archive (`archive.changes`). A server with a smaller number than
/// the last one it confirmed has lost transactions: a lagging standby took over. The newest ones are kept here and are
/// then written again; if they are not sufficient, the catalog is marked incomplete.
package final class PostgreSQLCatalog: CatalogStore {
    /// Rows kept to be written again: enough for a lagging standby, not for a restored backup.
    private static let keptRows = 16_384

    /// The transactions of this program.
    private struct Written {
        /// Number of the last transaction that the server confirmed; nil: none yet.
        var last: Int64?
        /// The newest transactions, oldest first.
        var recent: [(number: Int64, changes: [CatalogChange], rows: Int)] = []
        /// Number of the newest one that is not kept here.
        var forgotten: Int64 = 0

        mutating func add(_ number: Int64, _ changes: [CatalogChange]) {
            last = max(last ?? number, number)
            recent.append((number, changes, changes.reduce(0) { $0 + $1.rows }))
            var rows = recent.reduce(0) { $0 + $1.rows }
            while rows > PostgreSQLCatalog.keptRows, let first = recent.first {
                rows -= first.rows
                forgotten = max(forgotten, first.number)
                recent.removeFirst()
            }
        }
    }

    private struct ArchiveRow {
        var id: Int64
        var isComplete: Bool
        var changes: Int64
        var place: String

        init(_ row: PostgreSQLRow) throws(PostgreSQLError) {
            id = try row.integer(0)
            isComplete = try row.boolean(1)
            changes = try row.integer(2)
            place = try row.text(3)
        }
    }

    package var name: String { database.name }
    private let database: PostgreSQLDatabase
    private let identity: ArchiveIdentity
    private let place: String
    private let written = Mutex(Written())

    /// - Parameter place: the archive's location, for messages.
    package init(_ database: PostgreSQLDatabase, _ identity: ArchiveIdentity, place: String) {
        self.database = database
        self.identity = identity
        self.place = place
    }

    // MARK: The archive's row

    /// The registration of an archive.
    struct Registration {
        /// Whether its content is complete.
        var isComplete: Bool
        /// Its location at the last registration.
        var previousPlace: String
    }

    /// Registers the archive in the catalog, or returns its registration.
    func register() throws(ArchiveError) -> Registration {
        let archive = try database.use { connection throws(PostgreSQLError) in
            try connection.transaction { connection throws(PostgreSQLError) in
                let archive = try lockedArchive(connection)
                try connection.run(
                    PostgreSQLStatements.movedArchive, ["\(archive.id)", place])
                return archive
            }
        }
        return Registration(isComplete: archive.isComplete, previousPlace: archive.place)
    }

    /// Whether readers may use it.
    func setComplete(_ isComplete: Bool) throws(ArchiveError) {
        _ = try database.use { connection throws(PostgreSQLError) in
            try connection.run(
                PostgreSQLStatements.believedArchive, [identity.text, isComplete ? "t" : "f"])
        }
    }

    private func archive(
        _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> ArchiveRow? {
        let found = try connection.run(PostgreSQLStatements.archive, [identity.text])
        guard let row = found.rows.first else { return nil }
        return try ArchiveRow(row)
    }

    /// The archive's row, which is created if necessary; no other program writes its catalog until the transaction
    /// ends.
    private func lockedArchive(
        _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> ArchiveRow {
        for _ in 0..<2 {
            let found = try connection.run(PostgreSQLStatements.lockedArchive, [identity.text])
            if let row = found.rows.first { return try ArchiveRow(row) }
            try connection.run(PostgreSQLStatements.newArchive, [identity.text, place])
        }
        throw .unexpected(reason: "the archive's row is not there after it was added")
    }

    // MARK: Writing

    package func apply(_ changes: [CatalogChange]) throws(ArchiveError) {
        guard !changes.isEmpty else { return }
        let known = written.withLock { $0 }
        let (number, before) = try database.use { connection throws(PostgreSQLError) in
            try connection.transaction { connection throws(PostgreSQLError) in
                let archive = try lockedArchive(connection)
                let last = known.last ?? archive.changes
                var all = changes
                if archive.changes < last {
                    guard archive.changes >= known.forgotten else {
                        throw .unexpected(
                            reason: "the server has lost changes that it had confirmed")
                    }
                    all =
                        known.recent.filter { $0.number > archive.changes }.flatMap(\.changes)
                        + changes
                }
                var writer = PostgreSQLWriter(connection, archive: archive.id)
                try writer.write(all)
                let number = max(archive.changes, last) + 1
                try connection.run(
                    PostgreSQLStatements.changedArchive, ["\(archive.id)", "\(number)"])
                return (number, archive.changes)
            }
        }
        written.withLock { written in
            // The transactions before the first one of this program are not kept here.
            if written.last == nil { written.forgotten = before }
            written.add(number, changes)
        }
    }

    // MARK: Reading

    /// Reads in one snapshot. An unregistered archive, or one with incomplete content, is empty.
    private func read<Result>(
        else nothing: Result, evenIncomplete: Bool = false,
        _ body: (PostgreSQLConnection, _ archive: String) throws(PostgreSQLError) -> Result
    ) throws(ArchiveError) -> Result {
        try database.use { connection throws(PostgreSQLError) in
            try connection.transaction(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            ) { connection throws(PostgreSQLError) in
                guard let archive = try archive(connection), archive.isComplete || evenIncomplete
                else { return nothing }
                return try body(connection, "\(archive.id)")
            }
        }
    }

    /// Answers a question, from the memory if there is one.
    private func answer<Row: Sendable>(
        _ question: CatalogMemory.Question,
        _ query: (PostgreSQLConnection, _ archive: String) throws(PostgreSQLError) -> [Row]
    ) throws(ArchiveError) -> [Row] {
        guard let memory = database.memory else { return try read(else: [], query) }
        return try memory.answer(question, of: identity) { () throws(ArchiveError) in
            try read(else: [], query)
        }
    }

    package func sessions(
        from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [CatalogListing] {
        try answer(.sessions(from: from, until: until)) {
            connection, archive throws(PostgreSQLError) in
            let answer: PostgreSQLAnswer
            if from == nil, until == nil {
                answer = try connection.run(PostgreSQLStatements.sessions, [archive])
            } else {
                answer = try connection.run(
                    PostgreSQLStatements.sessionsInRange,
                    try Self.range(archive, from, until, connection))
            }
            var listings: [CatalogListing] = []
            for row in answer.rows { listings.append(try Self.listing(row)) }
            return listings
        }
    }

    private static func listing(_ row: PostgreSQLRow) throws(PostgreSQLError) -> CatalogListing {
        let sources = lines(try row.text(6))
        for source in sources { _ = try checked(source) }
        return CatalogListing(
            session: try checked(row.text(0)), state: try row.text(1),
            isProtected: try row.boolean(2),
            notes: SessionNotes(
                name: try row.optionalText(3), tags: lines(try row.text(4)),
                note: try row.optionalText(5)),
            sources: sources, segments: Int(clamping: try row.integer(7)),
            sizeBytes: UInt64(clamping: try row.integer(8)))
    }

    /// The parameters of a time range.
    private static func range(
        _ archive: String, _ from: Int64?, _ until: Int64?, _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> [String?] {
        let found = try connection.run(PostgreSQLStatements.longest, [archive])
        let longest = max(0, try found.rows.first?.optionalInteger(0) ?? 0)
        let from = from ?? .min
        let (earliest, overflow) = from.subtractingReportingOverflow(longest)
        return [archive, "\(overflow ? Int64.min : earliest)", "\(until ?? .max)", "\(from)"]
    }

    package func segments(
        of session: String?, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [CatalogSegment] {
        try answer(.segments(session: session, from: from, until: until)) {
            connection, archive throws(PostgreSQLError) in
            if from != nil || until != nil {
                return try Self.segments(
                    PostgreSQLStatements.segmentsInRange,
                    try Self.range(archive, from, until, connection) + [session], connection)
            }
            guard let session else {
                return try Self.segments(PostgreSQLStatements.allSegments, [archive], connection)
            }
            return try Self.segments(
                PostgreSQLStatements.segmentsOfSession, [archive, session], connection)
        }
    }

    package func growingSegments(
        of session: String
    ) throws(ArchiveError) -> [CatalogSegment] {
        try answer(.growingSegments(session: session)) {
            connection, archive throws(PostgreSQLError) in
            try Self.segments(
                PostgreSQLStatements.growingSegments, [archive, session], connection)
        }
    }

    private static func segments(
        _ statement: String, _ parameters: [String?], _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> [CatalogSegment] {
        var segments: [CatalogSegment] = []
        for row in try connection.run(statement, parameters).rows {
            let zero = try row.integer(3)
            let file = try row.text(2)
            // Names become paths.
            guard SegmentName(file) != nil else {
                throw .unexpected(reason: "a name that no segment has")
            }
            segments.append(
                CatalogSegment(
                    session: try checked(row.text(0)), source: try checked(row.text(1)),
                    file: file, zeroUTCNanoseconds: zero,
                    originNanoseconds: try row.integer(4) &- zero,
                    endNanoseconds: try row.optionalInteger(5).map { $0 &- zero },
                    sizeBytes: try row.optionalInteger(6),
                    revision: UInt32(truncatingIfNeeded: try row.integer(7))))
        }
        return segments
    }

    package func sessionNames() throws(ArchiveError) -> [String] {
        try answer(.sessionNames) { connection, archive throws(PostgreSQLError) in
            try Self.names(PostgreSQLStatements.sessionNames, [archive], connection)
        }
    }

    package func indexedSessionNames() throws(ArchiveError) -> Set<String> {
        try read(else: [], evenIncomplete: true) { connection, archive throws(PostgreSQLError) in
            Set(try Self.names(PostgreSQLStatements.indexedSessionNames, [archive], connection))
        }
    }

    package func files(of session: String) throws(ArchiveError) -> Set<String> {
        try read(else: []) { connection, archive throws(PostgreSQLError) in
            Set(try Self.names(PostgreSQLStatements.files, [archive, session], connection))
        }
    }

    private static func names(
        _ statement: String, _ parameters: [String?], _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> [String] {
        var names: [String] = []
        for row in try connection.run(statement, parameters).rows {
            names.append(try row.text(0))
        }
        return names
    }

    package func dump() throws(ArchiveError) -> [String] {
        var lines: [String: [String]] = [:]
        // Session by session, because responses are limited.
        for session in try indexedSessionNames().sorted() {
            for dump in PostgreSQLStatements.dumps {
                lines[dump.table, default: []] += try read(else: []) {
                    connection, archive throws(PostgreSQLError) in
                    try Self.lines(of: dump, [archive, session], connection)
                }
            }
        }
        return PostgreSQLStatements.dumps.flatMap { (lines[$0.table] ?? []).sorted() }
    }

    private static func lines(
        of dump: PostgreSQLStatements.Dump, _ parameters: [String?],
        _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> [String] {
        var lines: [String] = []
        for row in try connection.run(dump.statement, parameters).rows {
            var words = [dump.table]
            for (index, column) in dump.columns.enumerated() {
                let value = try row.optionalText(index)
                // In SQLite's notation.
                let text = value.map { column.isText ? String(reflecting: $0) : $0 } ?? "NULL"
                words.append("\(column.name)=\(text)")
            }
            lines.append(words.joined(separator: " "))
        }
        return lines
    }

    private static func checked(_ name: String) throws(PostgreSQLError) -> String {
        guard ArchiveLayout.isValidName(name) else {
            throw .unexpected(reason: "a name that no directory of an archive has")
        }
        return name
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }
}

extension CatalogChange {
    /// Approximate number of rows that it writes.
    fileprivate var rows: Int {
        switch self {
        case .session(_, let sources): 1 + sources.count
        case .segment, .segmentRemoved, .event, .sessionRemoved, .labels: 1
        case .events(_, _, let events): 1 + events.count
        case .all(let entry): 1 + entry.sources.count + entry.segments.count + entry.events.count
        }
    }
}
