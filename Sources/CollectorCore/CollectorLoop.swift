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

/// One iteration of the receiving thread: passes messages and events to the ``CollectorEngine``, and its output to the
/// disk, the agents, the log and the control socket.
struct CollectorLoop {
    /// Minimum and maximum interval between ticks of the protocol and the session. A wake-up in between runs the tick
    /// as well.
    private static let tickNanoseconds: ClosedRange<Int64> = 80_000_000...100_000_000
    /// How long samples may wait to be processed together, and their media to be submitted to the disk: until the next
    /// commit may follow (``DiskWriter/commitInterval``), less a tick. Without the wait, nothing would be durable
    /// earlier.
    private static let batchNanoseconds: Int64 = 450_000_000
    private static let reportNanoseconds: Int64 = 1_000_000_000
    /// A fragment of one second, half a second for which the last batch may wait at the agent, and the usual tolerance:
    /// batching must not change where fragments are cut.
    static let idleFragmentNanoseconds: Int64 =
        1_500_000_000 + Int64(WireLimits.gatherMilliseconds) * 1_000_000

    private let environment: CollectorEnvironment
    private let services: CollectorServices
    private let journal = SpineListener([.sessions, .segments], capacity: 4_096)
    private var stops = PendingStops()
    /// Control requests that wait for an agent's answer, by ticket.
    private var commanders: [UInt64: ControlServer.Question] = [:]
    private var latestTicket: UInt64 = 0
    private var engine: CollectorEngine
    private var meter = StatusBuilder()
    /// Earliest and latest time of the next tick.
    private var nextTick: ClosedRange<Int64> = 0...0
    private var nextBatch: Int64 = 0
    /// A due batch has been processed, so that all jobs are submitted.
    private var isSubmitDue = false
    private var nextReport: Int64 = 0
    private var isStopping = false
    /// Expected time from a sample's capture to its release, seconds; 0: samples are released when they are durable.
    private(set) var releaseSeconds: UInt32 = 0
    private var sessionsEnded = 0
    /// Ended sessions whose files are not final.
    private var finishing: Set<String> = []
    private var refusals = RefusalSummary()
    /// Since the start: time of all connected sources together, and bytes copied.
    private var streamNanoseconds: Int64 = 0
    private var countedNanoseconds = SystemClock.monotonic.nowNanoseconds
    private var copiedBytes: UInt64 = 0
    private var enrolments: [(peer: PeerID, enrol: Enrol)] = []

    private var settings: CollectorSettings { environment.settings }
    private var logger: Logger { environment.logger }
    private var uploads: ArchiveUploads? { services.uploads }

    init(
        _ environment: CollectorEnvironment, _ services: CollectorServices,
        _ archive: PreparedArchive
    ) {
        self.environment = environment
        self.services = services
        services.spine.add(journal)
        let settings = environment.settings
        engine = CollectorEngine(
            settings: SessionSettings(
                layout: environment.layout, startAt: settings.startAt,
                startWindowNanoseconds: settings.startWindowNanoseconds,
                segmentNanoseconds: settings.segmentNanoseconds,
                idleFragmentNanoseconds: Self.idleFragmentNanoseconds,
                idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds,
                takenNames: archive.sessionNames, software: settings.software, name: settings.name,
                isOnSite: services.site != nil, release: settings.release,
                maximumSources: DescriptorBudget().sources),
            recovered: archive.recovered,
            host: .current(), at: .now())
        follow()
        submit()
    }

    /// Whether the collector's work is done. A session that has ended is finished first, while agents are still answered:
    /// one that waits for the last acknowledgement must not take a slow disk for a lost collector.
    var isDone: Bool {
        isStopping
            || (settings.endsWithSession && sessionsEnded > 0 && !isFinishing && !isReleasing)
    }

    /// Whether files of an ended session are being finished. A disk that refuses them is not waited for.
    private var isFinishing: Bool { !finishing.isEmpty && engine.trouble == nil }

    /// Whether agents wait for the object store to have everything, and the store can be used.
    private var isReleasing: Bool {
        guard let uploads, uploads.records != nil, engine.isWaitingForRelease else { return false }
        let status = uploads.status
        return status.trouble == nil && status.setAside == 0
    }

    /// Whether a session is being recorded, and the collector is not stopping.
    var isRecording: Bool { !isStopping && engine.recorder.sessionName != nil }

    var hasOutgoing: Bool { engine.hasOutgoing }
    var failures: [String] { engine.failures }

    mutating func takeOutgoing() -> [(peer: PeerID, header: [UInt8])] { engine.takeOutgoing() }

    mutating func takeDismissed() -> [PeerID] { engine.takeDismissed() }

    func logListening(at endpoint: String) {
        logger.info("listening on \(endpoint), recording into \(settings.archive)")
    }

    func millisecondsToNextTick() -> Int {
        Int(max(0, nextTick.upperBound - Instant.now().monotonic + 999_999) / 1_000_000)
    }
}

extension CollectorLoop {
    var isTickDue: Bool { SystemClock.monotonic.nowNanoseconds >= nextTick.lowerBound }

    /// Whether the inbox has waited long enough to be processed. Until a session's zero is known, it does not wait: all
    /// messages of the start window must be known at its end. A heartbeat may be the answer that another agent waits
    /// for.
    var isBatchDue: Bool {
        engine.recorder.sessionZero == nil || engine.isAnswerAwaited
            || SystemClock.monotonic.nowNanoseconds >= nextBatch
    }

    /// The inbox is processed now. If it is not due yet, the rhythm of batches, jobs and commits remains the same.
    mutating func beginBatch() {
        let now = SystemClock.monotonic.nowNanoseconds
        guard now >= nextBatch else { return }
        nextBatch = now + Self.batchNanoseconds
        isSubmitDue = true
    }

    /// Bytes that one connection may queue before its credit is checked.
    var roomOfPeer: Int { engine.creditWindowBytes / 8 }

    /// Whether a connection has less than a quarter of a credit window left after its queued bytes. With several
    /// sources, all queued bytes may be of the one with the least credit.
    func isShortOfCredit(_ peer: Peer) -> Bool {
        guard let credit = engine.credit(of: peer.id) else { return false }
        return credit.leftBytes < UInt64(peer.queuedBytes) + credit.windowBytes / 4
    }

    /// Processes one message.
    /// - Parameter now: an instant after its arrival.
    mutating func receive(_ message: AgentMessage, takenInBy now: Instant) {
        let sender = message.sender
        guard sender.endsAt == nil else { return }
        copiedBytes += UInt64(message.header.count)
        let incoming = IncomingMessage(
            peer: sender.id, address: sender.address, right: sender.right,
            header: message.header.bytes, payloadSizeBytes: message.payload?.count,
            extraParts: message.extraParts)
        engine.receive(
            incoming, payload: message.payload, at: now.earlier(message.arrivedNanoseconds))
        follow()
    }

    mutating func watch(_ watched: WatchedSources) {
        if engine.watched != watched { engine.watched = watched }
    }

    /// The connections that send watched sources.
    func peers(of watched: WatchedSources) -> Set<PeerID> { engine.peers(of: watched) }

    mutating func takePlaced() -> [PlacedSamples] { engine.takePlaced() }

    mutating func lost(_ peer: PeerID) {
        engine.lost(peer, at: .now())
        follow()
    }

    /// The rights of keys have changed while their holders are connected.
    mutating func follow(_ changes: [Peers.Change]) {
        let now = Instant.now()
        for change in changes {
            engine.rightChanged(
                of: change.sender.id, to: change.sender.right, else: change.text, at: now)
        }
        follow()
    }

    /// Boxes that request enrolment; each is answered with ``enrolled(_:_:)``.
    mutating func takeEnrolments() -> [(peer: PeerID, enrol: Enrol)] {
        guard !enrolments.isEmpty else { return [] }
        defer { enrolments.removeAll() }
        return enrolments
    }

    /// A box's enrolment request has been processed.
    mutating func enrolled(_ peer: PeerID, _ outcome: CollectorLink.EnrolmentOutcome) {
        engine.enrolled(peer, outcome, at: .now())
        follow()
    }

    /// Processes the passing of time.
    /// - Parameter oldestNanoseconds: arrival of the oldest unprocessed message; nil: there is none.
    mutating func tick(oldestNanoseconds: Int64?) {
        let now = Instant.now()
        guard now.monotonic >= nextTick.lowerBound else {
            if engine.hasUrgentJobs || isSubmitDue { submit() }
            engine.returnCredit(at: now)
            return follow()
        }
        nextTick =
            now.monotonic + Self.tickNanoseconds.lowerBound...now.monotonic
            + Self.tickNanoseconds.upperBound
        streamNanoseconds +=
            Int64(engine.connectedSources) * max(0, now.monotonic - countedNanoseconds)
        countedNanoseconds = now.monotonic
        engine.idleTimeoutNanoseconds = environment.changeable.current.idleTimeoutNanoseconds
        takeStored(at: now)
        takeSiteAnswers(at: now)
        engine.setDiskHanging(environment.disk.isHanging(now: now.monotonic))
        engine.tick(
            at: now, heardUntil: oldestNanoseconds, wallErrorNanoseconds: HostClock.wallError())
        follow()
        if engine.hasUrgentJobs || isSubmitDue { submit() }
        if now.monotonic >= nextReport {
            nextReport = now.monotonic + Self.reportNanoseconds
            if let answer = services.site?.takeAnswer() { engine.hear(answer) }
            let status = status(at: now)
            environment.board.publish(status)
            reportToSite()
            environment.report(status)
            if let line = refusals.line(status.refusedConnections, now: now.monotonic) {
                logger.notice("\(line)")
            }
        }
    }

    /// Updates the facts of the next site report.
    private func reportToSite() {
        services.peerClocks?.note(
            engine.recorder.sessionName.flatMap { name in
                engine.recorder.sessionZero.map {
                    PeerClockRecord.Session(name: name, zeroNanoseconds: $0)
                }
            })
        guard let site = services.site else { return }
        var facts = SitePublisher.Facts(
            held: engine.recorder.durable.held, isDraining: engine.isDraining,
            recording: engine.recorder.siteProposal)
        facts.absent = Set(engine.absentSources)
        site.note(facts)
    }

    /// Passes on the site's answers.
    private mutating func takeSiteAnswers(at now: Instant) {
        guard let site = services.site else { return }
        let answers = site.takeAnswers()
        engine.isSiteReachable = answers.isReachable
        engine.followSite(outage: answers.outage)
        for (ticket, answer) in answers.agreements {
            engine.agreed(ticket, on: answer, at: now)
        }
        if let session = answers.denied { engine.siteDenied(session, at: now) }
    }

    /// Applies the object store's new records, and releases them to agents.
    private mutating func takeStored(at now: Instant) {
        guard let records = uploads?.records else { return }
        records.set(engine.stored(records.take()))
        guard now.monotonic >= nextReport else { return }
        // A sample waits for the end of its segment, then for its upload.
        let segment =
            engine.recorder.manifest?.segmentNanoseconds ?? settings.segmentNanoseconds
        let seconds =
            Double(segment) / 1e9 + max(records.lagSeconds, uploads?.status.oldestSeconds ?? 0)
        releaseSeconds = UInt32(clamping: Int64(seconds.rounded(.up)))
    }

    private mutating func status(at now: Instant) -> CollectorStatus {
        let settings = environment.changeable.current
        var status = meter.status(
            of: engine,
            StatusBuilder.Surroundings(
                disk: environment.disk.current,
                diskBusySeconds: environment.disk.busySeconds(now: now.monotonic),
                reserveBytes: settings.reserveBytes,
                removesOldSegments: !settings.retention.keepsEverything
                    || (uploads != nil && !settings.localCache.keepsEverything),
                refusedConnections: environment.refusals.counts,
                isEntranceShut: environment.refusals.shutReason != nil), now: now.monotonic)
        status.cost = cost
        status.store = uploads?.status
        status.peers = services.peerClocks?.statuses.map(\.clock) ?? []
        // Before a session begins, no write can have failed yet, so the free space is checked here.
        if status.trouble == nil, status.session == nil {
            status.trouble =
                environment.layout.disk.isAttached()
                ? services.space.trouble() : environment.layout.detachment
        }
        return status
    }

    /// Connections refused so far, by reason; asked on the receiving thread.
    mutating func refusedConnections() -> [ConnectionRefusal: UInt64] {
        status(at: .now()).refusedConnections
    }

    /// CPU time of recording so far; called on the receiving thread.
    var cost: RecordingCost {
        var cost = RecordingCost()
        cost.streamSeconds = Double(streamNanoseconds) / 1e9
        cost.cpuSeconds = RecordingCost.cpuSecondsOfThisProcess()
        cost.wakeUps = RecordingCost.wakeUpsOfThisThread()
        cost.copiedBytes = copiedBytes
        cost.synchronisations = environment.disk.current.synchronising.count
        return cost
    }

    /// Submits everything that was received to the disk.
    /// - Parameter endsSession: whether the session ends; otherwise it stays open, and the next collector continues it.
    mutating func stop(endsSession: Bool) {
        environment.board.stopping()
        if endsSession {
            logger.info("stopping: finishing files")
            engine.end(.collectorStopped, at: .now())
        } else if let session = engine.suspend(at: .now()) {
            logger.notice(
                "stopping: session \(session) stays open, and continues when a collector starts here; 'tributary stop' would have ended it"
            )
        } else {
            logger.info("stopping")
        }
        follow()
        submit()
        isStopping = true
    }

    /// Requests from the control sockets.
    func takeQuestions() -> [ControlServer.Question] {
        services.controls.flatMap { $0.takeQuestions() }
    }

    /// Answers requests from the control sockets.
    mutating func answer(_ questions: [ControlServer.Question]) {
        for question in questions {
            switch question.request.request {
            case .stopSession(let name):
                stopSession(name, for: question)
            case .command(let request, let source):
                command(request, to: source, for: question)
            case .sessionChanged(let session):
                services.spine.publish([.sessionChanged(session)])
                question.answer(.changeTold)
            case .changeSession(let change):
                services.editor.make(change, for: question)
            case .drain(let isCancelled, let name):
                drain(isCancelled: isCancelled, name, for: question)
            case .status, .unknown:
                // The control thread answers status requests itself.
                question.answer(
                    .failure(
                        .unknownRequest,
                        "this collector (\(settings.software)) does not support that request"))
            }
        }
    }

    /// Sends a command to an agent; the requester receives its answer.
    private mutating func command(
        _ request: CommandRequest, to source: String?, for question: ControlServer.Question
    ) {
        guard let source else {
            question.answer(.failure(.malformed, "a command needs a source's name"))
            return
        }
        latestTicket += 1
        commanders[latestTicket] = question
        engine.command(request, to: source, ticket: latestTicket, at: .now())
        follow()
    }

    /// Sends agents to other collectors; the requester repeats the request until they have left.
    private mutating func drain(
        isCancelled: Bool, _ name: String?, for question: ControlServer.Question
    ) {
        guard name == nil || name == settings.name else {
            question.answer(
                .failure(
                    .refused,
                    "the collector of this archive is called \(settings.name.isEmpty ? "nothing" : settings.name)"
                ))
            return
        }
        question.answer(.draining(engine.drain(!isCancelled, at: .now())))
        follow()
    }

    /// Ends the session; the requester is answered when its files are final.
    private mutating func stopSession(_ name: String?, for question: ControlServer.Question) {
        let now = Instant.now()
        guard !isStopping else {
            question.answer(.failure(.stopping, "the collector is already stopping"))
            return
        }
        guard let session = engine.recorder.session(at: now), name == nil || name == session.name
        else {
            let present = engine.recorder.sessionName.map { "; \($0) is being recorded" } ?? ""
            question.answer(
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

    /// Notifies agents that the collector is stopping; called after the disk has finished.
    mutating func sayGoodbye() {
        reportToSite()
        engine.sayGoodbye(at: .now())
        follow()
    }

    mutating func collectDiskEvents() {
        let heard = journal.take()
        let events = services.disk.takeEvents()
        let reports = services.catalog.takeReports()
        guard !events.isEmpty || !heard.events.isEmpty || !reports.isEmpty else { return }
        let now = Instant.now()
        for event in heard.events { engine.hear(event) }
        if heard.lost != .nothing {
            logger.warning("too many file events: some log lines are missing here")
        }
        for event in events { engine.follow(event, at: now) }
        for report in reports { engine.follow(report) }
        follow()
    }

    /// Passes on the engine's notices.
    private mutating func follow() {
        for line in engine.takeLines() { logger.log(line) }
        for notice in engine.takeNotices() {
            switch notice {
            case .sessionEnded(let session):
                sessionsEnded += 1
                finishing.insert(session)
            case .sessionFinished(let session):
                finishing.remove(session)
                let damage = engine.takeDamage(of: session)
                for (question, reply) in stops.finished(session, damage: damage) {
                    question.answer(reply)
                }
            case .wantRoom:
                services.retention.hurry()
            case .report(let ticket, let reply, let payload):
                if let question = commanders.removeValue(forKey: ticket) {
                    question.answer(.report(reply, payload: payload))
                }
            case .enrol(let peer, let enrol):
                enrolments.append((peer, enrol))
            case .propose(let proposal, let ticket):
                services.site?.ask(proposal, ticket: ticket)
            }
        }
    }

    /// Submits the pending jobs to the disk.
    mutating func submit() {
        isSubmitDue = false
        let isCreditAwaited = engine.isCreditAwaited
        let jobs = engine.takeJobs()
        guard !jobs.isEmpty else { return }
        services.disk.submit(jobs, isAwaited: isCreditAwaited)
    }
}

extension Instant {
    /// The present time, on both of the collector's clocks.
    static func now() -> Instant {
        Instant(
            monotonic: SystemClock.monotonic.nowNanoseconds,
            utc: UTCTime(nanoseconds: SystemClock.utc.nowNanoseconds))
    }

    /// A slightly earlier instant, by its monotonic time.
    func earlier(_ monotonic: Int64) -> Instant {
        Instant(
            monotonic: monotonic,
            utc: UTCTime(nanoseconds: utc.nanoseconds - (self.monotonic - monotonic)))
    }
}

extension SessionManifest.EndReason {
    var text: String {
        switch self {
        case .complete: "every source has ended"
        case .idle: "no source has sent anything for the idle timeout"
        case .stopped: "it was stopped"
        case .collectorStopped: "the collector is stopping"
        case .interrupted: "a crash interrupted it"
        }
    }
}
