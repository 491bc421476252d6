import Foundation
import Synchronization
import Testing

@testable import SQLite

/// A connection and the limits on a query's cost.
@Suite struct SQLiteConnectionTests {
    /// A temporary directory.
    private final class Folder {
        let path = "/tmp/tributary-sqlite-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        }

        deinit {
            do {
                try FileManager.default.removeItem(atPath: path)
            } catch {
                print("\(path) stays: \(error)")
            }
        }

        /// A database with some content; no connection to it is open.
        func database(_ statements: String..., named name: String = "a.db") throws -> String {
            let file = "\(path)/\(name)"
            try Data().write(to: URL(filePath: file))
            let connection = try SQLiteConnection(file, for: .writing)
            for statement in statements { try connection.run(statement) }
            return file
        }
    }

    /// Many rows from no table: a query that runs practically forever.
    private static let endless = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n
        """

    private func memory(_ limits: SQLiteLimits = SQLiteLimits()) throws -> SQLiteConnection {
        try SQLiteConnection("", for: .memory, limits: limits)
    }

    private func texts(
        _ connection: SQLiteConnection, _ statement: String
    ) throws(SQLiteError) -> [String] {
        try connection.rows(statement) { row throws(SQLiteError) in try row.value(0).description }
    }

    @Test func `bound values are read back unchanged, also empty texts and NULs`() throws {
        let connection = try memory()
        try connection.run("CREATE TABLE t (a TEXT, b INTEGER) STRICT")
        let values: [SQLiteValue] = [
            .text(""), .text("a\u{0}b"), .text("\u{1F600}\n"), .null,
        ]
        for value in values {
            try connection.run("INSERT INTO t VALUES (?1, ?2)", [value, .integer(.min)])
        }
        let read = try connection.rows("SELECT a, b FROM t ORDER BY rowid") {
            row throws(SQLiteError) in [try row.value(0), try row.value(1)]
        }
        #expect(read == values.map { [$0, .integer(.min)] })
        // An omitted value is NULL, even if the statement had one before.
        try connection.run("INSERT INTO t VALUES (?1, ?2)", [.text("last")])
        #expect(try texts(connection, "SELECT b FROM t WHERE a = 'last'") == ["NULL"])
        #expect(throws: SQLiteError.self) {
            try connection.run("SELECT ?1", [.null, .integer(2)])
        }
    }

    @Test func `reading a value as another type is an error`() throws {
        let connection = try memory()
        func read<Value>(
            _ value: String, _ body: (borrowing SQLiteRow) throws(SQLiteError) -> Value
        ) throws(SQLiteError) { _ = try connection.rows("SELECT \(value)", [], body) }
        for (value, isText) in [("1", false), ("'a'", true)] {
            #expect(throws: SQLiteError.self) {
                try read(value) { row throws(SQLiteError) in
                    if isText { _ = try row.integer(0) } else { _ = try row.text(0) }
                }
            }
        }
        for value in ["NULL", "-1", "2", "x'00'", "1.5", "CAST(x'ff' AS TEXT)"] {
            #expect(throws: SQLiteError.self, "\(value)") {
                try read(value) { row throws(SQLiteError) in
                    value == "-1" ? try row.count(0) == 0 : try row.boolean(0)
                }
            }
        }
        #expect(throws: SQLiteError.self) {
            try read("CAST(x'ff' AS TEXT)") { row throws(SQLiteError) in try row.text(0) }
        }
        #expect(throws: SQLiteError.self) {
            try read("1") { row throws(SQLiteError) in try row.value(1) }
        }
    }

    @Test func `a transaction is atomic`() throws {
        let connection = try memory()
        try connection.run("CREATE TABLE t (a INTEGER PRIMARY KEY) STRICT")
        let error = #expect(throws: SQLiteError.self) {
            try connection.transaction("BEGIN IMMEDIATE") { connection throws(SQLiteError) in
                try connection.run("INSERT INTO t VALUES (1)")
                try connection.run("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error?.refusal == .content && connection.isIdle)
        #expect(try texts(connection, "SELECT COUNT(*) FROM t") == ["0"])
        try connection.transaction("BEGIN") { connection throws(SQLiteError) in
            try connection.run("INSERT INTO t VALUES (1)")
        }
        #expect(try texts(connection, "SELECT COUNT(*) FROM t") == ["1"])
    }

    @Test func `a statement ends at its time limit, and the next has its own`() throws {
        let clock = Mutex(ContinuousClock.now)
        let connection = try memory(
            SQLiteLimits(
                statement: .seconds(8),
                now: {
                    clock.withLock {
                        $0 += .seconds(1)
                        return $0
                    }
                }))
        for _ in 0..<2 {
            let error = #expect(throws: SQLiteError.self) {
                try connection.run(Self.endless)
            }
            #expect(error == .timedOut(.seconds(8)))
        }
        #expect(try texts(connection, "SELECT 1") == ["1"])
    }

    @Test func `memory for intermediate results has a limit`() throws {
        let connection = try memory(SQLiteLimits(temporaryBytes: 1 << 20))
        let error = #expect(throws: SQLiteError.self) {
            try connection.run(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000)
                    SELECT i FROM n ORDER BY -i LIMIT 1 OFFSET 500000
                """)
        }
        #expect(error == .tooMuchTemporary(limitBytes: 1 << 20))
    }

    @Test func `an answer and each row of it have a limit`() throws {
        let connection = try memory(SQLiteLimits(answerBytes: 1 << 16, rowBytes: 1 << 12))
        let answer = #expect(throws: SQLiteError.self) {
            try connection.run(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT i FROM n
                """)
        }
        #expect(answer == .tooLarge(limitBytes: 1 << 16))
        let row = #expect(throws: SQLiteError.self) {
            try connection.run("SELECT HEX(ZEROBLOB(4000))")
        }
        #expect(row?.refusal == .content)
    }

    @Test func `a reading connection cannot write, attach or load`() throws {
        let folder = try Folder()
        let path = try folder.database("PRAGMA journal_mode = WAL", "CREATE TABLE t (a)")
        let connection = try SQLiteConnection(path, for: .reading)
        for statement in [
            "INSERT INTO t VALUES (1)", "ATTACH 'b.db' AS b", "SELECT load_extension('x')",
            "CREATE TABLE u (a)", "PRAGMA user_version = 7",
        ] {
            #expect(throws: SQLiteError.self, "\(statement)") { try connection.run(statement) }
        }
        #expect(try texts(connection, "PRAGMA user_version") == ["0"])
        for (setting, value) in [
            ("query_only", "1"), ("trusted_schema", "0"), ("cell_size_check", "1"),
            ("temp_store", "2"),
        ] {
            #expect(try texts(connection, "PRAGMA \(setting)") == [value], "\(setting)")
        }
    }

    @Test func `views of a file are not run`() throws {
        let folder = try Folder()
        let path = try folder.database("CREATE VIEW v AS \(Self.endless)")
        let connection = try SQLiteConnection(path, for: .reading)
        let error = #expect(throws: SQLiteError.self) { try connection.run("SELECT * FROM v") }
        #expect(error?.refusal == .content)
    }

    @Test func `links are not followed, and opening for reading creates no file`() throws {
        let folder = try Folder()
        let path = try folder.database("CREATE TABLE t (a)")
        let link = "\(folder.path)/link.db"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        for purpose in [SQLiteConnection.Purpose.reading, .writing] {
            #expect(throws: SQLiteError.self) { try SQLiteConnection(link, for: purpose) }
            let missing = "\(folder.path)/missing.db"
            let error = #expect(throws: SQLiteError.self) {
                try SQLiteConnection(missing, for: purpose)
            }
            #expect(error?.refusal == .cannotOpen)
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }

    @Test func `an immutable database is read without its log, at any path`() throws {
        let folder = try Folder()
        let path = try folder.database(
            "CREATE TABLE t (a)", "INSERT INTO t VALUES (7)", named: "a ?#%&é=1.db")
        // Its log is ignored.
        _ = FileManager.default.createFile(atPath: "\(path)-wal", contents: Data("no log".utf8))
        let connection = try SQLiteConnection(path, for: .readingImmutable)
        #expect(try texts(connection, "SELECT a FROM t") == ["7"])
        #expect(!FileManager.default.fileExists(atPath: "\(path)-shm"))
    }

    @Test func `a lock of another connection is distinguished from damage`() throws {
        let folder = try Folder()
        let path = try folder.database("PRAGMA journal_mode = WAL", "CREATE TABLE t (a)")
        let first = try SQLiteConnection(path, for: .writing)
        try first.run("BEGIN IMMEDIATE")
        let second = try SQLiteConnection(
            path, for: .writing, limits: SQLiteLimits(lock: .milliseconds(1)))
        let locked = #expect(throws: SQLiteError.self) { try second.run("BEGIN IMMEDIATE") }
        #expect(locked?.refusal == .locked)
        try first.run("COMMIT")
        try second.run("BEGIN IMMEDIATE")
        try Data("this is no database at all, but long enough".utf8).write(
            to: URL(filePath: "\(folder.path)/noise.db"))
        let noise = #expect(throws: SQLiteError.self) {
            try SQLiteConnection("\(folder.path)/noise.db", for: .reading).run(
                "SELECT * FROM sqlite_schema")
        }
        #expect(noise?.refusal == .content)
        #expect(noise.map { !"\($0)".contains("\n") } ?? false)
    }
}
