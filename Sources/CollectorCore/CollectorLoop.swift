import Archive
import Control
import CLinux
import Glibc
import Logging
import Media
import Messaging
import Operations
import CollectorClient
import Wire

/// The receiving thread's work between two waits: hands the ``CollectorEngine`` what has come, and carries what it decided to the disk,
/// to agents, to the log and to people who asked.
struct CollectorLoop {
    /// How often time passes for the protocol and the session.
    private static let tickNanoseconds: Int64 = 100_000_000
    private static let reportNanoseconds: Int64 = 1_000_000_000

    private let settings: CollectorSettings
    private let changeable: SharedSettings
    private let logger: Logger
    private let report: @Sendable (CollectorStatus) -> Void
    private let disk: DiskWriter<ReceivedPart>
    private let catalog: CatalogThread
    /// What happens to recordings, for the log and the metrics.
    private let journal = SpineListener([.sessions, .segments], capacity: 4_096)
    private let control: ControlServer
    private let wantRoom: () -> Void
    private let space: FreeSpace
    private var stops = PendingStops()
    /// Who waits for which agent's answer.
    private var commanders: [UInt64: ControlServer.Question] = [:]
    private var latestTicket: UInt64 = 0
    private var engine: CollectorEngine<ReceivedPart>
    private let board: StatusBoard
    private let meters: Meters
    private var meter = StatusBuilder()
    private var nextTick: Int64 = 0
    private var nextReport: Int64 = 0
    private var isStopping = false
    private var sessionsEnded = 0
    private var enrolments: [(peer: PeerID, enrol: Enrol)] = []

    /// Where other threads count what happens to them.
    struct Meters {
        let disk = DiskStatistics()
        let refusals: RefusalCounters
    }

    init(
        settings: CollectorSettings, changeable: SharedSettings, layout: ArchiveLayout,
        recovered: RecoveredArchive, sessionNames: Set<String>,
        disk: DiskWriter<ReceivedPart>, spine: Spine, catalog: CatalogThread, space: FreeSpace,
        control: ControlServer, meters: Meters,
        board: StatusBoard, logger: Logger, wantRoom: @escaping () -> Void,
        report: @escaping @Sendable (CollectorStatus) -> Void
    ) {
        self.meters = meters
        self.board = board
        self.settings = settings
        self.changeable = changeable
        self.wantRoom = wantRoom
        self.disk = disk
        self.catalog = catalog
        spine.add(journal)
        self.space = space
        self.control = control
        self.logger = logger
        self.report = report
        engine = CollectorEngine(
            settings: SessionSettings(
                layout: layout, startAt: settings.startAt,
                startWindowNanoseconds: settings.startWindowNanoseconds,
                segmentNanoseconds: settings.segmentNanoseconds,
                idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds,
                takenNames: sessionNames, software: settings.software), recovered: recovered,
            host: .current(), at: .now())
        follow()
        submit()
    }

    /// Whether the collector's work is over.
    var isDone: Bool { isStopping || (settings.endsWithSession && sessionsEnded > 0) }
    var hasOutgoing: Bool { engine.hasOutgoing }
    /// What could not be recorded.
    var failures: [String] { engine.failures }

    /// Messages for agents, in their order.
    mutating func takeOutgoing() -> [(peer: PeerID, header: [UInt8])] { engine.takeOutgoing() }

    /// Peers that need not be heard any more.
    mutating func takeDismissed() -> [PeerID] { engine.takeDismissed() }

    func logListening(at endpoint: String) {
        logger.info("listening on \(endpoint), recording into \(settings.archive)")
    }

    func millisecondsToNextTick() -> Int {
        Int(max(0, nextTick - Instant.now().monotonic + 999_999) / 1_000_000)
    }
}

extension CollectorLoop {
    /// Whether ``tick()`` has something to do.
    var isTickDue: Bool { Instant.nanoseconds(CLOCK_MONOTONIC) >= nextTick }

    /// Does what one message asks for.
    /// - Parameter now: an instant after it has arrived.
    mutating func receive(_ message: AgentMessage, takenInBy now: Instant) {
        let sender = message.sender
        guard sender.endsAt == nil else { return }
        let incoming = IncomingMessage(
            peer: sender.id, address: sender.address, right: sender.right,
            header: message.header.bytes, payloadSizeBytes: message.payload?.count,
            extraParts: message.extraParts)
        engine.receive(
            incoming, payload: message.payload, at: now.earlier(message.arrivedNanoseconds))
        follow()
    }

    /// A peer could not be reached any more.
    mutating func lost(_ peer: PeerID) {
        engine.lost(peer, at: .now())
        follow()
    }

    /// What keys allow has changed while their holders are connected.
    mutating func follow(_ changes: [Peers.Change]) {
        let now = Instant.now()
        for change in changes {
            engine.rightChanged(
                of: change.sender.id, to: change.sender.right, else: change.text, at: now)
        }
        follow()
    }

    /// Boxes that want to be enrolled; each is answered with ``enrolled(_:_:)``.
    mutating func takeEnrolments() -> [(peer: PeerID, enrol: Enrol)] {
        guard !enrolments.isEmpty else { return [] }
        defer { enrolments.removeAll() }
        return enrolments
    }

    /// A box's enrolment has been worked on.
    mutating func enrolled(_ peer: PeerID, _ outcome: CollectorLink.EnrolmentOutcome) {
        engine.enrolled(peer, outcome, at: .now())
        follow()
    }

    /// Lets time pass.
    mutating func tick() {
        let now = Instant.now()
        guard now.monotonic >= nextTick else {
            // The disk is woken ten times a second, or for much.
            if engine.pendingBytes >= DiskWriter<ReceivedPart>.urgentBytes { submit() }
            engine.returnCredit(at: now)
            return follow()
        }
        nextTick = now.monotonic + Self.tickNanoseconds
        engine.idleTimeoutNanoseconds = changeable.current.idleTimeoutNanoseconds
        engine.tick(at: now, wallErrorNanoseconds: HostClock.wallError())
        follow()
        submit()
        if now.monotonic >= nextReport {
            nextReport = now.monotonic + Self.reportNanoseconds
            let status = status(at: now)
            board.publish(status)
            report(status)
        }
    }

    private mutating func status(at now: Instant) -> CollectorStatus {
        let settings = changeable.current
        var status = meter.status(
            of: engine,
            StatusBuilder.Surroundings(
                disk: meters.disk.current,
                diskBusySeconds: meters.disk.busySeconds(now: now.monotonic),
                reserveBytes: settings.reserveBytes,
                removesOldSegments: !settings.retention.keepsEverything,
                refusedConnections: meters.refusals.counts,
                isEntranceShut: meters.refusals.shutReason != nil), now: now.monotonic)
        // Before a session there is nothing yet that could not be written.
        if status.trouble == nil, status.session == nil { status.trouble = space.trouble() }
        return status
    }

    /// Ends the session and says goodbye to agents.
    mutating func stop() {
        logger.info("stopping: finishing files")
        board.stopping()
        engine.end(.collectorStopped, at: .now())
        follow()
        submit()
        isStopping = true
    }

    /// Does what people at the server ask for.
    mutating func answerQuestions() {
        for question in control.takeQuestions() {
            switch question.request.request {
            case .stopSession(let name):
                stopSession(name, for: question)
            case .command(let request, let source):
                command(request, to: source, for: question)
            case .metrics, .unknown:
                // The control thread answers the former itself.
                control.answer(
                    question,
                    .failure(
                        .unknownRequest,
                        "this collector (\(settings.software)) does not know that request"))
            }
        }
    }

    /// Has an agent do something; who asked for it hears what it answers.
    private mutating func command(
        _ request: CommandRequest, to source: String?, for question: ControlServer.Question
    ) {
        guard let source else {
            control.answer(question, .failure(.malformed, "a command needs a source's name"))
            return
        }
        latestTicket += 1
        commanders[latestTicket] = question
        engine.command(request, to: source, ticket: latestTicket, at: .now())
        follow()
    }

    /// Ends the session; who asked for it hears when its files are final.
    private mutating func stopSession(_ name: String?, for question: ControlServer.Question) {
        let now = Instant.now()
        guard !isStopping else {
            control.answer(question, .failure(.stopping, "the collector is ending already"))
            return
        }
        guard let session = engine.recorder.session(at: now), name == nil || name == session.name
        else {
            let present = engine.recorder.sessionName.map { "; \($0) is being recorded" } ?? ""
            control.answer(
                question,
                .failure(
                    .noSession,
                    name.map { "\($0) is not being recorded\(present)" }
                        ?? "no session is being recorded"))
            return
        }
        logger.notice("stopping session \(session.name), as asked")
        stops.wait(question, for: session)
        engine.end(.stopped, at: now)
        follow()
        submit()
    }

    /// Tells agents that the collector goes; called after the disk has finished.
    mutating func sayGoodbye() {
        engine.sayGoodbye(at: .now())
        follow()
    }

    /// Follows what the disk has done.
    mutating func collectDiskEvents() {
        let heard = journal.take()
        let events = disk.takeEvents()
        let reports = catalog.takeReports()
        guard !events.isEmpty || !heard.events.isEmpty || !reports.isEmpty else { return }
        let now = Instant.now()
        for event in heard.events { engine.hear(event) }
        if heard.lost != .nothing {
            logger.warning("so much has happened to files that lines of it are missing here")
        }
        for event in events { engine.follow(event, at: now) }
        for report in reports { engine.follow(report) }
        follow()
    }

    /// Carries on what the engine has to say.
    private mutating func follow() {
        for line in engine.takeLines() { logger.log(line) }
        for notice in engine.takeNotices() {
            switch notice {
            case .sessionEnded:
                sessionsEnded += 1
            case .sessionFinished(let session):
                for (question, reply) in stops.finished(session) {
                    control.answer(question, reply)
                }
            case .wantRoom:
                wantRoom()
            case .report(let ticket, let reply, let payload):
                if let question = commanders.removeValue(forKey: ticket) {
                    control.answer(question, .report(reply, payload: payload))
                }
            case .enrol(let peer, let enrol):
                enrolments.append((peer, enrol))
            }
        }
    }

    /// Hands the disk what has been decided.
    mutating func submit() {
        disk.submit(engine.takeJobs())
    }
}

extension Instant {
    /// Now, on both of the collector's clocks.
    static func now() -> Instant {
        Instant(
            monotonic: nanoseconds(CLOCK_MONOTONIC),
            utc: UTCTime(nanoseconds: nanoseconds(CLOCK_REALTIME)))
    }

    /// An instant a little before, by its monotonic time.
    func earlier(_ monotonic: Int64) -> Instant {
        Instant(
            monotonic: monotonic,
            utc: UTCTime(nanoseconds: utc.nanoseconds - (self.monotonic - monotonic)))
    }

    static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension SessionManifest.EndReason {
    /// A few words for people.
    var text: String {
        switch self {
        case .complete: "every source has ended"
        case .idle: "no source has sent anything for long enough"
        case .stopped: "it was stopped"
        case .collectorStopped: "the collector is stopping"
        case .interrupted: "a crash interrupted it"
        }
    }
}
