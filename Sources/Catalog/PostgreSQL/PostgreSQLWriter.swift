import Archive
import Media
import PostgreSQL

/// Writes changes within a transaction. Consecutive rows of the same kind are sent in one statement, as arrays: a
/// session of ten thousand files needs ten round trips, not ten thousand.
struct PostgreSQLWriter {
    /// Rows in one statement: about 150 kB.
    private static let rowsTogether = 1_024

    private let connection: PostgreSQLConnection
    private let archive: String
    /// Rows that are not sent yet, by their keys: a statement may not have a row twice, and the last one applies.
    private var segments: [[String]: CatalogSegment] = [:]
    private var events: [[String]: CatalogEvent] = [:]

    init(_ connection: PostgreSQLConnection, archive: Int64) {
        self.connection = connection
        self.archive = "\(archive)"
    }

    /// Writes changes in their order.
    mutating func write(_ changes: [CatalogChange]) throws(PostgreSQLError) {
        for change in changes { try write(change) }
        try flush()
    }

    private mutating func write(_ change: CatalogChange) throws(PostgreSQLError) {
        switch change {
        case .segment(let segment): return try add(segment)
        case .event(let event): return try add(event)
        case .session, .segmentRemoved, .events, .sessionRemoved, .labels, .all: break
        }
        // The next change may concern queued rows.
        try flush()
        switch change {
        case .segment, .event: break
        case .session(let session, let sources): try insert(session, sources)
        case .segmentRemoved(let session, let source, let file):
            try connection.run(
                PostgreSQLStatements.removedSegment, [archive, session, source, file])
        case .events(let session, let source, let events):
            try connection.run(PostgreSQLStatements.removedEvents, [archive, session, source])
            for event in events { try add(event) }
            try flush()
        case .sessionRemoved(let session): try remove(session)
        case .labels(let session, let isProtected, let notes):
            try connection.run(
                PostgreSQLStatements.labels,
                [
                    archive, session, Self.text(isProtected), notes.name,
                    notes.tags.joined(separator: "\n"), notes.note,
                ])
        case .all(let entry):
            try remove(entry.session.session)
            try insert(entry.session, entry.sources)
            for segment in entry.segments { try add(segment) }
            for event in entry.events { try add(event) }
            try flush()
        }
    }

    private func remove(_ session: String) throws(PostgreSQLError) {
        // The session first, so that no trigger counts the removal of its rows.
        for table in ["session", "source", "segment", "event"] {
            try connection.run(
                PostgreSQLStatements.removedSession(from: table), [archive, session])
        }
    }

    private func insert(
        _ row: CatalogSession, _ sources: [CatalogSource]
    ) throws(PostgreSQLError) {
        // As in a description, a later one replaces an earlier one. Invalid directory names would not fit into a key.
        var named: [String: CatalogSource] = [:]
        for source in sources where ArchiveLayout.isValidName(source.source) {
            named[source.source] = source
        }
        let names = named.keys.sorted()
        try connection.run(
            PostgreSQLStatements.session,
            [
                archive, row.session, "\(row.zeroUTCNanoseconds)", row.state, row.endReason,
                "\(row.segmentNanoseconds)", row.software, Self.text(row.isProtected),
                row.notes.name, row.notes.tags.joined(separator: "\n"), row.notes.note,
                names.joined(separator: "\n"),
            ])
        try connection.run(PostgreSQLStatements.removedSources, [archive, row.session])
        guard !named.isEmpty else { return }
        let rows = names.compactMap { named[$0] }
        try connection.run(
            PostgreSQLStatements.sources,
            [
                archive, row.session, Self.array(rows.map(\.source)), Self.array(rows.map(\.agent)),
                Self.array(rows.map(\.tracks)),
                Self.array(rows.map { Self.text($0.isComplete) }),
            ])
    }

    private mutating func add(_ segment: CatalogSegment) throws(PostgreSQLError) {
        segments[[segment.session, segment.source, segment.file]] = segment
        if segments.count >= Self.rowsTogether { try flush() }
    }

    private mutating func add(_ event: CatalogEvent) throws(PostgreSQLError) {
        events[[event.session, event.source, "\(event.ledgerOffset)"]] = event
        if events.count >= Self.rowsTogether { try flush() }
    }

    private mutating func flush() throws(PostgreSQLError) {
        if !segments.isEmpty {
            let rows = Array(segments.values)
            segments = [:]
            let begins = rows.map { $0.zeroUTCNanoseconds.clampedAdding($0.originNanoseconds) }
            let ends = rows.map { row in
                row.endNanoseconds.map { row.zeroUTCNanoseconds.clampedAdding($0) }
            }
            let lengths = zip(begins, ends).map { begin, end in
                end.map { $0.clampedSubtracting(begin) }
            }
            try connection.run(
                PostgreSQLStatements.segments,
                [
                    archive, Self.array(rows.map(\.session)), Self.array(rows.map(\.source)),
                    Self.array(rows.map(\.file)), Self.array(begins), Self.array(ends),
                    Self.array(lengths), Self.array(rows.map(\.sizeBytes)),
                    Self.array(rows.map { Int64($0.revision) }),
                ])
        }
        if !events.isEmpty {
            let rows = Array(events.values)
            events = [:]
            try connection.run(
                PostgreSQLStatements.events,
                [
                    archive, Self.array(rows.map(\.session)), Self.array(rows.map(\.source)),
                    Self.array(rows.map(\.ledgerOffset)), Self.array(rows.map(\.kind)),
                    Self.array(rows.map(\.startNanoseconds)),
                    Self.array(rows.map(\.durationNanoseconds)), Self.array(rows.map(\.samples)),
                    Self.array(rows.map(\.track)), Self.array(rows.map(\.cause)),
                    Self.array(rows.map(\.boundNanoseconds)), Self.array(rows.map(\.text)),
                ])
        }
    }

    // MARK: Text format

    private static func text(_ boolean: Bool) -> String { boolean ? "t" : "f" }

    private static func array(_ integers: [Int64?]) -> String {
        "{\(integers.map { $0.map(String.init) ?? "NULL" }.joined(separator: ","))}"
    }

    /// PostgreSQL 15, §8.15.6 "Array Input and Output Syntax": quoted, with backslashes before quotes and backslashes.
    private static func array(_ texts: [String?]) -> String {
        var literal: [UInt8] = [UInt8(ascii: "{")]
        for (index, text) in texts.enumerated() {
            if index > 0 { literal.append(UInt8(ascii: ",")) }
            guard let text else {
                literal += "NULL".utf8
                continue
            }
            literal.append(UInt8(ascii: "\""))
            for byte in text.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    literal.append(UInt8(ascii: "\\"))
                }
                literal.append(byte)
            }
            literal.append(UInt8(ascii: "\""))
        }
        literal.append(UInt8(ascii: "}"))
        return String(decoding: literal, as: UTF8.self)
    }
}
