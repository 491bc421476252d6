import Dispatch
import Logging
import Messaging
import Synchronization
import Threads
import Trust
import Wire

/// Says which keys may connect, on a thread of its own: answers libzmq's questions, and follows the files of keys.
final class Door: Sendable {
    /// How often the files are looked at.
    private static let lookMilliseconds = 1_000

    private struct State {
        var register = AgentRegister()
        /// Whether the register has changed since it was last taken.
        var isChanged = false
        var opening: Result<Void, MessagingError>?
    }

    private let keys: LinkSecurity.Collector
    private let logger: Logger
    /// Called when the register has changed.
    private let changed: @Sendable () -> Void
    private let wakeUp: WakeUp
    private let state: Mutex<State>
    private let isClosing = Atomic(false)
    private let opened = DispatchSemaphore(value: 0)
    private let closed = DispatchSemaphore(value: 0)

    init(
        keys: LinkSecurity.Collector, logger: Logger, changed: @escaping @Sendable () -> Void
    ) throws(MessagingError) {
        self.keys = keys
        self.logger = logger
        self.changed = changed
        state = Mutex(State())
        wakeUp = try WakeUp()
    }

    /// Reads the files and begins to answer; sockets of this context are safe to bind when it returns.
    func open(in context: Context) throws(CollectorError) {
        var watch = AgentWatch(keys.directory)
        do throws(TrustError) {
            if let agents = try watch.changes() { use(agents) }
        } catch {
            throw .cannotAdmit(reason: "\(error)")
        }
        let watching = watch
        NamedThread.start("door") { [self] in
            run(in: context, watching)
            closed.signal()
        }
        opened.wait()
        let opening = state.withLock { $0.opening }
        if case .failure(let error)? = opening { throw .cannotAdmit(reason: "\(error)") }
        let count = state.withLock { $0.register.authorizedCount }
        let own = keys.key.publicKey.text
        logger.info("this collector's key is \(own); \(count) agents are authorised")
    }

    /// Ends the thread. Sockets that ask it must have been closed.
    func close() {
        isClosing.store(true, ordering: .releasing)
        wakeUp.signal()
        closed.wait()
    }

    /// The register, if it has changed since the last call.
    func takeChange() -> AgentRegister? {
        state.withLock { state in
            guard state.isChanged else { return nil }
            state.isChanged = false
            return state.register
        }
    }

    /// What a key is at this moment.
    func standing(of key: PublicKey) -> AgentRegister.Standing {
        state.withLock { $0.register.standing(of: key) }
    }

    // MARK: The thread

    private func run(in context: Context, _ watching: AgentWatch) {
        var watch = watching
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
            var gate = LogGate()
            var nextLook = Instant.now().monotonic
            while !isClosing.load(ordering: .acquiring) {
                _ = try poller.wait(milliseconds: Self.lookMilliseconds)
                wakeUp.drain()
                while try authenticator.answerNext({ answer($0, &gate) }) {}
                let now = Instant.now().monotonic
                guard now >= nextLook else { continue }
                nextLook = now + Int64(Self.lookMilliseconds) * 1_000_000
                look(&watch)
            }
        } catch {
            // Nobody is admitted from here on: handshakes wait for an answer in vain.
            logger.critical("no agent can connect any more: \(error); start the collector again")
        }
    }

    private func answer(
        _ request: AuthenticationRequest, _ gate: inout LogGate
    ) -> AuthenticationAnswer {
        guard let key = request.key else { return .refused }
        let standing = standing(of: key)
        let reason: String
        switch standing {
        case .authorized:
            return .admitted(userID: key.text)
        case .revoked(let name):
            reason = "the key of \(name) is revoked"
        case .unknown:
            reason = "its key is not authorised ('tributary keys authorize' does that)"
        }
        if let before = gate.pass(request.address, now: Instant.now().monotonic) {
            let more = before > 0 ? " (and \(before) refusals before)" : ""
            logger.warning(
                "refused: \(reason)\(more)",
                metadata: ["address": "\(request.address)", "key": "\(key.shortText)"])
        }
        return .refused
    }

    private func look(_ watch: inout AgentWatch) {
        do throws(TrustError) {
            guard let agents = try watch.changes() else { return }
            use(agents)
            let count = agents.register.authorizedCount
            logger.info("the files of keys have changed: \(count) agents are authorised")
            changed()
        } catch {
            logger.error("the files of keys cannot be followed, and count as they were: \(error)")
        }
    }

    private func use(_ agents: KeyDirectory.Agents) {
        for flaw in agents.flaws { logger.error("\(flaw); this agent is not admitted") }
        state.withLock { state in
            state.register = agents.register
            state.isChanged = true
        }
    }
}
