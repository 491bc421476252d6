import Dispatch
import Glibc
import Logging
import Media
import Messaging
import Operations
import Synchronization
import Threads
import Trust
import Wire

/// Authenticates connections by key: answers libzmq's ZAP requests on its own thread, and reads the key files on another
/// one, because their disk may not respond.
final class KeyAuthenticator: Sendable {
    /// Interval of checks of the key files.
    private static let lookMilliseconds = 1_000
    /// A read of the key files that takes longer is logged.
    private static let slowReadNanoseconds: Int64 = 5_000_000_000
    /// Maximum wait for the thread of the key files when closing.
    private static let closeMilliseconds = 1_000

    /// The purpose of the connections that it authenticates.
    enum Purpose: Hashable {
        /// Agents send to the collector. If this authenticator ends, so does the collector.
        case writing
        /// Viewers on other machines receive the feed. If this authenticator ends, recording continues.
        case watching
    }

    private struct State {
        /// Admitted by the key files.
        var agents = AgentRegister()
        /// Collectors of the site, by its catalog: they may request clock exchanges.
        var peers: [Authorization] = []
        /// Both.
        var register = AgentRegister()
        /// Whether the register has changed since it was last fetched.
        var isChanged = false
        var opening: Result<Void, MessagingError>?
        /// See ``KeyAuthenticator/fail(with:)``.
        var fault: MessagingError?
        /// Begin of the present read of the key files, on the monotonic clock; nil: none.
        var readingSince: Int64?
        /// Boxes that request a key of their own, at most one per connection; and the results of earlier requests.
        var enrolments: [Enrolment] = []
        var enrolled: [(peer: PeerID, outcome: CollectorLink.EnrolmentOutcome)] = []
    }

    /// A box that requests authorisation of its own key.
    struct Enrolment: Sendable {
        var peer: PeerID
        /// The one-time key that its connection has authenticated with.
        var token: PublicKey
        var enrol: Enrol
    }

    private let keys: LinkSecurity.Collector
    private let purpose: Purpose
    private let counters: RefusalCounters
    private let logger: Logger
    /// Called when the register has changed.
    private let changed: @Sendable () -> Void
    private let wakeUp: WakeUp
    private let state: Mutex<State>
    private let isClosing = Atomic(false)
    private let opened = Semaphore(value: 0)
    private let thread = JoinableThread()
    /// Wakes the thread of the key files.
    private let filesDue = Semaphore(value: 0)
    private let filesEnded = Semaphore(value: 0)

    init(
        keys: LinkSecurity.Collector, for purpose: Purpose = .writing, counters: RefusalCounters,
        logger: Logger,
        changed: @escaping @Sendable () -> Void
    ) throws(MessagingError) {
        self.keys = keys
        self.purpose = purpose
        self.counters = counters
        self.logger = logger
        self.changed = changed
        state = Mutex(State())
        wakeUp = try WakeUp()
    }

    /// Reads the key files and starts the thread; after it returns, sockets of this context can be bound safely.
    func open(in context: Context) throws(CollectorError) {
        var watch = AgentWatch(keys.directory)
        do throws(TrustError) {
            if let agents = try watch.changes() { use(agents) }
        } catch {
            throw .cannotAdmit(reason: "\(error)")
        }
        let watching = watch
        NamedThread.start("key files") { [self] in followFiles(watching) }
        thread.start(purpose == .writing ? "authenticator" : "feed keys") { [self] in
            run(in: context)
            // Without this thread, no connection is admitted.
            if !isClosing.load(ordering: .acquiring) { shut("its thread has ended") }
            changed()
        }
        opened.wait()
        let opening = state.withLock { $0.opening }
        if case .failure(let error)? = opening { throw .cannotAdmit(reason: "\(error)") }
        let own = keys.key.publicKey.text
        logger.info("this collector's key is \(own); \(authorised)")
    }

    /// For the log: the number of keys that the register admits here.
    private var authorised: String {
        let register = state.withLock { $0.agents }
        return switch purpose {
        case .writing: "\(register.authorizedCount) agents are authorised"
        case .watching: "\(register.watchingCount) keys may watch live"
        }
    }

    private func shut(_ reason: String) {
        switch purpose {
        case .writing: counters.shut(reason)
        case .watching:
            logger.error("viewers on other machines are not admitted any more: \(reason)")
        }
    }

    /// Ends the threads. The sockets that use them must be closed already. A read of the key files that does not end is
    /// abandoned.
    func close() {
        isClosing.store(true, ordering: .releasing)
        wakeUp.signal()
        filesDue.signal()
        thread.join()
        _ = filesEnded.wait(milliseconds: Self.closeMilliseconds)
    }

    /// Makes the thread end as if libzmq had reported this fault: for tests, which cannot make libzmq report it.
    func fail(with fault: MessagingError) {
        state.withLock { $0.fault = fault }
        wakeUp.signal()
    }

    /// The register, if it has changed since the last call.
    func takeChange() -> AgentRegister? {
        state.withLock { state in
            guard state.isChanged else { return nil }
            state.isChanged = false
            return state.register
        }
    }

    /// The current status of a key.
    func standing(of key: PublicKey) -> AgentRegister.Standing {
        state.withLock { $0.register.standing(of: key, now: Self.now()) }
    }

    /// Admits the site's other collectors, which may request clock exchanges only. The key files decide about the keys that
    /// they have.
    func admit(_ peers: [Authorization]) {
        let isNew = state.withLock { state in
            guard state.peers != peers else { return false }
            state.peers = peers
            state.register = state.agents.admitting(peers)
            state.isChanged = true
            return true
        }
        if isNew { changed() }
    }

    /// Whether the register has changed since the last call.
    func hasChanged() -> Bool { takeChange() != nil }

    /// Whether the key of a connection may receive the feed.
    func mayWatch(_ userID: String) -> Bool {
        do throws(TrustError) {
            let key = try PublicKey(text: userID)
            return state.withLock { $0.register.mayWatch(key, now: Self.now()) }
        } catch {
            return false
        }
    }

    /// Exchanges a one-time key for a box's own key; the result is fetched with ``takeEnrolled()``.
    func enrol(_ enrolment: Enrolment) {
        state.withLock { $0.enrolments.append(enrolment) }
        filesDue.signal()
    }

    /// The results of enrolments since the last call.
    func takeEnrolled() -> [(peer: PeerID, outcome: CollectorLink.EnrolmentOutcome)] {
        state.withLock { state in
            guard !state.enrolled.isEmpty else { return [] }
            defer { state.enrolled.removeAll() }
            return state.enrolled
        }
    }

    /// Seconds since 1970.
    static func now() -> Int64 { SystemClock.utc.nowNanoseconds / 1_000_000_000 }

    // MARK: The threads

    private func followFiles(_ watching: AgentWatch) {
        var watch = watching
        while !isClosing.load(ordering: .acquiring) {
            _ = filesDue.wait(milliseconds: Self.lookMilliseconds)
            if isClosing.load(ordering: .acquiring) { break }
            state.withLock { $0.readingSince = Instant.now().monotonic }
            enrolAll(&watch)
            look(&watch)
            state.withLock { $0.readingSince = nil }
        }
        filesEnded.signal()
    }

    /// Logs once that a read of the key files does not end.
    private func reportSlowRead(_ isReported: inout Bool) {
        guard let since = state.withLock({ $0.readingSince }) else {
            isReported = false
            return
        }
        guard !isReported, Instant.now().monotonic - since >= Self.slowReadNanoseconds else {
            return
        }
        isReported = true
        logger.error(
            "cannot read the key files: their disk does not respond; the last known keys remain in force"
        )
    }

    private func run(in context: Context) {
        do throws(MessagingError) {
            let authenticator: Authenticator
            do throws(MessagingError) {
                authenticator = try Authenticator(in: context)
            } catch {
                state.withLock { $0.opening = .failure(error) }
                opened.signal()
                return
            }
            opened.signal()
            var poller = Poller()
            _ = poller.add(authenticator)
            _ = poller.add(descriptor: wakeUp.descriptor)
            var gate = LogRateLimit()
            var isSlowReadReported = false
            while !isClosing.load(ordering: .acquiring) {
                _ = try poller.wait(milliseconds: Self.lookMilliseconds)
                wakeUp.drain()
                if let fault = state.withLock({ $0.fault }) { throw fault }
                while try authenticator.answerNext({ answer($0, &gate) }) {}
                reportSlowRead(&isSlowReadReported)
            }
        } catch {
            // No further connection is admitted. The collector ends if this authenticated agents, so that its
            // supervisor restarts it.
            shut("\(error)")
        }
    }

    private func answer(
        _ request: AuthenticationRequest, _ gate: inout LogRateLimit
    ) -> AuthenticationAnswer {
        guard let key = request.key else {
            counters.add(.securityMismatch)
            return .refused
        }
        let standing = standing(of: key)
        let reason: String
        // A key with a name has its own log budget, apart from that of its address.
        var subject = request.address
        switch standing {
        case .authorized(let found) where purpose == .writing ? !found.isViewer : found.mayWatch:
            return .admitted(userID: key.text)
        case .enrolling where purpose == .writing:
            return .admitted(userID: key.text)
        case .authorized(let found), .enrolling(let found):
            subject = found.name
            reason =
                purpose == .writing
                ? "the key of \(found.name) may watch, and write no source"
                : "the key of \(found.name) may not watch (use 'tributary keys authorize \(found.name) --watch')"
        case .expired(let name):
            subject = name
            reason = "the enrolment of \(name) has expired"
        case .revoked(let name):
            subject = name
            reason =
                "the key of \(name) is revoked ('tributary keys authorize \(name)' admits it again)"
        case .unknown:
            let option = purpose == .writing ? "" : " NAME KEY --watch"
            reason = "its key is not authorised (use 'tributary keys authorize\(option)')"
        }
        counters.add(ConnectionRefusal(standing))
        if let before = gate.pass(subject, now: Instant.now().monotonic) {
            let more = before > 0 ? " (and \(before) refusals before)" : ""
            logger.warning(
                "refused: \(reason)\(more)",
                metadata: ["address": "\(request.address)", "key": "\(key.shortText)"])
        }
        return .refused
    }

    /// Processes the requests of boxes with one-time keys.
    private func enrolAll(_ watch: inout AgentWatch) {
        let waiting = state.withLock { state in
            defer { state.enrolments.removeAll() }
            return state.enrolments
        }
        guard !waiting.isEmpty else { return }
        let outcomes = waiting.map { ($0.peer, enrolNow($0)) }
        // The new keys are authorised before their boxes are notified.
        look(&watch)
        state.withLock { $0.enrolled += outcomes }
        changed()
    }

    private func enrolNow(_ enrolment: Enrolment) -> CollectorLink.EnrolmentOutcome {
        guard let key = PublicKey(enrolment.enrol.publicKey) else {
            return .refused("the box's public key is invalid")
        }
        do throws(TrustError) {
            let authorization = try keys.directory.completeEnrolment(
                token: enrolment.token, key: key, now: Self.now())
            let sources = authorization.sources.map(\.description).joined(separator: ", ")
            logger.notice(
                "enrolled \(authorization.name), which may write \(sources)",
                metadata: ["agent": "\(enrolment.enrol.agent)", "key": "\(key.shortText)"])
            return .enrolled(Enrolled(name: authorization.name, sources: authorization.sources))
        } catch {
            guard case .system = error else { return .refused("\(error)") }
            logger.error("cannot enrol \(enrolment.enrol.agent): \(error)")
            return .refused(
                "the server cannot write its key files (\(error)); on the server, 'tributary keys authorize NAME "
                    + "\(key.text)' does the same")
        }
    }

    private func look(_ watch: inout AgentWatch) {
        do throws(TrustError) {
            guard let agents = try watch.changes() else { return }
            use(agents)
            logger.info("the key files have changed: \(authorised)")
            changed()
        } catch {
            logger.error("cannot read the key files, the last known keys remain in force: \(error)")
        }
    }

    private func use(_ agents: KeyDirectory.Agents) {
        for flaw in agents.flaws { logger.error("\(flaw); this key is not admitted") }
        state.withLock { state in
            state.agents = agents.register
            state.register = agents.register.admitting(state.peers)
            state.isChanged = true
        }
    }
}
