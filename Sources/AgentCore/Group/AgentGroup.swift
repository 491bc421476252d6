package import Logging
import Media
import Synchronization
import Threads
import Wire

/// Several agents in one process, each with its own capture, spool, uplink and thread.
///
/// An agent that fails is restarted, without effect on the others. The agent of a preview ends with the one of its source.
package final class AgentGroup: Sendable {
    /// Delay of the first restart; it doubles with each failure.
    private static let firstPauseNanoseconds: Int64 = 2_000_000_000
    /// Maximum delay of a restart, unless a camera has refused the login.
    private static let longestPauseNanoseconds: Int64 = 30_000_000_000
    /// A run of this length resets the delay.
    private static let goodRunNanoseconds: Int64 = 60_000_000_000
    private static let napNanoseconds: Int64 = 100_000_000

    /// One source, and the thread that runs its agents in succession.
    private final class Member: Sendable {
        struct State {
            /// Nil: to be stopped.
            var plan: AgentPlan?
            var agent: Agent?
            /// Local commands to the source, also while no agent runs.
            var control: SourceControl?
            /// The thread is done.
            var hasEnded = false
            /// Why the agent is not running, on one line.
            var trouble: String?
            /// Time of the next attempt on the monotonic clock; nil: it is under way.
            var retryNanoseconds: Int64?
            /// Unsent data of the last agent in the spool, one line.
            var leftover: String?
        }

        let source: String
        let logger: Logger
        let state: Mutex<State>

        init(_ plan: AgentPlan, _ logger: Logger) {
            source = plan.source
            self.logger = logger
            state = Mutex(State(plan: plan))
        }

        /// Executes a local command, or answers that the source is not captured.
        func follow(_ request: CommandRequest, answer: @escaping CommandQueue.Answer) {
            let state = state.withLock { $0 }
            if let agent = state.agent, agent.follow(request, answer: answer) { return }
            guard let plan = state.plan else {
                return answer(.failure(.refused, "the agent is stopping"), [])
            }
            var status = CaptureStatus()
            status.video = plan.capture.video.summary
            status.audio = plan.capture.audio.summary
            status.software = plan.uplink.software
            status.collector = plan.uplink.endpoint
            status.trouble = state.trouble ?? "the source is being opened"
            let now = SystemClock.monotonic.nowNanoseconds
            status.retrySeconds = state.retryNanoseconds.map {
                UInt64((max(0, $0 - now) + 999_999_999) / 1_000_000_000)
            }
            switch request {
            case .status: answer(.status(status), [])
            case .controls, .keyframe, .snapshot, .change, .unknown:
                answer(.failure(.refused, "\(source) is \(status.obstacle)"), [])
            }
        }
    }

    private let members = Mutex<[Member]>([])
    /// Pictures for previews, by the source that they are from.
    private let shared = Mutex<[String: SharedPictures]>([:])
    private let isStopping = Atomic(false)
    /// Serialises opening of sockets and directories: see umask(2) in ``ControlServer``.
    private let opening = Mutex(())
    private let logger: @Sendable (String) -> Logger

    /// - Parameter logger: makes the logger of a source.
    package init(_ plans: [AgentPlan], logger: @escaping @Sendable (String) -> Logger) {
        self.logger = logger
        for plan in plans { add(plan) }
    }

    /// The current plans.
    package var plans: [AgentPlan] {
        members.withLock { $0 }.compactMap { member in member.state.withLock { $0.plan } }
    }

    /// Applies plans: starts, restarts and stops agents. Agents whose plan is unchanged continue.
    package func change(to plans: [AgentPlan]) -> AgentGroupChange {
        let change = AgentGroupChange(from: self.plans, to: plans)
        for source in change.removed { replace(source, by: nil) }
        for plan in change.changed { replace(plan.source, by: plan) }
        for plan in change.added { add(plan) }
        return change
    }

    /// Stops all captures. Recorded data is sent within the linger of the settings.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        for agent in agents { agent.stop() }
    }

    /// Stops without waiting for data that is not persisted.
    package func abandon() {
        isStopping.store(true, ordering: .releasing)
        for agent in agents { agent.abandon() }
    }

    /// Blocks until all sources have ended.
    package func wait() {
        while true {
            let isDone = members.withLock { members in
                members.removeAll { member in
                    member.state.withLock { $0.hasEnded && $0.plan == nil }
                }
                return members.allSatisfy { member in member.state.withLock { $0.hasEnded } }
            }
            if isDone { return }
            nap()
        }
    }

    /// Unsent data of stopped sources in their spools, one line each.
    package var leftovers: [String] {
        members.withLock { $0 }.compactMap { member in
            member.state.withLock { $0.leftover }.map { "\(member.source): \($0)" }
        }
    }

    /// Each source with its agent's progress, or with the reason why it is not running.
    package var progress: [(source: String, progress: AgentProgress?, trouble: String?)] {
        members.withLock { $0 }.map { member in
            let (agent, trouble) = member.state.withLock { ($0.agent, $0.trouble) }
            return (member.source, agent?.progress, trouble)
        }
    }

    private var agents: [Agent] {
        members.withLock { $0 }.compactMap { member in member.state.withLock { $0.agent } }
    }

    // MARK: Members

    private func add(_ plan: AgentPlan) {
        let member = Member(plan, logger(plan.source))
        members.withLock { $0.append(member) }
        NamedThread.start("agent") { [self] in live(member) }
    }

    private func replace(_ source: String, by plan: AgentPlan?) {
        guard let member = newest(source) else { return }
        let (agent, hasEnded) = member.state.withLock { state in
            state.plan = state.hasEnded ? nil : plan
            return (state.agent, state.hasEnded)
        }
        agent?.stop()
        // Its thread has ended.
        guard hasEnded, let plan else { return }
        add(plan)
        if let preview = self.plans.last(where: { $0.source == SourcePreviews.name(of: source) }),
            isOver(preview.source)
        {
            add(preview)
        }
    }

    /// Runs a member's agents until the source is complete or removed.
    private func live(_ member: Member) {
        var failures = 0
        var refusedLogins = 0
        var told: String?
        // The predecessor's agent still has the spool, and its control socket has the path.
        while hasPredecessor(member), wantedPlan(of: member) != nil { nap() }
        while let plan = wantedPlan(of: member) {
            let began = SystemClock.monotonic.nowNanoseconds
            let end = run(plan, member)
            member.state.withLock { $0.agent = nil }
            if wantedPlan(of: member) != plan {
                if case .failed(let line, _) = end { member.logger.error("\(line)") }
                failures = 0
                refusedLogins = 0
                member.state.withLock { $0.trouble = nil }
                continue
            }
            guard case .failed(let line, let isLoginRefused) = end else { break }
            let isGood =
                SystemClock.monotonic.nowNanoseconds - began >= Self.goodRunNanoseconds
            failures = isGood ? 1 : failures + 1
            if line != told { member.logger.error("\(line); trying again") }
            told = isGood ? nil : line
            refusedLogins = isLoginRefused ? refusedLogins + 1 : 0
            let pause =
                isLoginRefused
                ? LoginPause.nanoseconds(refusals: refusedLogins)
                : min(
                    Self.firstPauseNanoseconds << min(failures - 1, 8),
                    Self.longestPauseNanoseconds)
            wait(pause, member, plan, because: line)
        }
        openControl(of: member, at: nil)
        member.state.withLock { $0.hasEnded = true }
        let preview = SourcePreviews.name(of: member.source)
        if isOver(member.source) { newest(preview)?.state.withLock { $0.agent }?.stop() }
    }

    /// The plan by which a member runs; nil: it must not run.
    private func wantedPlan(of member: Member) -> AgentPlan? {
        if isStopping.load(ordering: .acquiring) { return nil }
        if let main = SourcePreviews.source(named: member.source), isOver(main) { return nil }
        return member.state.withLock { $0.plan }
    }

    private func newest(_ source: String) -> Member? {
        members.withLock { members in members.last { $0.source == source } }
    }

    /// Whether a removed member of the same source is still sending.
    private func hasPredecessor(_ member: Member) -> Bool {
        members.withLock { members in
            members.prefix { $0 !== member }.contains { other in
                other.source == member.source && !other.state.withLock { $0.hasEnded }
            }
        }
    }

    /// Opens the control socket at a path, unless it is open there, and closes an earlier one; nil: closes it.
    private func openControl(of member: Member, at path: String?) {
        let (former, isOpen) = member.state.withLock { state in
            if let path, state.control?.path == path { return (nil as SourceControl?, true) }
            defer { state.control = nil }
            return (state.control, false)
        }
        // Without the lock, which the socket's thread may be waiting for.
        former?.close()
        guard !isOpen, let path else { return }
        let control = opening.withLock { _ in
            SourceControl(at: path, source: member.source, logger: member.logger) {
                [weak member] request, answer in member?.follow(request, answer: answer)
            }
        }
        member.state.withLock { $0.control = control }
    }

    /// Whether a source has ended by itself: it was not removed.
    private func isOver(_ source: String) -> Bool {
        newest(source)?.state.withLock { $0.hasEnded && $0.plan != nil } ?? false
    }

    /// The end of an agent.
    private enum End {
        case ended
        case failed(String, isLoginRefused: Bool = false)
    }

    private func run(_ plan: AgentPlan, _ member: Member) -> End {
        do {
            var uplink = plan.uplink
            // The member has it.
            uplink.controlPath = nil
            let agent = try opening.withLock { _ in
                try Agent(
                    capture: plan.capture, uplink: uplink, logger: member.logger,
                    shared: pictures(of: plan.capture.pictureSource))
            }
            // `stop()` and `change(to:)` can reach it from here on.
            member.state.withLock { $0.agent = agent }
            // The agent holds the spool, so the socket in the same directory belongs to no other process.
            openControl(of: member, at: plan.uplink.controlPath)
            if wantedPlan(of: member) != plan { agent.stop() }
            switch try agent.run() {
            case .complete:
                member.logger.info("done: the collector has everything on disk")
                return .ended
            case .kept(let line), .refused(let line, isKept: true):
                member.logger.warning("\(line)")
                member.state.withLock { $0.leftover = line }
                return .ended
            case .refused(let line, isKept: false), .failed(let line): return .failed(line)
            }
        } catch CaptureError.stopped {
            return .ended
        } catch CaptureError.login(let line) {
            return .failed(line, isLoginRefused: true)
        } catch {
            return .failed("\(error)")
        }
    }

    private func pictures(of source: String) -> SharedPictures {
        shared.withLock { shared in
            let pictures = shared[source] ?? SharedPictures()
            shared[source] = pictures
            return pictures
        }
    }

    /// Sleeps until a restart; ends early if the plan changes.
    private func wait(
        _ nanoseconds: Int64, _ member: Member, _ plan: AgentPlan, because trouble: String
    ) {
        let end = SystemClock.monotonic.nowNanoseconds + nanoseconds
        member.state.withLock { state in
            state.trouble = trouble
            state.retryNanoseconds = end
        }
        defer { member.state.withLock { $0.retryNanoseconds = nil } }
        while SystemClock.monotonic.nowNanoseconds < end, wantedPlan(of: member) == plan { nap() }
    }

    private func nap() {
        let end = SystemClock.monotonic.nowNanoseconds + Self.napNanoseconds
        SystemClock.sleep(untilMonotonicNanoseconds: end)
    }
}
