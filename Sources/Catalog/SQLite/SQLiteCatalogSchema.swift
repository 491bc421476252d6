import SQLite

/// The tables of a catalog in SQLite. A database with any other schema is not a catalog: views, triggers and
/// expressions of a file are code.
enum SQLiteCatalogSchema {
    /// Marks the SQLite file as ours: "TRIB".
    private static let applicationID: Int64 = 0x5452_4942
    private static let version: Int64 = 4
    private static let pageBytes: Int64 = 4_096

    /// A row of `sqlite_schema` ("The Schema Table", `sqlite.org/schematab.html`).
    private struct Item: Hashable {
        var type: String
        var name: String
        var table: String
        /// Its `CREATE` statement, exactly as stored in `sqlite_schema`.
        var statement: String

        init(_ type: String, _ name: String, on table: String? = nil, _ statement: String) {
            self.type = type
            self.name = name
            self.table = table ?? name
            self.statement = statement
        }
    }

    private static let items = [
        Item(
            "table", "session",
            """
            CREATE TABLE session (
                session TEXT PRIMARY KEY, zero INTEGER NOT NULL, state TEXT NOT NULL, endReason TEXT,
                segmentLength INTEGER NOT NULL, software TEXT NOT NULL, isProtected INTEGER NOT NULL,
                name TEXT, tags TEXT NOT NULL, note TEXT,
                segments INTEGER NOT NULL, bytes INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID
            """),
        Item(
            "table", "source",
            """
            CREATE TABLE source (
                session TEXT NOT NULL, source TEXT NOT NULL, agent TEXT NOT NULL, tracks TEXT NOT NULL,
                isComplete INTEGER NOT NULL, PRIMARY KEY (session, source)
            ) STRICT, WITHOUT ROWID
            """),
        Item(
            "table", "segment",
            """
            CREATE TABLE segment (
                session TEXT NOT NULL, source TEXT NOT NULL, file TEXT NOT NULL, begins INTEGER NOT NULL,
                ends INTEGER, bytes INTEGER, revision INTEGER NOT NULL,
                PRIMARY KEY (session, source, file)
            ) STRICT, WITHOUT ROWID
            """),
        Item(
            "index", "segmentByTime", on: "segment",
            "CREATE INDEX segmentByTime ON segment (begins, ends, bytes)"),
        Item(
            "index", "segmentByLength", on: "segment",
            "CREATE INDEX segmentByLength ON segment (ends - begins)"),
        Item(
            "index", "segmentGrowing", on: "segment",
            "CREATE INDEX segmentGrowing ON segment (begins) WHERE ends IS NULL"),
        Item(
            "trigger", "segmentAdded", on: "segment",
            """
            CREATE TRIGGER segmentAdded AFTER INSERT ON segment BEGIN
                UPDATE session SET segments = segments + 1, bytes = bytes + COALESCE(new.bytes, 0)
                    WHERE session = new.session;
            END
            """),
        Item(
            "trigger", "segmentChanged", on: "segment",
            """
            CREATE TRIGGER segmentChanged AFTER UPDATE ON segment BEGIN
                UPDATE session SET bytes = bytes + COALESCE(new.bytes, 0) - COALESCE(old.bytes, 0)
                    WHERE session = new.session;
            END
            """),
        Item(
            "trigger", "segmentRemoved", on: "segment",
            """
            CREATE TRIGGER segmentRemoved AFTER DELETE ON segment BEGIN
                UPDATE session SET segments = segments - 1, bytes = bytes - COALESCE(old.bytes, 0)
                    WHERE session = old.session;
            END
            """),
        Item(
            "table", "event",
            """
            CREATE TABLE event (
                session TEXT NOT NULL, source TEXT NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL,
                starts INTEGER, duration INTEGER, samples INTEGER, track TEXT, cause TEXT,
                bound INTEGER, text TEXT, PRIMARY KEY (session, source, line)
            ) STRICT, WITHOUT ROWID
            """),
    ]

    /// The tables' names.
    static let tables = items.filter { $0.type == "table" }.map(\.name)

    /// Creates the tables of an empty database.
    static func create(_ connection: SQLiteConnection) throws(SQLiteError) {
        try connection.run("PRAGMA page_size = \(pageBytes)")
        try connection.run("PRAGMA encoding = 'UTF-8'")
        // Many processes may read while one writes.
        try connection.run("PRAGMA journal_mode = WAL")
        try connection.transaction("BEGIN IMMEDIATE") { connection throws(SQLiteError) in
            for item in items { try connection.run(item.statement) }
            try connection.run("PRAGMA application_id = \(applicationID)")
            try connection.run("PRAGMA user_version = \(version)")
        }
    }

    /// Compares a database with the schema that ``create(_:)`` makes. Only the schema is read.
    /// - Parameter isImmutable: whether the connection ignores the log.
    /// - Returns: the first difference, in words; nil: it is a catalog.
    static func difference(
        _ connection: SQLiteConnection, isImmutable: Bool
    ) throws(SQLiteError) -> String? {
        let settings: [(name: String, value: SQLiteValue)] = [
            ("application_id", .integer(applicationID)), ("user_version", .integer(version)),
            ("page_size", .integer(pageBytes)), ("encoding", .text("UTF-8")),
            ("journal_mode", .text(isImmutable ? "delete" : "wal")),
        ]
        for (name, value) in settings {
            let found = try connection.rows("PRAGMA \(name)") { row throws(SQLiteError) in
                try row.value(0)
            }
            guard found == [value] else {
                return "its \(name) is \(found.first?.description ?? "missing"), not \(value)"
            }
        }
        let pages = try connection.rows("PRAGMA page_count") { row throws(SQLiteError) in
            try row.integer(0)
        }
        guard let count = pages.first, count <= SQLiteCatalogFiles.maximumBytes / pageBytes else {
            return "it has too many pages"
        }
        var missing = Set(items)
        let found = try connection.rows(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT \(items.count + 1)"
        ) { row throws(SQLiteError) in
            Item(
                try row.text(0), try row.text(1), on: try row.text(2),
                try row.optionalText(3) ?? "")
        }
        for item in found where missing.remove(item) == nil {
            return "\(quoted(item.type)) \(quoted(item.name)) is not a catalog's"
        }
        let lack = items.first { missing.contains($0) }
        return lack.map { "it has no \($0.type) \(quoted($0.name))" }
    }

    /// Text from the file, for a message.
    private static func quoted(_ text: String) -> String {
        String(reflecting: String(text.unicodeScalars.prefix(40)))
    }
}
