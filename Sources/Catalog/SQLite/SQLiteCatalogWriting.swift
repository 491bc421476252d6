package import Archive
import Media
import SQLite

extension SQLiteCatalog {
    /// Writes changes in one transaction.
    package func apply(_ changes: [CatalogChange]) throws(ArchiveError) {
        guard !changes.isEmpty else { return }
        try write { connection throws(SQLiteError) in
            try connection.transaction("BEGIN IMMEDIATE") { connection throws(SQLiteError) in
                for change in changes { try Self.apply(change, to: connection) }
            }
        }
    }

    private static func apply(
        _ change: CatalogChange, to connection: SQLiteConnection
    ) throws(SQLiteError) {
        switch change {
        case .session(let session, let sources):
            try insert(session, connection)
            try connection.run("DELETE FROM source WHERE session = ?1", [.text(session.session)])
            for source in sources { try insert(source, of: session.session, connection) }
        case .segment(let segment): try insert(segment, connection)
        case .segmentRemoved(let session, let source, let file):
            try connection.run(
                "DELETE FROM segment WHERE session = ?1 AND source = ?2 AND file = ?3",
                [.text(session), .text(source), .text(file)])
        case .event(let event): try insert(event, connection)
        case .events(let session, let source, let events):
            try connection.run(
                "DELETE FROM event WHERE session = ?1 AND source = ?2",
                [.text(session), .text(source)])
            for event in events { try insert(event, connection) }
        case .sessionRemoved(let session): try remove(session, connection)
        case .labels(let session, let isProtected, let notes):
            try connection.run(
                """
                UPDATE session SET isProtected = ?2, name = ?3, tags = ?4, note = ?5
                    WHERE session = ?1
                """,
                [
                    .text(session), SQLiteValue(isProtected), SQLiteValue(notes.name),
                    .text(notes.tags.joined(separator: "\n")), SQLiteValue(notes.note),
                ])
        case .all(let entry):
            try remove(entry.session.session, connection)
            try insert(entry.session, connection)
            for source in entry.sources {
                try insert(source, of: entry.session.session, connection)
            }
            for segment in entry.segments { try insert(segment, connection) }
            for event in entry.events { try insert(event, connection) }
        }
    }

    private static func remove(
        _ session: String, _ connection: SQLiteConnection
    ) throws(SQLiteError) {
        for table in SQLiteCatalogSchema.tables {
            try connection.run("DELETE FROM \(table) WHERE session = ?1", [.text(session)])
        }
    }

    private static func insert(
        _ row: CatalogSession, _ connection: SQLiteConnection
    ) throws(SQLiteError) {
        // Not INSERT OR REPLACE: that would lose the totals that triggers maintain.
        try connection.run(
            """
            INSERT INTO session SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10, COUNT(*), COALESCE(SUM(bytes), 0)
                FROM segment WHERE session = ?1
            ON CONFLICT (session) DO UPDATE SET zero = ?2, state = ?3, endReason = ?4,
                segmentLength = ?5, software = ?6, isProtected = ?7, name = ?8, tags = ?9, note = ?10
            """,
            [
                .text(row.session), .integer(row.zeroUTCNanoseconds), .text(row.state),
                SQLiteValue(row.endReason), .integer(row.segmentNanoseconds), .text(row.software),
                SQLiteValue(row.isProtected), SQLiteValue(row.notes.name),
                .text(row.notes.tags.joined(separator: "\n")), SQLiteValue(row.notes.note),
            ])
    }

    private static func insert(
        _ row: CatalogSource, of session: String, _ connection: SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            "INSERT OR REPLACE INTO source VALUES (?1,?2,?3,?4,?5)",
            [
                .text(session), .text(row.source), .text(row.agent), .text(row.tracks),
                SQLiteValue(row.isComplete),
            ])
    }

    private static func insert(
        _ row: CatalogSegment, _ connection: SQLiteConnection
    ) throws(SQLiteError) {
        let zero = row.zeroUTCNanoseconds
        try connection.run(
            """
            INSERT INTO segment VALUES (?1,?2,?3,?4,?5,?6,?7)
            ON CONFLICT (session, source, file)
                DO UPDATE SET begins = ?4, ends = ?5, bytes = ?6, revision = ?7
            """,
            [
                .text(row.session), .text(row.source), .text(row.file),
                .integer(zero.clampedAdding(row.originNanoseconds)),
                SQLiteValue(row.endNanoseconds.map { zero.clampedAdding($0) }),
                SQLiteValue(row.sizeBytes), .integer(Int64(row.revision)),
            ])
    }

    private static func insert(
        _ row: CatalogEvent, _ connection: SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run(
            "INSERT OR REPLACE INTO event VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
            [
                .text(row.session), .text(row.source), .integer(row.ledgerOffset),
                .text(row.kind), SQLiteValue(row.startNanoseconds),
                SQLiteValue(row.durationNanoseconds), SQLiteValue(row.samples),
                SQLiteValue(row.track), SQLiteValue(row.cause), SQLiteValue(row.boundNanoseconds),
                SQLiteValue(row.text),
            ])
    }
}
