package import Archive
import Dispatch
package import PostgreSQL
import Synchronization
import Threads

/// A database with the catalogs of one or more archives, and a small pool of connections. Thread-safe; calls block,
/// each for a bounded time.
///
/// A broken connection is replaced at the next use. A server that does not accept connections, or does not answer, is
/// retried after a pause that grows from ``firstPause`` to `longestPause`, by one of the callers; until then, all
/// others get its last error immediately.
package final class PostgreSQLDatabase: CatalogServer {
    /// Maximum connections. The collector needs one; readers of a viewer take turns.
    private static let maximumConnections = 4
    /// Maximum wait for a free connection.
    private static let turnSeconds = 10.0
    private static let firstPause = Duration.milliseconds(500)
    /// Minimum interval between log lines about the same server.
    private static let complaintPause = Duration.seconds(60)

    /// Limits on the server: a statement that was given up here must not continue there.
    private static let setup = """
        SET search_path = pg_catalog; SET statement_timeout = '25s'; SET lock_timeout = '10s'; \
        SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = warning; SET jit = off
        """

    private struct State {
        var idle: [PostgreSQLConnection] = []
        /// Why the server could not be reached, and when to retry.
        var failure: (error: ArchiveError, pause: Duration, until: ContinuousClock.Instant)?
        var complained: ContinuousClock.Instant?
    }

    package let address: PostgreSQLAddress
    /// Hosts and database, for messages.
    package var name: String { address.description }
    package var register: any SiteRegister { PostgreSQLSiteRegister(self) }
    package var leases: any LeaseRegister { PostgreSQLLeaseRegister(self) }
    /// Recent answers, for readers; nil: every query is executed.
    let memory: CatalogMemory?
    private let role: PostgreSQLConnection.Role
    private let program: String
    private let limits: PostgreSQLConnection.Limits
    private let longestPause: Duration
    private let state = Mutex(State())
    private let isEnding = Atomic(false)
    private let turns = Semaphore(value: maximumConnections)

    /// Connects when it is first used.
    /// - Parameters:
    ///   - role: readers accept a standby.
    ///   - program: its name, for the server's list of connections.
    package init(
        _ address: PostgreSQLAddress, for role: PostgreSQLConnection.Role, program: String,
        limits: PostgreSQLConnection.Limits = .init(), longestPause: Duration = .seconds(10)
    ) {
        self.address = address
        self.role = role
        memory = role == .reading ? CatalogMemory() : nil
        self.program = program
        self.limits = limits
        self.longestPause = longestPause
    }

    package func forgetAnswers() { memory?.forget() }

    /// The program ends: stops all waits, except for a connection attempt, which has the timeout in the address.
    package func end() { isEnding.store(true, ordering: .releasing) }

    /// Whether to log again that the server cannot be used.
    package func isComplaintDue() -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            if let complained = state.complained, now - complained < Self.complaintPause {
                return false
            }
            state.complained = now
            return true
        }
    }

    /// Creates or migrates the tables, if necessary.
    package func prepare() throws(ArchiveError) {
        _ = try use { connection throws(PostgreSQLError) in try connection.run("SELECT 1") }
    }

    /// Lends a connection. The work may be executed twice, because an idle connection may turn out to be closed.
    func use<Result>(
        _ work: (PostgreSQLConnection) throws(PostgreSQLError) -> Result
    ) throws(ArchiveError) -> Result {
        try checkReachable()
        guard turns.wait(timeout: .now() + Self.turnSeconds) == .success else {
            throw .unavailable(
                place: name, reason: "no connection became free within \(Int(Self.turnSeconds)) s")
        }
        defer { turns.signal() }
        // The server may have failed for another caller during the wait.
        try checkReachable()
        while let connection = state.withLock({ $0.idle.popLast() }) {
            do throws(PostgreSQLError) {
                return try perform(work, on: connection)
            } catch {
                guard case .lost = error, !isEnding.load(ordering: .acquiring) else {
                    throw noted(error)
                }
                // The others are probably closed, too.
            }
        }
        let connection = try connect()
        do throws(PostgreSQLError) {
            return try perform(work, on: connection)
        } catch {
            throw noted(error)
        }
    }

    /// - Throws: the server's last error, until it may be retried. The caller that is let through then retries for all.
    private func checkReachable() throws(ArchiveError) {
        if isEnding.load(ordering: .acquiring) {
            throw .unavailable(place: name, reason: "the program ends")
        }
        let now = ContinuousClock.now
        let error = state.withLock { state -> ArchiveError? in
            guard let failure = state.failure, now < failure.until else { return nil }
            return failure.error
        }
        if let error { throw error }
    }

    /// Converts an error of a statement; a server that did not answer is not retried for a while.
    private func noted(_ error: PostgreSQLError) -> ArchiveError {
        let converted = converted(error)
        if case .timedOut = error { failed(converted) }
        return converted
    }

    private func failed(_ error: ArchiveError) {
        let longest = longestPause
        state.withLock { state in
            // Other connections would wait as long.
            state.idle = []
            let pause = min(state.failure.map { $0.pause * 2 } ?? Self.firstPause, longest)
            // Randomised, so that programs which lost the same server do not reconnect together.
            let spread = pause * Double.random(in: 0.8...1.2)
            state.failure = (error, pause, .now + spread)
        }
    }

    private func perform<Result>(
        _ work: (PostgreSQLConnection) throws(PostgreSQLError) -> Result,
        on connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> Result {
        defer {
            if connection.isIdle { state.withLock { $0.idle.append(connection) } }
        }
        return try work(connection)
    }

    // MARK: Connecting

    private func connect() throws(ArchiveError) -> PostgreSQLConnection {
        let longest = longestPause
        // During the attempt, other callers get the previous error.
        state.withLock { state in state.failure?.until = .now + longest }
        do throws(ArchiveError) {
            let connection = try open()
            state.withLock { $0.failure = nil }
            return connection
        } catch {
            failed(error)
            throw error
        }
    }

    private func open() throws(ArchiveError) -> PostgreSQLConnection {
        let connection: PostgreSQLConnection
        let found: PostgreSQLSchema.Found
        var limits = limits
        limits.isEnding = { [self] in isEnding.load(ordering: .acquiring) }
        do throws(PostgreSQLError) {
            connection = try PostgreSQLConnection(
                address, for: role, program: program,
                setup: role == .reading
                    ? "\(Self.setup); SET default_transaction_read_only = on" : Self.setup,
                limits: limits)
            found = try PostgreSQLSchema.found(in: connection)
        } catch {
            throw converted(error)
        }
        let known = PostgreSQLSchema.version
        if found.suits(known) { return connection }
        guard found.version < known else {
            throw .unavailable(
                place: name,
                reason:
                    "its tables are of version \(found.version), newer than this program's (\(known)): "
                    + "upgrade this program")
        }
        let lack =
            found.version == 0
            ? "it has no tables yet" : "its tables are of version \(found.version), not \(known)"
        let advice = "run 'tributary index --prepare --catalog …' as the role that owns them"
        guard role == .writing else {
            throw .unavailable(place: name, reason: "\(lack): \(advice)")
        }
        do throws(PostgreSQLError) {
            try PostgreSQLSchema.migrate(connection)
        } catch {
            guard error.isForPermission else { throw converted(error) }
            throw .unavailable(
                place: name, reason: "\(lack), and this role may not make them: \(advice)")
        }
        return connection
    }

    private func converted(_ error: PostgreSQLError) -> ArchiveError {
        error.isForContent
            ? .malformed(path: name, reason: "the catalog cannot be used: \(error)")
            : .unavailable(place: name, reason: "\(error)")
    }
}
