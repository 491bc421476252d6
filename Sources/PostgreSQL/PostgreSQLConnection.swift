import CPostgreSQL
import Glibc

/// A connection to a server, through libpq.
///
/// Every call has a timeout: connecting by the address's timeout for each server, a statement by ``Limits/answer``. Names are
/// resolved by the system's resolver, which has its own timeout. One thread at a time may use it.
///
/// `@unchecked Sendable`: it is passed to one thread at a time (`PostgreSQLPool`), under a lock, as libpq requires
/// (PostgreSQL 15, §34.20).
package final class PostgreSQLConnection: @unchecked Sendable {
    /// Limits of time and memory.
    package struct Limits: Sendable {
        /// Timeout of one statement.
        package var answer: Duration
        /// Text of one result. Its values, and the caller's copy, each take up to twice as much in addition.
        package var answerBytes: Int
        /// Bytes of one row, which libpq keeps until it is complete. Determined for TCP connections only.
        package var rowBytes: Int
        /// Called while waiting for an answer: whether to stop waiting.
        package var isEnding: @Sendable () -> Bool

        package init(
            answer: Duration = .seconds(30), answerBytes: Int = 64 << 20, rowBytes: Int = 64 << 20,
            isEnding: @escaping @Sendable () -> Bool = { false }
        ) {
            self.answer = answer
            self.answerBytes = answerBytes
            self.rowBytes = rowBytes
            self.isEnding = isEnding
        }
    }

    /// The server to connect to, if there are several.
    package enum Role: Hashable, Sendable {
        /// The one that accepts writes; the address may override that (`target_session_attrs`).
        case writing
        case reading
    }

    private let handle: OpaquePointer
    private let limits: Limits
    /// Maximum single wait, after which a stop is noticed.
    private static let patience = Duration.milliseconds(200)

    /// Bytes received when the last row was complete; nil: the system does not report them.
    private var receivedBytes: UInt64?
    /// A result was abandoned, and its remaining data is still in the connection.
    private var isGivenUp = false

    /// Connects to the first server of the address that answers and has the role.
    /// - Parameters:
    ///   - program: shown in `pg_stat_activity`.
    ///   - setup: statements that are run on the new connection.
    package init(
        _ address: PostgreSQLAddress, for role: Role, program: String, setup: String,
        limits: Limits = Limits()
    ) throws(PostgreSQLError) {
        // The order matters: the address overrides earlier settings, and not later ones.
        let settings: [(String, String)] = [
            ("target_session_attrs", role == .writing ? "read-write" : "any"),
            ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "10000"), ("application_name", program),
            ("dbname", address.text),
            ("connect_timeout", "\(max(2, address.connectSeconds))"), ("client_encoding", "UTF8"),
        ]
        let opened = CStrings(settings.map(\.0)).withPointers { keywords in
            CStrings(settings.map(\.1)).withPointers { values in
                PQconnectdbParams(keywords, values, 1)
            }
        }
        guard let opened else { throw .cannotConnect(reason: "out of memory") }
        handle = opened
        self.limits = limits
        // By default, libpq prints notices to standard error.
        PQsetNoticeProcessor(opened, { _, _ in }, nil)
        guard PQstatus(opened) == CONNECTION_OK else {
            throw .cannotConnect(reason: Self.message(opened))
        }
        guard PQsetnonblocking(opened, 1) == 0 else {
            throw .cannotConnect(reason: Self.message(opened))
        }
        try execute(setup)
    }

    deinit { PQfinish(handle) }

    /// Whether it can be reused: it is connected, and no transaction is open.
    package var isIdle: Bool {
        !isGivenUp && PQstatus(handle) == CONNECTION_OK
            && PQtransactionStatus(handle) == PQTRANS_IDLE
    }

    /// Runs statements without parameters, separated by semicolons, and discards rows.
    package func execute(_ statements: String) throws(PostgreSQLError) {
        guard PQsendQuery(handle, statements) == 1 else { throw failure() }
        _ = try collect()
    }

    /// Runs one statement.
    /// - Parameter parameters: `$1` and so on, text format; the statement has their types (`$1::bigint`). A zero byte
    ///   becomes U+FFFD.
    @discardableResult
    package func run(
        _ statement: String, _ parameters: [String?] = []
    ) throws(PostgreSQLError) -> PostgreSQLAnswer {
        let sent = CStrings(parameters).withPointers { values in
            PQsendQueryParams(
                handle, statement, Int32(parameters.count), nil, values, nil, nil, 0)
        }
        guard sent == 1 else { throw failure() }
        return try collect()
    }

    /// Runs statements in one transaction.
    /// - Throws: errors of `body`, after a rollback.
    package func transaction<Result>(
        _ begin: String = "BEGIN",
        _ body: (PostgreSQLConnection) throws(PostgreSQLError) -> Result
    ) throws(PostgreSQLError) -> Result {
        try execute(begin)
        let result: Result
        do throws(PostgreSQLError) {
            result = try body(self)
        } catch {
            if !isGivenUp, PQstatus(handle) == CONNECTION_OK {
                do throws(PostgreSQLError) {
                    try execute("ROLLBACK")
                } catch {
                    // The connection's end undoes it.
                    isGivenUp = true
                }
            }
            throw error
        }
        try execute("COMMIT")
        return result
    }

    // MARK: Answers

    /// Reads answers up to the last one.
    private func collect() throws(PostgreSQLError) -> PostgreSQLAnswer {
        let deadline = ContinuousClock.now + limits.answer
        // Row by row: a server cannot make the whole of an endless answer be kept.
        PQsetSingleRowMode(handle)
        try flush(until: deadline)
        var answer = PostgreSQLAnswer(rows: [], affected: 0)
        var bytes = 0
        var refusal: PostgreSQLError?
        while let result = try next(until: deadline) {
            switch result.status {
            case PGRES_SINGLE_TUPLE:
                let row = try take { () throws(PostgreSQLError) in try result.row() }
                bytes += row.sizeBytes
                guard bytes <= limits.answerBytes else {
                    isGivenUp = true
                    throw .tooLarge(limitBytes: limits.answerBytes)
                }
                answer.rows.append(row.row)
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                answer.affected = result.affected
            case PGRES_EMPTY_QUERY: break
            case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE:
                refusal = refusal ?? result.refusal
            default:
                // COPY and pipelines are not used here.
                isGivenUp = true
                throw .unexpected(reason: "an answer of another kind")
            }
        }
        if let refusal {
            // The server may give a reason for closing the connection.
            guard PQstatus(handle) == CONNECTION_OK else {
                throw .lost(reason: refusal.reasonText)
            }
            throw refusal
        }
        return answer
    }

    private func take<Value>(
        _ body: () throws(PostgreSQLError) -> Value
    ) throws(PostgreSQLError) -> Value {
        do throws(PostgreSQLError) {
            return try body()
        } catch {
            isGivenUp = true
            throw error
        }
    }

    /// The next answer; nil at the end.
    private func next(
        until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) -> PostgreSQLResult? {
        if PQisBusy(handle) == 1 { receivedBytes = bytesFromServer }
        while PQisBusy(handle) == 1 {
            try wait(for: Int16(POLLIN), until: deadline)
            guard PQconsumeInput(handle) == 1 else { throw failure() }
            if let before = receivedBytes, let now = bytesFromServer,
                now &- before > UInt64(limits.rowBytes)
            {
                isGivenUp = true
                throw .tooLarge(limitBytes: limits.rowBytes)
            }
        }
        return PQgetResult(handle).map(PostgreSQLResult.init)
    }

    /// Bytes received by TCP since the connection was opened, read or not.
    private var bytesFromServer: UInt64? {
        var count: UInt64 = 0
        return CPostgreSQL_received_bytes(PQsocket(handle), &count) == 0 ? count : nil
    }

    private func flush(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1:
                // A server that waits for us to read before it reads on must not stop both.
                try wait(for: Int16(POLLIN | POLLOUT), until: deadline)
                guard PQconsumeInput(handle) == 1 else { throw failure() }
            default: throw failure()
            }
        }
    }

    private func wait(
        for events: Int16, until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) {
        var poller = pollfd(fd: PQsocket(handle), events: events, revents: 0)
        guard poller.fd >= 0 else { throw failure() }
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else {
                isGivenUp = true
                throw .timedOut(limits.answer)
            }
            if limits.isEnding() {
                isGivenUp = true
                throw .lost(reason: "the program ends")
            }
            let milliseconds = Int32(
                clamping: Int64(min(left, Self.patience) / .milliseconds(1)) + 1)
            let count = poll(&poller, 1, milliseconds)
            if count > 0 { return }
            if count < 0, errno != EINTR {
                isGivenUp = true
                throw .lost(reason: "poll: \(String(cString: strerror(errno)))")
            }
        }
    }

    private func failure() -> PostgreSQLError {
        isGivenUp = true
        return .lost(reason: Self.message(handle))
    }

    private static func message(_ handle: OpaquePointer) -> String {
        PostgreSQLError.oneLine(String(cString: PQerrorMessage(handle)))
    }
}

extension PostgreSQLError {
    /// The reason alone.
    fileprivate var reasonText: String {
        switch self {
        case .cannotConnect(let reason), .lost(let reason), .refused(_, let reason),
            .unexpected(let reason):
            reason
        case .timedOut, .tooLarge: description
        }
    }
}

/// libpq's result of a statement.
private final class PostgreSQLResult {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    var status: ExecStatusType { PQresultStatus(handle) }

    /// How many rows the statement changed or returned.
    var affected: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    /// The one row of an answer in single-row mode, and the size of its texts.
    func row() throws(PostgreSQLError) -> (row: PostgreSQLRow, sizeBytes: Int) {
        guard PQntuples(handle) == 1 else { throw .unexpected(reason: "not one row") }
        var values: [String?] = []
        var size = 0
        for column in 0..<PQnfields(handle) {
            // Fixed cost of a value, so that rows of empty texts are bounded, too.
            size += 32
            guard PQgetisnull(handle, 0, column) == 0 else {
                values.append(nil)
                continue
            }
            let length = Int(PQgetlength(handle, 0, column))
            guard PQfformat(handle, column) == 0, length >= 0,
                let start = PQgetvalue(handle, 0, column)
            else { throw .unexpected(reason: "no text in column \(column)") }
            let bytes = UnsafeRawBufferPointer(start: start, count: length)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw .unexpected(reason: "no UTF-8 in column \(column)")
            }
            size += length
            values.append(text)
        }
        return (PostgreSQLRow(values), size)
    }

    var refusal: PostgreSQLError {
        let state = PQresultErrorField(handle, CPostgreSQL_sqlstate_field).map {
            String(cString: $0)
        }
        // The first line is the message; further lines may contain the statement with its values.
        let text = String(cString: PQresultErrorMessage(handle))
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        guard let state else { return .lost(reason: PostgreSQLError.oneLine(text)) }
        return .refused(
            state: PostgreSQLError.oneLine(state), reason: PostgreSQLError.oneLine(line))
    }
}
