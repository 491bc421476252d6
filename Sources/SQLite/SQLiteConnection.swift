import CSQLite

/// A connection to a database file, through Debian's SQLite. The file is untrusted: time and memory are limited, code in the file
/// runs with minimal rights, and no extension is loaded.
///
/// The caller checks that the path is a regular file, and that the schema is the expected one before using a table, because
/// views and triggers are code.
///
/// One thread at a time may use it. `@unchecked Sendable`: callers that share it use a lock, as SQLite requires without its own
/// mutexes (`SQLITE_OPEN_NOMUTEX`, "Using SQLite In Multi-Threaded Applications").
package final class SQLiteConnection: @unchecked Sendable {
    /// Access mode of a connection.
    package enum Purpose: Hashable, Sendable {
        /// The database is only read. SQLite may create and write its files `-wal` and `-shm`.
        case reading
        /// Only the database file is accessed, without locks. For files that cannot change.
        case readingImmutable
        case writing
        /// A private database in memory.
        case memory

        fileprivate var isForWriting: Bool {
            switch self {
            case .reading, .readingImmutable: false
            case .writing, .memory: true
            }
        }
    }

    /// Maximum number of cached prepared statements. Callers use a fixed set of statements.
    private static let maximumPrepared = 64
    /// Size to which the write-ahead log is truncated after a checkpoint.
    private static let logBytes = 16 << 20

    private let handle: OpaquePointer
    private let limits: SQLiteLimits
    private let budget: StatementBudget
    private var prepared: [String: SQLiteStatement] = [:]

    /// Opens a database. Nothing is read from it yet, except by the settings.
    /// - Parameter path: absolute, without symbolic links: SQLite refuses to follow any.
    package init(
        _ path: String, for purpose: Purpose, limits: SQLiteLimits = SQLiteLimits()
    ) throws(SQLiteError) {
        precondition(path.hasPrefix("/") || purpose == .memory, "a path that depends on others")
        let access =
            switch purpose {
            case .reading, .readingImmutable: SQLITE_OPEN_READONLY
            case .writing: SQLITE_OPEN_READWRITE
            case .memory: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        let name =
            switch purpose {
            case .reading, .writing: path
            case .readingImmutable: "file:\(Self.escaped(path))?immutable=1"
            case .memory: ":memory:"
            }
        let flags =
            access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW
            | SQLITE_OPEN_EXRESCODE | (purpose == .readingImmutable ? SQLITE_OPEN_URI : 0)
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(name, &opened, flags, nil)
        guard let opened else { throw .refused(code: code, message: "out of memory") }
        handle = opened
        self.limits = limits
        budget = StatementBudget(limits) { sqlite3_memory_used() }
        guard code == SQLITE_OK else { throw failure() }
        try harden()
        try set(purpose)
    }

    deinit {
        // Statements first: SQLite refuses to close a connection that has any.
        prepared = [:]
        sqlite3_close_v2(handle)
    }

    /// A path, percent-encoded for a URI (`sqlite.org/uri.html`).
    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            let isPlain =
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
                || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "/-._".utf8.contains(byte)
            if isPlain { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }.joined()
    }

    // MARK: Settings

    /// Settings before the file is first read ("Defense Against The Dark Arts", `sqlite.org/security.html`).
    private func harden() throws(SQLiteError) {
        let options: [(option: Int32, isOn: Int32)] = [
            (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0), (SQLITE_DBCONFIG_ENABLE_VIEW, 0),
            (SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0), (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0),
            (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
        ]
        for (option, isOn) in options {
            guard CSQLite_configure(handle, option, isOn) == SQLITE_OK else { throw failure() }
        }
        let maxima: [(limit: Int32, value: Int)] = [
            (SQLITE_LIMIT_LENGTH, limits.rowBytes), (SQLITE_LIMIT_SQL_LENGTH, 16 << 10),
            (SQLITE_LIMIT_COLUMN, 32), (SQLITE_LIMIT_EXPR_DEPTH, 32),
            (SQLITE_LIMIT_COMPOUND_SELECT, 4), (SQLITE_LIMIT_VDBE_OP, 25_000),
            (SQLITE_LIMIT_FUNCTION_ARG, 8), (SQLITE_LIMIT_ATTACHED, 0),
            (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64), (SQLITE_LIMIT_VARIABLE_NUMBER, 32),
            (SQLITE_LIMIT_TRIGGER_DEPTH, 4), (SQLITE_LIMIT_WORKER_THREADS, 0),
        ]
        for (limit, value) in maxima { sqlite3_limit(handle, limit, Int32(clamping: value)) }
        let milliseconds = Int64(limits.lock / .milliseconds(1))
        sqlite3_busy_timeout(handle, Int32(clamping: milliseconds))
        sqlite3_progress_handler(
            handle, StatementBudget.instructions,
            { budget in
                guard let budget else { return 0 }
                return Unmanaged<StatementBudget>.fromOpaque(budget).takeUnretainedValue()
                    .mayContinue()
                    ? 0 : 1
            }, Unmanaged.passUnretained(budget).toOpaque())
    }

    private func set(_ purpose: Purpose) throws(SQLiteError) {
        var settings = ["cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY"]
        if purpose.isForWriting {
            // A power cut may lose the newest transactions, and never damages the database.
            settings += ["synchronous = NORMAL", "journal_size_limit = \(Self.logBytes)"]
        } else {
            settings.append("query_only = ON")
        }
        for setting in settings {
            // Some of them answer with a row.
            _ = try rows("PRAGMA \(setting)") { _ throws(SQLiteError) in }
        }
    }

    // MARK: Statements

    /// Runs one statement, and discards rows.
    package func run(
        _ statement: String, _ values: [SQLiteValue] = []
    ) throws(SQLiteError) {
        _ = try rows(statement, values) { _ throws(SQLiteError) in }
    }

    /// Runs one statement.
    /// - Parameters:
    ///   - values: for `?1` and so on.
    ///   - read: converts a row.
    package func rows<Value>(
        _ statement: String, _ values: [SQLiteValue] = [],
        _ read: (borrowing SQLiteRow) throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> [Value] {
        budget.begin()
        let statement = try prepare(statement)
        defer { statement.reset() }
        for (index, value) in values.enumerated() {
            guard statement.bind(value, to: index + 1) else { throw failure() }
        }
        var answer: [Value] = []
        var bytes = 0
        while true {
            switch sqlite3_step(statement.handle) {
            case SQLITE_ROW:
                let row = SQLiteRow(statement.handle)
                bytes += row.sizeBytes
                guard bytes <= limits.answerBytes else {
                    throw .tooLarge(limitBytes: limits.answerBytes)
                }
                answer.append(try read(row))
            case SQLITE_DONE: return answer
            default: throw failure()
            }
        }
    }

    /// Runs statements in one transaction, which also reads one snapshot of the database.
    /// - Throws: errors of `body`, after a rollback.
    package func transaction<Result>(
        _ begin: String, _ body: (SQLiteConnection) throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try run(begin)
        do throws(SQLiteError) {
            let result = try body(self)
            try run("COMMIT")
            return result
        } catch {
            // Some errors have undone it already.
            if sqlite3_get_autocommit(handle) == 0 {
                do throws(SQLiteError) {
                    try run("ROLLBACK")
                } catch {
                    // The connection is not used again: its end undoes the transaction.
                }
            }
            throw error
        }
    }

    /// Whether it can be used again: no transaction is open.
    package var isIdle: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// Whether it cannot write: it was opened so, the file is not writable, or the file's header forbids it ("File format version
    /// numbers", `sqlite.org/fileformat.html` §1.3.3). Known after the file was first read.
    package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") != 0 }

    private func prepare(_ text: String) throws(SQLiteError) -> SQLiteStatement {
        if let statement = prepared[text] { return statement }
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard code == SQLITE_OK else { throw failure() }
        guard let compiled else { throw .unexpected(reason: "an empty statement") }
        if prepared.count >= Self.maximumPrepared { prepared = [:] }
        let statement = SQLiteStatement(compiled)
        prepared[text] = statement
        return statement
    }

    /// The error of the last call.
    private func failure() -> SQLiteError {
        budget.failure
            ?? .refused(
                code: sqlite3_extended_errcode(handle),
                message: SQLiteError.oneLine(String(cString: sqlite3_errmsg(handle))))
    }
}

/// A prepared statement.
private final class SQLiteStatement {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { sqlite3_finalize(handle) }

    /// - Parameter parameter: the first is 1.
    func bind(_ value: SQLiteValue, to parameter: Int) -> Bool {
        let parameter = Int32(clamping: parameter)
        let code =
            switch value {
            case .null: sqlite3_bind_null(handle, parameter)
            case .integer(let integer): sqlite3_bind_int64(handle, parameter, integer)
            // A null pointer would be NULL.
            case .text(""): CSQLite_bind_text(handle, parameter, "", 0)
            case .text(var text):
                text.withUTF8 { bytes in
                    bytes.withMemoryRebound(to: CChar.self) {
                        CSQLite_bind_text(
                            handle, parameter, $0.baseAddress, Int32(clamping: $0.count))
                    }
                }
            }
        return code == SQLITE_OK
    }

    /// Makes it ready to run again, without values: they would otherwise be kept, and a statement without a value has NULL.
    func reset() {
        // The return value repeats the error of the last step, which was already handled.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }
}
