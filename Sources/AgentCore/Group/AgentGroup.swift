package import Logging
import Media
import Synchronization
import Threads
import Wire

/// Several agents in one process, each with its own capture, spool, uplink and thread.
///
/// An agent that fails is restarted, without effect on the others. The agent of a preview ends with the one of its source. The
/// agent of a removed source stops its capture, and continues sending while the group runs.
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
            /// Nil: the source was removed.
            var plan: AgentPlan?
            /// The directory of the last agent's spool.
            var latestSpool: String?
            /// Counts the plans that need another agent.
            var revision = 0
            var agent: Agent?
            /// Local commands to the source, also while no agent runs.
            var control: SourceControl?
            /// The thread is done.
            var hasEnded = false
            /// Why the agent is not running, on one line.
            var trouble: String?
            /// Time of the next attempt on the monotonic clock; nil: it is under way.
            var retryNanoseconds: Int64?
            /// Data that the last agent has not sent.
            var leftover: Leftover?
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
                return answer(.failure(.refused, "the source was removed"), [])
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

    /// Data that a stopped agent has not sent.
    package struct Leftover: Hashable, Sendable {
        package var source: String
        /// Its amount and the reason, one line.
        package var text: String
        /// The collector does not admit this box's key.
        package var isRefused: Bool
        /// It is in the spool, and is sent at the next start.
        package var isKept: Bool
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

    /// Applies plans: changes running captures, and starts, restarts and stops agents. Agents whose plan is unchanged continue.
    /// Blocks until the running captures are changed. A failed change leaves the capture and its plan unchanged, and is logged.
    package func change(to plans: [AgentPlan]) -> AgentGroupChange {
        var running: [String: CaptureSettings] = [:]
        for member in members.withLock({ $0 }) {
            running[member.source] = member.state.withLock { $0.agent }?.runningSettings
        }
        var change = AgentGroupChange(from: self.plans, to: plans, running: running)
        for source in change.removed { replace(source, by: nil) }
        for plan in change.changed { replace(plan.source, by: plan) }
        for plan in change.added { add(plan) }
        change.failed = adjust(change.adjusted)
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

    /// Blocks until all sources have ended. When only removed ones are still sending, they have the linger of their settings.
    package func wait() {
        var stopped: Set<ObjectIdentifier> = []
        while true {
            let (isDone, retired) = members.withLock { members in
                let newest = Dictionary(members.map { ($0.source, $0) }) { $1 }
                members.removeAll { member in
                    let isSucceeded = newest[member.source] !== member
                    return member.state.withLock {
                        $0.hasEnded && $0.plan == nil && ($0.leftover == nil || isSucceeded)
                    }
                }
                let running = members.filter { member in member.state.withLock { !$0.hasEnded } }
                let onlySends = running.allSatisfy { member in
                    member.state.withLock { $0.plan == nil }
                }
                return (running.isEmpty, onlySends ? running : [])
            }
            if isDone { return }
            for member in retired where stopped.insert(ObjectIdentifier(member)).inserted {
                member.state.withLock { $0.agent }?.stop()
            }
            nap()
        }
    }

    /// Unsent data of the stopped sources.
    package var leftovers: [Leftover] {
        members.withLock { $0 }.compactMap { member in member.state.withLock { $0.leftover } }
    }

    /// Each source with its agent's progress, or with the reason why it is not running; and whether it was removed.
    package var progress:
        [(source: String, progress: AgentProgress?, trouble: String?, isRemoved: Bool)]
    {
        members.withLock { $0 }.map { member in
            let state = member.state.withLock { $0 }
            return (member.source, state.agent?.progress, state.trouble, state.plan == nil)
        }
    }

    /// The sources that the box's key has to be authorised for: all but the previews.
    private var keySources: [String] {
        let sources = plans.map(\.source)
        let previews = SourcePreviews(sources)
        return sources.filter { !previews.isPreview($0) }
    }

    private var agents: [Agent] {
        members.withLock { $0 }.compactMap { member in member.state.withLock { $0.agent } }
    }

    // MARK: Members

    private func add(_ plan: AgentPlan) {
        let member = Member(plan, logger(plan.source))
        let former = members.withLock { members in
            defer { members.append(member) }
            return members.filter { $0.source == plan.source }
        }
        // A removed source that is still sending.
        for member in former { member.state.withLock { $0.agent }?.handOver() }
        NamedThread.start("agent") { [self] in live(member) }
    }

    private func replace(_ source: String, by plan: AgentPlan?) {
        guard let member = newest(source) else { return }
        let (agent, hasEnded) = member.state.withLock { state in
            state.plan = state.hasEnded ? nil : plan
            state.revision += 1
            return (state.agent, state.hasEnded)
        }
        if let agent { release(agent, of: member) }
        // Its thread has ended.
        guard hasEnded, let plan else { return }
        add(plan)
        if let preview = self.plans.last(where: { $0.source == SourcePreviews.name(of: source) }),
            isOver(preview.source)
        {
            add(preview)
        }
    }

    /// Ends an agent that is not to run any more, so that the source's next one can start, or nothing is left to send.
    private func release(_ agent: Agent, of member: Member) {
        if isStopping.load(ordering: .acquiring) || isWithoutSource(member) {
            agent.stop()
        } else if member.state.withLock({ $0.plan }) != nil || newest(member.source) !== member {
            agent.handOver()
        } else {
            agent.retire()
        }
    }

    /// Changes running captures.
    /// - Returns: the sources for which that failed.
    private func adjust(_ adjustments: [AgentGroupChange.Adjustment]) -> Set<String> {
        var begun: [(member: Member, plan: AgentPlan, answer: CancellableCall<CommandReply>)] = []
        for adjustment in adjustments {
            let plan = adjustment.plan
            guard let member = newest(plan.source) else { continue }
            guard !adjustment.change.isEmpty, let agent = member.state.withLock({ $0.agent }) else {
                member.state.withLock { $0.plan = plan }
                continue
            }
            begun.append((member, plan, agent.begin(adjustment.change)))
        }
        var failed: Set<String> = []
        for (member, plan, answer) in begun {
            if let flaw = Agent.flaw(in: answer) {
                member.logger.error("the capture was not changed: \(flaw)")
                failed.insert(member.source)
            } else {
                member.state.withLock { $0.plan = plan }
            }
        }
        return failed
    }

    /// Runs a member's agents until the source is complete or removed.
    private func live(_ member: Member) {
        var failures = 0
        var refusedLogins = 0
        var told: String?
        // The predecessor's agent still has the spool, and its control socket has the path.
        while hasPredecessor(member), wanted(of: member) != nil { nap() }
        while let (plan, revision) = wanted(of: member) {
            let began = SystemClock.monotonic.nowNanoseconds
            let end = run(plan, revision, member)
            member.state.withLock { $0.agent = nil }
            if wanted(of: member)?.revision != revision {
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
            wait(pause, member, revision, because: line)
        }
        openControl(of: member, at: nil)
        warnOfRemains(member)
        member.state.withLock { $0.hasEnded = true }
        let preview = SourcePreviews.name(of: member.source)
        if isOver(member.source) { newest(preview)?.state.withLock { $0.agent }?.stop() }
    }

    /// A removed source may have left records, for example because its camera could not be opened.
    private func warnOfRemains(_ member: Member) {
        let path = member.state.withLock { state in
            defer { state.latestSpool = nil }
            return state.plan == nil && state.leftover == nil ? state.latestSpool : nil
        }
        guard let path, newest(member.source) === member,
            let line = UnclaimedSpool(path: path)?.line
        else { return }
        member.logger.warning("\(line)")
    }

    /// The plan by which a member runs, and its revision; nil: it must not run.
    private func wanted(of member: Member) -> (plan: AgentPlan, revision: Int)? {
        if isStopping.load(ordering: .acquiring) || isWithoutSource(member) { return nil }
        return member.state.withLock { state in
            state.plan.map { (plan: $0, revision: state.revision) }
        }
    }

    /// Whether it is the preview of a source that has ended.
    private func isWithoutSource(_ member: Member) -> Bool {
        SourcePreviews.source(named: member.source).map(isOver) ?? false
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

    private func run(_ plan: AgentPlan, _ revision: Int, _ member: Member) -> End {
        do {
            var uplink = plan.uplink
            // The member has it.
            uplink.controlPath = nil
            let agent = try opening.withLock { _ in
                try Agent(
                    capture: plan.capture, uplink: uplink, logger: member.logger,
                    shared: pictures(of: plan.capture.pictureSource)
                ) { [weak self] in self?.keySources ?? [] }
            }
            // `stop()` and `change(to:)` can reach it from here on.
            member.state.withLock { state in
                state.agent = agent
                state.latestSpool = plan.uplink.spool?.path
            }
            // The agent holds the spool, so the socket in the same directory belongs to no other process.
            openControl(of: member, at: plan.uplink.controlPath)
            if wanted(of: member)?.revision != revision { release(agent, of: member) }
            return end(of: member, revision, with: try agent.run())
        } catch CaptureError.stopped {
            return .ended
        } catch CaptureError.login(let line) {
            return .failed(line, isLoginRefused: true)
        } catch {
            return .failed("\(error)")
        }
    }

    /// Notes what an agent has left.
    private func end(of member: Member, _ revision: Int, with outcome: Agent.Outcome) -> End {
        // Otherwise the next agent of the source sends the rest.
        let next = wanted(of: member)?.revision
        let isLast = next == nil || next == revision
        func leave(_ line: String, isRefused: Bool, isKept: Bool) {
            let leftover = Leftover(
                source: member.source, text: line, isRefused: isRefused, isKept: isKept)
            member.state.withLock { $0.leftover = leftover }
        }
        switch outcome {
        case .complete:
            member.state.withLock { $0.leftover = nil }
            if isLast { member.logger.info("done: the collector has everything on disk") }
            return .ended
        case .kept(let line):
            leave(line, isRefused: false, isKept: true)
            if isLast { member.logger.warning("\(line)") }
            return .ended
        case .refused(let line, isKept: true):
            leave(line, isRefused: true, isKept: true)
            if isLast { member.logger.warning("\(line)") }
            return .ended
        case .refused(let line, isKept: false):
            if isStopping.load(ordering: .acquiring) {
                leave(line, isRefused: true, isKept: false)
            }
            return .failed(line)
        case .failed(let line):
            if isStopping.load(ordering: .acquiring) {
                leave(line, isRefused: false, isKept: false)
            }
            return .failed(line)
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
        _ nanoseconds: Int64, _ member: Member, _ revision: Int, because trouble: String
    ) {
        let end = SystemClock.monotonic.nowNanoseconds + nanoseconds
        member.state.withLock { state in
            state.trouble = trouble
            state.retryNanoseconds = end
        }
        defer { member.state.withLock { $0.retryNanoseconds = nil } }
        while SystemClock.monotonic.nowNanoseconds < end,
            wanted(of: member)?.revision == revision
        {
            nap()
        }
    }

    private func nap() {
        let end = SystemClock.monotonic.nowNanoseconds + Self.napNanoseconds
        SystemClock.sleep(untilMonotonicNanoseconds: end)
    }
}
