import Archive
import Catalog
import Dispatch
import Logging
import Media
import Operations
import Synchronization
import Threads

/// Takes and renews a lease, on a thread of its own, which may wait for the database.
///
/// ``isHeld`` uses local state only: a database that does not answer stops the work within a term.
final class LeaseKeeper: Sendable {
    /// Maximum wait for giving the lease back at the end.
    private static let graceSeconds = 3.0

    private struct State {
        var lease = Lease()
        var isStopping = false
        /// The other holder that was logged last.
        var complaint: String?
    }

    private let place: any LeaseTaking
    /// Name of the work and of its object.
    let name: String
    private let logger: Logger
    private let now: @Sendable () -> Int64
    private let state = Mutex(State())
    private let work = Semaphore(value: 0)
    private let thread = JoinableThread()

    /// - Parameter now: a monotonic clock, nanoseconds.
    init(
        _ place: any LeaseTaking, name: String, logger: Logger,
        now: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds }
    ) {
        self.place = place
        self.name = name
        self.logger = logger
        self.now = now
    }

    /// Whether the work may be done now. Ask before each step.
    var isHeld: Bool {
        let now = now()
        return state.withLock { $0.lease.isHeld(now: now) }
    }

    var status: LeaseStatus {
        let now = now()
        let standing = state.withLock { $0.lease.standing(now: now) }
        switch standing {
        case .held(let token): return LeaseStatus(state: .held, token: token)
        case .settling(let token): return LeaseStatus(state: .settling, token: token)
        case .taken(let holder): return LeaseStatus(state: .taken, holder: holder)
        case .unknown: return LeaseStatus(state: .unknown)
        }
    }

    func start() { thread.start("lease") { [self] in run() } }

    /// Gives the lease back, and ends the thread.
    /// - Parameter deadline: limit of the wait for both.
    func stop(until deadline: DispatchTime) {
        state.withLock { $0.isStopping = true }
        work.signal()
        thread.join(until: min(deadline, .now() + Self.graceSeconds))
    }

    private func run() {
        while !state.withLock({ $0.isStopping }) {
            ask()
            let due = state.withLock { $0.lease.dueNanoseconds }
            _ = work.wait(timeout: .now() + .nanoseconds(Int(max(0, due - now()))))
        }
        let time = now()
        guard let token = state.withLock({ $0.lease.end(now: time) }) else { return }
        do throws(ArchiveError) {
            try place.release(name, token: token)
        } catch {
            logger.debug("the lease \(name) was not given back, and ends by itself: \(error)")
        }
    }

    /// Asks the database, if that is due.
    func ask() {
        let sent = now()
        guard let request = state.withLock({ $0.lease.request(now: sent) }) else { return }
        do throws(ArchiveError) {
            let answer = try place.take(name)
            let time = now()
            state.withLock { $0.lease.answered(request, answer, now: time) }
            complain(about: answer)
        } catch {
            let time = now()
            state.withLock { $0.lease.failed(request, now: time) }
            // The catalog's thread uses the same server, and logs that it is unavailable.
            logger.debug("the lease \(name) was not renewed: \(error)")
        }
    }

    /// Logs each other holder once.
    private func complain(about answer: Lease.Answer) {
        var holder: String?
        if case .refused(let name, _) = answer { holder = name }
        let isNew = state.withLock { state in
            defer { state.complaint = holder }
            return state.complaint != holder
        }
        if isNew, let holder {
            logger.notice("\(name) is done by \(holder)")
        }
    }
}

/// Takes leases for a collector.
protocol LeaseTaking: Sendable {
    /// Blocks until the database has answered, for a bounded time.
    func take(_ name: String) throws(ArchiveError) -> Lease.Answer
    func release(_ name: String, token: Int64) throws(ArchiveError)
}

/// Leases in the catalog that the collectors of a site share.
struct CatalogLeaseTaking: LeaseTaking {
    private let register: any LeaseRegister
    private let label: String
    /// Identifies this run of the collector.
    private let holder: String

    /// - Parameter label: the collector's name.
    init(_ register: any LeaseRegister, label: String) {
        self.register = register
        self.label = label
        var random = SystemRandomNumberGenerator()
        holder = String(random.next(), radix: 16) + String(random.next(), radix: 16)
    }

    func take(_ name: String) throws(ArchiveError) -> Lease.Answer {
        try register.take(name, holder: holder, label: label)
    }

    func release(_ name: String, token: Int64) throws(ArchiveError) {
        try register.release(name, holder: holder, token: token)
    }
}
