/// Limits on the cost of queries of an untrusted database.
package struct SQLiteLimits: Sendable {
    /// From a statement's first step to its last. Waiting for locks and reading the write-ahead log for the first time are
    /// not included.
    package var statement: Duration
    /// Memory for sorting and intermediate results. They are never written to a file.
    package var temporaryBytes: Int
    /// Maximum size of one answer: text and numbers, plus an overhead for each row.
    package var answerBytes: Int
    /// One row, and one value.
    package var rowBytes: Int
    /// Timeout for another connection's lock.
    package var lock: Duration
    /// The clock for ``statement``.
    package var now: @Sendable () -> ContinuousClock.Instant

    package init(
        statement: Duration = .seconds(10), temporaryBytes: Int = 256 << 20,
        answerBytes: Int = 256 << 20, rowBytes: Int = 16 << 20, lock: Duration = .seconds(5),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.statement = statement
        self.temporaryBytes = temporaryBytes
        self.answerBytes = answerBytes
        self.rowBytes = rowBytes
        self.lock = lock
        self.now = now
    }
}

/// The remaining budget of a connection's running statement, checked periodically by SQLite (`sqlite3_progress_handler()`).
///
/// Used on the connection's thread only.
final class StatementBudget {
    /// Instructions of SQLite's virtual machine between two checks: about 50 µs.
    static let instructions: Int32 = 1_000

    private let limits: SQLiteLimits
    private let usedBytes: () -> Int64
    private var end: ContinuousClock.Instant?
    private var firstBytes: Int64 = 0
    /// Why the statement was interrupted.
    private(set) var failure: SQLiteError?

    /// - Parameter usedBytes: the memory that SQLite uses.
    init(_ limits: SQLiteLimits, usedBytes: @escaping () -> Int64) {
        self.limits = limits
        self.usedBytes = usedBytes
    }

    /// A statement begins.
    func begin() {
        failure = nil
        end = limits.now() + limits.statement
        firstBytes = usedBytes()
    }

    /// Whether the statement may continue.
    func mayContinue() -> Bool {
        if let end, limits.now() > end {
            failure = .timedOut(limits.statement)
        } else if usedBytes() - firstBytes > Int64(limits.temporaryBytes) {
            failure = .tooMuchTemporary(limitBytes: limits.temporaryBytes)
        }
        return failure == nil
    }
}
