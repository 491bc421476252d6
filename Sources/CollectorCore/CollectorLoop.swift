import Archive
import Glibc
import Logging
import Media
import Messaging
import Wire

/// The receiving thread's work between two waits: what agents say goes through the protocol into the session, and what comes
/// out goes to the disk, to agents and to the log.
struct CollectorLoop {
    /// How often time passes for the protocol and the session.
    private static let tickNanoseconds: Int64 = 100_000_000
    private static let reportNanoseconds: Int64 = 1_000_000_000

    private let settings: CollectorSettings
    private let changeable: SharedSettings
    private let logger: Logger
    private let report: @Sendable (CollectorStatus) -> Void
    private let disk: DiskWriter<ReceivedPart>
    private let control: ControlServer
    private var stops = PendingStops()
    private var link: CollectorLink
    private var recorder: SessionRecorder<ReceivedPart>
    private var rates = RateMeter()
    private var jobs: [DiskJob<ReceivedPart>] = []
    /// Of the jobs that have not been handed over.
    private var pendingBytes = 0
    private var outgoing: [(peer: PeerID, header: [UInt8])] = []
    private var dismissed: [PeerID] = []
    /// The protocol's time never goes back.
    private var latest: Int64 = 0
    private var nextTick: Int64 = 0
    private var nextReport: Int64 = 0
    /// Files that cannot be written: for want of room, or for another reason.
    private var stuckPaths: Set<String> = []
    private var pathsWithoutRoom: Set<String> = []
    private let wantRoom: () -> Void
    private(set) var failures: [String] = []
    private var isStopping = false
    private var sessionsEnded = 0

    init(
        settings: CollectorSettings, changeable: SharedSettings, layout: ArchiveLayout,
        recovered: RecoveredArchive, sessionNames: Set<String>,
        disk: DiskWriter<ReceivedPart>, control: ControlServer, logger: Logger,
        wantRoom: @escaping () -> Void,
        report: @escaping @Sendable (CollectorStatus) -> Void
    ) {
        self.settings = settings
        self.changeable = changeable
        self.wantRoom = wantRoom
        self.disk = disk
        self.control = control
        self.logger = logger
        self.report = report
        let archived = Self.archived(recovered)
        link = CollectorLink(settings: CollectorLinkSettings(software: settings.software)) {
            archived[$0]?[$1] ?? ArchivedRecords()
        }
        recorder = SessionRecorder(
            settings: SessionSettings(
                layout: layout, startAt: settings.startAt,
                startWindowNanoseconds: settings.startWindowNanoseconds,
                segmentNanoseconds: settings.segmentNanoseconds,
                idleTimeoutNanoseconds: settings.changeable.idleTimeoutNanoseconds,
                takenNames: sessionNames, software: settings.software), host: .current())
        record(recorder.resume(recovered, at: .now()))
        submit()
    }

    /// What of each source and spool is on disk: agents go on behind that.
    private static func archived(
        _ recovered: RecoveredArchive
    ) -> [String: [Identity: ArchivedRecords]] {
        recovered.spools.mapValues { spools in
            var records: [Identity: ArchivedRecords] = [:]
            for spool in spools {
                guard let identity = Identity(spool.spool) else { continue }
                records[identity] = ArchivedRecords(
                    persisted: spool.sequences.watermark,
                    goodbye: spool.hasGoodbye ? spool.goodbye : nil)
            }
            return records
        }
    }

    /// Whether the collector's work is over.
    var isDone: Bool { isStopping || (settings.endsWithSession && sessionsEnded > 0) }
    var hasOutgoing: Bool { !outgoing.isEmpty }

    /// Messages for agents, in their order.
    mutating func takeOutgoing() -> [(peer: PeerID, header: [UInt8])] {
        defer { outgoing.removeAll(keepingCapacity: true) }
        return outgoing
    }

    /// Peers that need not be heard any more.
    mutating func takeDismissed() -> [PeerID] {
        defer { dismissed.removeAll(keepingCapacity: true) }
        return dismissed
    }

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
        let guest = message.guest
        guard guest.endsAt == nil else { return }
        let arrival = now.earlier(message.arrivedNanoseconds)
        latest = max(latest, arrival.monotonic)
        let peer = guest.peer
        let incoming = IncomingMessage(
            peer: peer, address: guest.address, right: guest.right,
            header: message.header.bytes, payloadSizeBytes: message.payload?.count,
            extraParts: message.extraParts)
        let actions = link.received(incoming, now: latest)
        perform(actions, payload: message.payload, peer: peer, at: arrival)
    }

    /// A peer could not be reached any more.
    mutating func lost(_ peer: PeerID) {
        let now = Instant.now()
        latest = now.monotonic
        perform(link.peerGone(peer, now: now.monotonic), payload: nil, peer: peer, at: now)
    }

    /// What keys allow has changed while their holders are connected.
    mutating func follow(_ changes: [Guests.Change]) {
        let now = Instant.now()
        latest = now.monotonic
        for change in changes {
            let actions = link.rightChanged(
                of: change.guest.peer, to: change.guest.right, else: change.text,
                now: now.monotonic)
            perform(actions, payload: nil, peer: change.guest.peer, at: now)
        }
    }

    /// Lets time pass.
    mutating func tick() {
        let now = Instant.now()
        guard now.monotonic >= nextTick else {
            // The disk is woken ten times a second, or for much.
            if pendingBytes >= DiskWriter<ReceivedPart>.urgentBytes { submit() }
            return
        }
        nextTick = now.monotonic + Self.tickNanoseconds
        latest = now.monotonic
        perform(link.tick(now: now.monotonic), payload: nil, peer: nil, at: now)
        recorder.idleTimeoutNanoseconds = changeable.current.idleTimeoutNanoseconds
        record(recorder.tick(at: now, wallErrorNanoseconds: HostClock.wallError()))
        submit()
        if now.monotonic >= nextReport {
            nextReport = now.monotonic + Self.reportNanoseconds
            let sessionNow = recorder.sessionZero.map { now.monotonic - $0 }
            report(
                CollectorStatus(
                    session: recorder.sessionName,
                    sources: rates.status(
                        recorder.progress, sessionNow: sessionNow, now: now.monotonic),
                    trouble: trouble))
        }
    }

    /// What keeps it from recording, in a few words; nil: nothing.
    private var trouble: String? {
        if !pathsWithoutRoom.isEmpty {
            return "there is no room on the disk, agents keep what they have"
        }
        return stuckPaths.min().map { "\($0) cannot be written" }
    }

    /// Ends the session and says goodbye to agents.
    mutating func stop() {
        let now = Instant.now()
        logger.info("stopping: finishing files")
        record(recorder.end(.collectorStopped, at: now))
        submit()
        isStopping = true
    }

    /// Does what people at the server ask for.
    mutating func answerQuestions() {
        for question in control.takeQuestions() {
            switch question.request.request {
            case .stopSession(let name):
                stopSession(name, for: question)
            case .unknown:
                control.answer(
                    question,
                    .failure(
                        .unknownRequest,
                        "this collector (\(settings.software)) does not know that request"))
            }
        }
    }

    /// Ends the session; who asked for it hears when its files are final.
    private mutating func stopSession(_ name: String?, for question: ControlServer.Question) {
        let now = Instant.now()
        guard !isStopping else {
            control.answer(question, .failure(.stopping, "the collector is ending already"))
            return
        }
        guard let session = recorder.session(at: now), name == nil || name == session.name else {
            let present = recorder.sessionName.map { "; \($0) is being recorded" } ?? ""
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
        record(recorder.end(.stopped, at: now))
        submit()
    }

    /// Tells agents that the collector goes; called after the disk has finished.
    mutating func sayGoodbye() {
        let now = Instant.now()
        perform(link.stop(now: now.monotonic), payload: nil, peer: nil, at: now)
    }

    /// Follows what the disk has done.
    mutating func collectDiskEvents() {
        for event in disk.takeEvents() {
            switch event {
            case .written(let source, let size):
                link.released(bytes: size, source: source)
            case .persisted(let records):
                persisted(records)
            case .finished(let id, let path, let size, let duration):
                let milliseconds = duration / .milliseconds(1)
                logger.info(
                    "finished \(path), \(size) bytes, in \(Int(milliseconds.rounded())) ms",
                    metadata: ["source": "\(id.source)"])
            case .ended(let session):
                logger.info("session \(session) is finished")
                for (question, reply) in stops.finished(session) {
                    control.answer(question, reply)
                }
            case .stuck(let path, let error):
                stuck(path, error)
            case .unstuck(let path):
                unstuck(path)
            case .removed(let removal):
                logger.info("removed \(removal)")
            case .notRemoved(let removal, let error):
                logger.warning("\(error); \(removal) stays for now")
            case .abandoned(let path, let error):
                failures.append("\(path): \(error.reason)")
                logger.error("gave up: \(error)")
            }
        }
    }

    private mutating func stuck(_ path: String, _ error: ArchiveError) {
        guard error.isForRoom else {
            if stuckPaths.insert(path).inserted {
                logger.error("\(error); trying again every second, agents keep what they have")
            }
            return
        }
        if pathsWithoutRoom.isEmpty {
            // One line for the disk, not one for each of its files.
            logger.error(
                "\(error); recording goes on when there is room again, agents keep what they have")
        }
        if pathsWithoutRoom.insert(path).inserted { wantRoom() }
    }

    private mutating func unstuck(_ path: String) {
        if pathsWithoutRoom.remove(path) != nil {
            if pathsWithoutRoom.isEmpty { logger.notice("there is room again: recording goes on") }
        } else {
            stuckPaths.remove(path)
            logger.notice("writing \(path) works again")
        }
    }

    private mutating func persisted(_ records: PersistedRecords) {
        guard let watermark = recorder.persisted(records),
            let spool = Identity(records.spool)
        else { return }
        link.persisted(source: records.source, spool: spool, sequence: watermark)
    }
}

extension CollectorLoop {
    private mutating func perform(
        _ actions: [CollectorAction], payload: ReceivedPart?, peer: PeerID?, at now: Instant
    ) {
        for action in actions {
            switch action {
            case .send(let peer, let header):
                outgoing.append((peer, header))
            case .dismissed(let peer):
                dismissed.append(peer)
            case .opened(let source):
                logger.info(
                    "connected from \(source.address)",
                    metadata: ["source": "\(source.name)", "agent": "\(source.agent)"])
                if let missing = source.missing {
                    logger.info(
                        "continues its numbering after record \(missing.upperBound)",
                        metadata: ["source": "\(source.name)"])
                }
                record(
                    recorder.open(
                        SourceIntroduction(source),
                        received: source.missing?.upperBound ?? source.received,
                        missing: source.missing, at: now))
            case .samples(let source, let samples):
                guard let payload, let peer else {
                    preconditionFailure("samples come with the message that has just been given")
                }
                take(samples, payload: payload, of: source, from: peer, at: now)
            case .gap(let source, let gap):
                record(recorder.gap(gap, of: source, at: now))
            case .trackUpdate(let source, let update):
                record(recorder.format(update, of: source, at: now))
            case .goodbye(let source, let goodbye):
                record(recorder.goodbye(goodbye, of: source, at: now))
            case .clockExchanges(let epoch, let exchanges):
                recorder.exchanges(exchanges, epoch: epoch)
            case .health:
                break
            case .closed(let source, let reason):
                close(source, reason, at: now)
            case .log(let line):
                log(line)
            }
        }
    }

    /// Records samples whose payload is what it should be; otherwise the sender is refused.
    private mutating func take(
        _ samples: Samples, payload: ReceivedPart, of source: String, from peer: PeerID,
        at now: Instant
    ) {
        if let flaw = payload.withUnsafeBytes({ AccessUnitCheck.flaw(in: samples, payload: $0) }) {
            perform(
                link.refuse(peer, .malformed, flaw, takingBack: samples, now: now.monotonic),
                payload: nil, peer: nil, at: now)
            return
        }
        record(recorder.samples(samples, payload: payload, of: source, at: now))
    }

    private mutating func close(_ source: String, _ reason: CloseReason, at now: Instant) {
        switch reason {
        case .complete, .replaced, .stopping:
            break
        case .silent:
            logger.warning("\(reason); waiting for it", metadata: ["source": "\(source)"])
            record(recorder.disconnected(source, at: now))
        case .refused:
            failures.append("\(source): \(reason)")
            record(recorder.giveUp(source, at: now))
        }
    }

    private mutating func record(_ actions: [SessionRecorder<ReceivedPart>.Action]) {
        for action in actions {
            switch action {
            case .job(let job):
                jobs.append(job)
                if case .append(_, let fragment) = job { pendingBytes += fragment.sizeBytes }
                if case .open(let id, let path, _, _) = job {
                    logger.info("recording to \(path)", metadata: ["source": "\(id.source)"])
                }
            case .note(let note):
                let metadata: Logger.Metadata? = note.source.map { ["source": "\($0)"] }
                switch note.level {
                case .info: logger.info("\(note.text)", metadata: metadata)
                case .warning: logger.warning("\(note.text)", metadata: metadata)
                }
            case .unrecorded(let records):
                persisted(records)
            case .alreadyRecorded(let source, let size):
                link.released(bytes: size, source: source)
            case .sessionStarted(let name):
                link.sessionBegan(name)
                logger.info("session \(name) has begun")
            case .sessionResumed(let name):
                link.sessionBegan(name)
                logger.notice("session \(name) goes on where the collector before left it")
            case .sessionEnded(let name, let reason):
                sessionsEnded += 1
                link.sessionBegan("")
                logger.info("session \(name) has ended (\(reason.text))")
            }
        }
    }

    /// Hands the disk what has been decided.
    mutating func submit() {
        disk.submit(jobs)
        jobs.removeAll(keepingCapacity: true)
        pendingBytes = 0
    }

    private func log(_ line: LinkLog) {
        let metadata = Logger.Metadata(
            uniqueKeysWithValues: line.metadata.map { ($0.key, "\($0.value)") })
        let level: Logger.Level =
            switch line.level {
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
        logger.log(level: level, "\(line.text)", metadata: metadata)
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
        case .complete: "every source has said goodbye"
        case .idle: "no source has sent anything for long enough"
        case .stopped: "it was stopped"
        case .collectorStopped: "the collector is stopping"
        case .interrupted: "a crash interrupted it"
        }
    }
}

extension SourceIntroduction {
    init(_ source: OpenedSource) {
        self.init(
            name: source.name, agent: source.agent, address: source.address,
            spool: source.spool.bytes, epochs: source.epochs, tracks: source.tracks)
    }
}
