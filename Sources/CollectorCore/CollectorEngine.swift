import Archive
import Catalog
import Media
import Operations
import Wire

/// All decisions of a collector: the protocol and the session in one value, without sockets, files, clocks and threads.
///
/// Its inputs are messages, disk events and the time. Its outputs (messages to send, jobs for the disk, log lines) are
/// queued until they are fetched. A collector and its simulation run the same engine.
struct CollectorEngine {
    /// Information and requests for the caller.
    enum Notice: Sendable {
        /// All jobs of the session have been issued.
        case sessionEnded(String)
        /// Its files are final.
        case sessionFinished(String)
        /// The disk is full: retention should remove expired segments.
        case wantRoom
        /// An agent's answer to the command with that ticket, with the JPEG of a snapshot.
        case report(ticket: UInt64, CommandReply, payload: [UInt8])
        /// A box requests enrolment; answer with ``enrolled(_:_:at:)``.
        case enrol(PeerID, Enrol)
        /// The site is asked about a session; answer with ``agreed(_:on:at:)``.
        case propose(SiteProposal, ticket: UInt64)
    }

    private var link: CollectorLink
    private(set) var recorder: SessionRecorder
    private(set) var jobs: [DiskJob] = []
    /// Media of the jobs that have not been fetched.
    private var pending = PendingMedia()
    private var outgoing: [(peer: PeerID, header: [UInt8])] = []
    private var dismissed: [PeerID] = []
    private var lines: [LinkLog] = []
    private var logBudget = LogBudget()
    private var notices: [Notice] = []
    private var placed: [PlacedSamples] = []
    /// Latest time seen: the protocol's time never goes back.
    private var latest: Int64 = 0
    /// The collector's clock at its start: earlier exchanges were answered by another collector.
    private let firstNanoseconds: Int64
    /// Files that cannot be written: for lack of room, or for another reason.
    private var stuckPaths: Set<String> = []
    private var pathsWithoutRoom: Set<String> = []
    /// The archive's path leads elsewhere.
    private var isDetached = false
    /// Recording failures, reported when the program ends.
    var failures: [String] {
        lastingFailures + unauthorized.sorted { $0.key < $1.key }.map(\.value)
    }
    /// The first of each.
    private var lastingFailures: [String] = []
    /// The failures of sources whose keys were revoked while they were sending; a source that sends again has none.
    private var unauthorized: [String: String] = [:]
    private static var failuresKept: Int { 64 }
    /// Sources whose agents were refused while they were sending, since the session began, each with a word for the reason.
    private var shutOut: [String: String] = [:]
    /// By session: the first of its files that could not be finished because of its content.
    private var damages: [String: String] = [:]
    /// Since when nothing can be written.
    private var stuckSince: Int64?
    /// Time without a possible write after which agents are sent away: longer than retention or a busy disk delays writes.
    private static var stuckPatienceNanoseconds: Int64 { 2_000_000_000 }
    /// The disk has accepted an operation, and does not answer (``DiskStatistics/isHanging(now:)``).
    private var isDiskHanging = false
    private static var hanging: String { "the disk does not answer" }
    /// Whether agents are sent to other collectors.
    private(set) var isDraining = false
    private var nextMove: Int64 = 0
    /// Interval at which a drained collector sends agents away: each finds its new collector before the next one leaves.
    private static var moveNanoseconds: Int64 { 250_000_000 }
    private static var drained: String { "this collector is being drained" }
    /// The time at which each source has left since the drain began. An agent comes back if no other collector records it.
    private var departures: [String: Int64] = [:]
    /// A source counts as leaving for this time: its agent waits up to 4 s for another collector, and may then come back.
    private static var departureNanoseconds: Int64 { 6_000_000_000 }
    /// Maximum number of these sources; a collector keeps as many watermarks.
    private static var maximumDepartures: Int { 16_384 }
    /// For monitoring.
    private(set) var sourceCounters: SourceCounters
    /// The collectors of sources that are not connected here.
    private(set) var places = SourceLocations()
    private(set) var counts = Counts()
    /// Larger latencies are not counted: the samples are replayed, follow a long outage, or have wrong stamps.
    private static var longestCountedNanoseconds: Int64 { 3_600_000_000_000 }
    /// From the capture of a fragment's oldest sample until it was durable.
    private(set) var captureToDurable = LatencyHistogram(bounds: LatencyHistogram.ofRecording)

    /// For the next proofs; see ``stored(_:)``.
    private var storedWatermarks: [StoredRecords.Watermark] = []

    /// Counters since the start.
    struct Counts: Hashable, Sendable {
        var sessionsBegun: UInt64 = 0
        var sessionsEnded: UInt64 = 0
        var failedFiles: UInt64 = 0
        var removedSegments: UInt64 = 0
        var hasCatalog = true
    }

    var creditWindowBytes: Int { Int(link.windowBytes) }
    func credit(of peer: PeerID) -> (leftBytes: UInt64, windowBytes: UInt64)? {
        link.credit(of: peer)
    }
    /// Whether an agent waits for the answer of another one.
    var isAnswerAwaited: Bool { link.isAnswerAwaited }
    /// Sources that agents are sending now.
    var connectedSources: Int { link.connectedSources }
    /// Refusals of senders because of a message.
    var refusedMessages: [RefusalCause: UInt64] { link.refusals }
    /// Records that were received again, and dropped.
    var repeatedRecords: UInt64 { link.duplicateRecords }
    /// Files that wait for room; ``stuckFiles`` counts files that cannot be written for another reason.
    var filesWithoutRoom: Int { pathsWithoutRoom.count }
    var stuckFiles: Int { stuckPaths.count + (isDetached ? 1 : 0) }

    /// See ``SessionSettings/idleTimeoutNanoseconds``; takes effect at the next tick.
    var idleTimeoutNanoseconds: Int64 {
        get { recorder.idleTimeoutNanoseconds }
        set { recorder.idleTimeoutNanoseconds = newValue }
    }

    /// Whether the catalog's server was unavailable for the catalog's thread, or for the site's reports. It is logged once.
    private var isCatalogAway = false
    /// Whether the catalog's thread has changes that wait for the server.
    private var isCatalogWaiting = false
    /// Whether the last reports failed.
    private var isSiteAway = false
    /// Whether there is no catalog until it is rebuilt.
    private var isCatalogLost = false

    /// Why it is not recording, in a few words; nil: nothing is wrong.
    var trouble: String? {
        if isDetached { return recorder.settings.layout.detachment }
        if !pathsWithoutRoom.isEmpty {
            return "there is no room on the disk; agents keep their samples"
        }
        return stuckPaths.min().map { "\($0) cannot be written" }
    }

    /// Takes over the state that an earlier collector left.
    init(
        settings: SessionSettings, recovered: RecoveredArchive, host: HostClock, at now: Instant
    ) {
        var linkSettings = CollectorLinkSettings(software: settings.software)
        linkSettings.budgets = settings.agentBudgets
        if let most = settings.maximumSources { linkSettings.maximumSources = most }
        linkSettings.name = settings.name
        linkSettings.mirrored = settings.release.needsTwoCollectors
        link = CollectorLink(settings: linkSettings)
        recorder = SessionRecorder(settings: settings, host: host)
        firstNanoseconds = now.monotonic
        sourceCounters = SourceCounters(countsUnreleased: settings.release.waitsForStore)
        record(recorder.resume(recovered, at: now))
    }
}

extension CollectorEngine {
    var hasOutgoing: Bool { !outgoing.isEmpty }

    /// Messages for agents, in order.
    mutating func takeOutgoing() -> [(peer: PeerID, header: [UInt8])] {
        defer { outgoing.removeAll(keepingCapacity: true) }
        return outgoing
    }

    mutating func takeDismissed() -> [PeerID] {
        defer { dismissed.removeAll(keepingCapacity: true) }
        return dismissed
    }

    /// Whether the disk should have the jobs now: media alone can wait for the next commit.
    var hasUrgentJobs: Bool { pending.isUrgent }
    /// Whether an agent waits for the credit that they hold.
    var isCreditAwaited: Bool { pending.isCreditAwaited }

    /// Jobs for the disk, in order.
    mutating func takeJobs() -> [DiskJob] {
        defer {
            jobs.removeAll(keepingCapacity: true)
            pending.clear()
        }
        return jobs
    }

    mutating func takeLines() -> [LinkLog] {
        guard !lines.isEmpty else { return [] }
        defer { lines.removeAll() }
        return lines
    }

    /// Samples of watched sources, as they were placed.
    mutating func takePlaced() -> [PlacedSamples] {
        guard !placed.isEmpty else { return [] }
        defer { placed.removeAll() }
        return placed
    }

    /// The connections that send watched sources.
    func peers(of watched: WatchedSources) -> Set<PeerID> {
        link.peers(sending: watched.includes)
    }

    /// Sources whose placed samples are published in the feed.
    var watched: WatchedSources {
        get { recorder.watched }
        set {
            recorder.watched = newValue
            link.setWatch { newValue.requestedMilliseconds(of: $0) }
        }
    }

    mutating func takeNotices() -> [Notice] {
        guard !notices.isEmpty else { return [] }
        defer { notices.removeAll() }
        return notices
    }
}

// MARK: - Input

extension CollectorEngine {
    mutating func receive(_ message: IncomingMessage, payload: (any MediaPayload)?, at now: Instant)
    {
        latest = max(latest, now.monotonic)
        perform(
            link.received(message, now: latest, durable: recorder.durable), payload: payload,
            peer: message.peer, at: now)
    }

    mutating func lost(_ peer: PeerID, at now: Instant) {
        latest = max(latest, now.monotonic)
        perform(
            link.peerGone(peer, now: latest, durable: recorder.durable), payload: nil, peer: peer,
            at: now)
    }

    /// The rights of a connected peer's key have changed.
    mutating func rightChanged(
        of peer: PeerID, to right: WritingRight?, else text: String, at now: Instant
    ) {
        latest = max(latest, now.monotonic)
        perform(
            link.rightChanged(
                of: peer, to: right, else: text, now: latest, durable: recorder.durable),
            payload: nil,
            peer: peer, at: now)
    }

    /// A box's enrolment request has been processed.
    mutating func enrolled(
        _ peer: PeerID, _ outcome: CollectorLink.EnrolmentOutcome, at now: Instant
    ) {
        latest = max(latest, now.monotonic)
        perform(
            link.enrolled(peer, outcome, now: latest, durable: recorder.durable), payload: nil,
            peer: peer, at: now)
    }

    /// Processes the passing of time.
    /// - Parameters:
    ///   - heardUntil: everything that arrived before then has been processed, and nothing that arrived later; nil:
    ///     everything has.
    ///   - wallErrorNanoseconds: maximum error of the wall clock; nil: unchanged.
    mutating func tick(
        at now: Instant, heardUntil: Int64? = nil, wallErrorNanoseconds: Int64? = nil
    ) {
        latest = max(latest, now.monotonic)
        perform(
            link.tick(now: latest, heardUntil: heardUntil, durable: recorder.durable), payload: nil,
            peer: nil, at: now)
        record(
            recorder.tick(
                at: now, heardUntil: heardUntil.map(now.earlier) ?? now,
                wallErrorNanoseconds: wallErrorNanoseconds))
        link.setSessionClock(recorder.sessionClock)
        sendElsewhere(at: now)
        sourceCounters.forget(at: latest)
    }

    /// Sets whether the disk hangs: jobs neither succeed nor fail. Takes effect with the next tick.
    ///
    /// Media received before is neither written nor failed, so no other state of the engine shows a hung disk.
    mutating func setDiskHanging(_ isHanging: Bool) {
        guard isHanging != isDiskHanging else { return }
        isDiskHanging = isHanging
        if isHanging {
            log(.error, "\(Self.hanging): agents that have another collector are sent there")
        } else {
            log(.notice, "the disk answers again")
        }
    }

    /// Sends agents that have another collector to it, while nothing can be written here or this collector is drained.
    private mutating func sendElsewhere(at now: Instant) {
        let isStuck = trouble != nil
        if !isStuck { stuckSince = nil } else if stuckSince == nil { stuckSince = latest }
        let isStuckForGood =
            stuckSince.map { latest - $0 >= Self.stuckPatienceNanoseconds } ?? false
        let isForGood = isStuckForGood || isDiskHanging
        link.elsewhere =
            isStuckForGood
            ? trouble : isDiskHanging ? Self.hanging : isDraining ? Self.drained : nil
        guard let reason = link.elsewhere else { return }
        var peers = link.movablePeers
        if !isForGood {
            guard latest >= nextMove else { return }
            nextMove = latest + Self.moveNanoseconds
            peers = Array(peers.prefix(1))
        }
        for peer in peers {
            perform(
                link.sendElsewhere(
                    peer, because: reason, now: latest, durable: recorder.durable),
                payload: nil, peer: nil, at: now)
        }
    }

    /// Begins or ends a drain: agents that have another collector are sent to it one by one, and no such agent is admitted.
    mutating func drain(_ isDraining: Bool, at now: Instant) -> DrainProgress {
        latest = max(latest, now.monotonic)
        if isDraining != self.isDraining {
            self.isDraining = isDraining
            departures.removeAll()
            log(
                .notice,
                isDraining ? "drained: agents go to other collectors" : "not drained any more")
        }
        sendElsewhere(at: now)
        return DrainProgress(
            collector: recorder.settings.name, moving: isDraining ? link.movablePeers.count : 0,
            staying: isDraining ? link.immovableSources : [], unwritten: link.unwrittenSources,
            leaving: departures.values.count { latest - $0 < Self.departureNanoseconds },
            returned: isDraining ? link.returnedSources : [])
    }

    /// A source has left while the collector is drained, or was refused.
    private mutating func noteDeparture(of source: String) {
        guard isDraining else { return }
        if departures.count >= Self.maximumDepartures {
            departures = departures.filter { latest - $0.value < Self.departureNanoseconds }
        }
        guard departures.count < Self.maximumDepartures else { return }
        departures[source] = latest
    }

    /// Whether the site's database answered the last question.
    var isSiteReachable: Bool {
        get { recorder.isSiteReachable }
        set { recorder.isSiteReachable = newValue }
    }

    /// The site has answered a question about a session.
    /// - Parameter answer: nil: it has not.
    mutating func agreed(_ ticket: UInt64, on answer: SiteAgreement?, at now: Instant) {
        latest = max(latest, now.monotonic)
        record(recorder.agreed(ticket, on: answer, at: now))
    }

    /// A session is not the site's: its database has lost commits, or two were begun at once.
    mutating func siteDenied(_ session: String, at now: Instant) {
        recorder.siteDenied(session, at: now)
    }

    /// Sources of the session that have not ended and are not connected.
    var absentSources: [String] {
        recorder.sources.compactMap { name, recorder in
            let isOpen = recorder.value.hasJoined && !recorder.value.progress.isComplete
            let isHere = sourceCounters[name]?.isConnected ?? recorder.value.isConnected
            return isOpen && !isHere ? name : nil
        }
    }

    /// The site's answer about ``absentSources``.
    mutating func hear(_ answer: SourceLocations.Answer) { places.hear(answer, at: latest) }

    /// Returns credit to the agents to which much of it is due.
    mutating func returnCredit(at now: Instant) {
        latest = max(latest, now.monotonic)
        perform(
            link.returnCredit(now: latest, durable: recorder.durable), payload: nil, peer: nil,
            at: now)
    }

    /// Sends a command to an agent; the answer arrives as a notice.
    /// - Parameter ticket: not 0.
    mutating func command(
        _ request: CommandRequest, to source: String, ticket: UInt64, at now: Instant
    ) {
        latest = max(latest, now.monotonic)
        let actions = link.command(request, to: source, ticket: ticket, now: latest)
        perform(actions, payload: nil, peer: nil, at: now)
    }

    /// Ends the session. After a stop, connected encoders are asked for keyframes: the next session begins with the next
    /// sample, and its pictures cannot be decoded before the first keyframe. Cameras that encode themselves may not be able
    /// to.
    mutating func end(_ reason: SessionManifest.EndReason, at now: Instant) {
        let present = recorder.sources.keys.filter { sourceCounters[$0]?.isConnected == true }
        record(recorder.end(reason, at: now))
        guard reason == .stopped else { return }
        for source in present.sorted() {
            command(.keyframe, to: source, ticket: Self.ownTicket, at: now)
        }
    }

    /// The ticket of the engine's own commands, whose answers are ignored.
    private static let ownTicket: UInt64 = 0

    /// Writes everything that was received, and leaves the session open for the next collector.
    /// - Returns: the session; nil: there is none.
    mutating func suspend(at now: Instant) -> String? {
        record(recorder.suspend(at: now))
        return recorder.sessionName
    }

    /// Notifies agents that the collector is stopping; called after the disk has finished.
    mutating func sayGoodbye(at now: Instant) {
        latest = max(latest, now.monotonic)
        perform(link.stop(now: latest, durable: recorder.durable), payload: nil, peer: nil, at: now)
    }

    /// Processes an event of the disk thread.
    mutating func follow(_ event: DiskEvent, at now: Instant) {
        switch event {
        case .written(let source, let amount):
            link.released(amount, source: source)
            sourceCounters.wrote(amount.sizeBytes, of: source)
        case .persisted(let records):
            if let captured = records.capturedNanoseconds {
                let age = max(0, now.monotonic.clampedSubtracting(captured))
                if age <= Self.longestCountedNanoseconds { captureToDurable.add(.nanoseconds(age)) }
            }
            persisted(records)
        case .ended(let session):
            recorder.finished(session)
            log(LinkLog(.info, "session \(session) is finished", metadata: ["session": session]))
            notices.append(.sessionFinished(session))
        case .failed(let id, let error):
            recorder.failed(id)
            counts.failedFiles += 1
            log(
                .error,
                "\(error); the file ends with what is durable, and what followed is sent again",
                of: id.source)
        case .rescued(let rescued):
            goOn(rescued, at: now)
        case .stuck(let path, let error):
            stuck(path, error)
        case .unstuck(let path):
            unstuck(path)
        case .detached:
            isDetached = true
            log(
                .error,
                "\(recorder.settings.layout.detachment): mount it again, or restart the collector; agents keep their samples"
            )
        case .attached:
            isDetached = false
            log(.notice, "\(recorder.settings.layout.root) is back: recording continues")
        case .restored(let directory):
            record(recorder.restored(directory, at: now))
        case .notRemoved(let removal, let error):
            log(.warning, "\(error); will retry removing \(removal)")
        case .abandoned(let path, let error):
            // Nothing of it was acknowledged.
            let reason =
                isDetached ? recorder.settings.layout.detachment : "\(path): \(error.reason)"
            fail("\(reason); agents keep the rest")
            log(.error, "gave up: \(isDetached ? reason : "\(error)")")
        }
    }

    /// The first file of a finished session that could not be finished; nil: every file is final.
    mutating func takeDamage(of session: String) -> String? {
        damages.removeValue(forKey: session)
    }

    /// Counts and logs a recording event.
    mutating func hear(_ event: RecordingEvent) {
        let layout = recorder.settings.layout
        switch event {
        case .segmentBegan(let segment, _, _):
            sourceCounters.segmentBegan(of: segment.source)
            log(.info, "recording to \(layout.segment(segment))", of: segment)
        case .segmentFinished(let segment, let size, _, let duration):
            sourceCounters.segmentFinished(of: segment.source)
            let milliseconds = Int((duration / .milliseconds(1)).rounded())
            log(
                .info,
                "finished \(layout.segment(segment)), \(byteText(size)), in \(milliseconds) ms",
                of: segment)
        case .segmentRemoved(let segment, let cause):
            counts.removedSegments += 1
            log(.info, "removed \(layout.segment(segment)) (\(cause))", of: segment)
        case .segmentMoved(let segment):
            log(.debug, "removed the local copy of \(segment): the store has it")
        case .sessionRemoved(let session):
            log(
                LinkLog(
                    .info, "removed session \(session): it has no media left",
                    metadata: ["session": session]))
        case .sessionChanged(let session):
            log(
                LinkLog(
                    .info, "session \(session) was changed by another program",
                    metadata: ["session": session]))
        case .sessionDescribed, .sessionEnded, .sourceBegan, .sourceEnded, .sourceMended,
            .fragmentAppended, .durable, .noted, .segmentStored:
            break
        }
    }

    mutating func follow(_ report: CatalogReport) {
        switch report {
        case .lost(let error):
            isCatalogLost = true
            counts.hasCatalog = false
            log(
                .error,
                "\(error); recording continues without the catalog, which is rebuilt as soon as possible"
            )
        case .made(let sessions, let problems):
            for problem in problems { log(.warning, "not in the catalog: \(problem)") }
            if !counts.hasCatalog {
                log(.info, "the catalog matches the files again")
            } else if sessions > 0 {
                log(.info, "added or updated \(sessions) sessions in the catalog")
            }
            isCatalogLost = false
            isCatalogAway = false
            isCatalogWaiting = false
            counts.hasCatalog = true
        case .incomplete(let problems):
            for problem in problems { log(.warning, "the catalog is out of date: \(problem)") }
        case .complete:
            log(.info, "the catalog is complete again")
        case .mended(let complaint):
            log(.warning, complaint)
        case .locked(let error):
            if error.isForServer {
                isCatalogWaiting = true
                catalogIsAway(error)
            } else {
                log(
                    .warning,
                    "\(error): another program has locked it; recording continues, and the catalog is updated later"
                )
            }
        case .unlocked:
            isCatalogAway = false
            isCatalogWaiting = false
            counts.hasCatalog = true
            log(.info, "the catalog is up to date again")
        }
    }

    /// The site's reports use the catalog's server, also while the catalog has no changes.
    /// - Parameter outage: why the last reports were not written; nil: they were.
    mutating func followSite(outage: ArchiveError?) {
        guard (outage != nil) != isSiteAway else { return }
        isSiteAway = outage != nil
        if let outage {
            catalogIsAway(outage)
        } else if isCatalogAway, !isCatalogWaiting {
            isCatalogAway = false
            counts.hasCatalog = !isCatalogLost
            log(.info, "the catalog is up to date again")
        }
    }

    private mutating func catalogIsAway(_ error: ArchiveError) {
        counts.hasCatalog = false
        guard !isCatalogAway else { return }
        isCatalogAway = true
        log(
            .warning,
            "the catalog cannot be updated: \(error); recording continues, and the catalog catches up later"
        )
    }

    private mutating func stuck(_ path: String, _ error: ArchiveError) {
        guard error.isForRoom else {
            if stuckPaths.insert(path).inserted {
                log(.error, "\(error); trying again every second; agents keep their samples")
            }
            return
        }
        if pathsWithoutRoom.isEmpty {
            // One line for the disk, not one per file.
            log(
                .error,
                "\(error); recording continues when there is room again; agents keep their samples")
        }
        if pathsWithoutRoom.insert(path).inserted { notices.append(.wantRoom) }
    }

    private mutating func unstuck(_ path: String) {
        if pathsWithoutRoom.remove(path) != nil {
            if pathsWithoutRoom.isEmpty {
                log(.notice, "there is room again: recording continues")
            }
        } else if stuckPaths.remove(path) != nil {
            log(.notice, "writing \(path) works again")
        }
    }

    /// The object store has more records than before.
    /// - Returns: the new watermarks, up to which the store has every record that it needs.
    mutating func stored(_ news: [StoredRecords.Addition]) -> [StoredRecords.Watermark] {
        for records in news where recorder.stored(records) {
            noteStored(records.source, records.spool)
        }
        defer { storedWatermarks.removeAll() }
        return storedWatermarks
    }

    /// The released watermark of a spool may have moved.
    private mutating func noteStored(_ source: String, _ spool: SpoolID) {
        link.becameReleased(source: source, spool: spool)
        let through = recorder.durable.stored(source: source, spool: spool)
        let released = recorder.durable.released(
            source: source, spool: spool, keptFrom: link.keptFrom(source, spool: spool))
        sourceCounters.stored(source, spool: spool, upTo: released ?? through)
        storedWatermarks.append(
            StoredRecords.Watermark(source: source, spool: spool, through: through))
    }

    /// Whether an agent whose source has ended waits until the object store has all of it.
    var isWaitingForRelease: Bool { link.isWaitingForRelease(durable: recorder.durable) }

    private mutating func persisted(_ records: PersistedRecords) {
        guard let watermark = recorder.persisted(records) else { return }
        durable(records.source, spool: records.spool, through: watermark)
    }

    /// Everything of a spool up to a record is on disk.
    private mutating func durable(_ source: String, spool: SpoolID, through watermark: UInt64) {
        link.becameDurable(source: source, spool: spool, through: watermark)
        sourceCounters.persisted(source, spool: spool, upTo: watermark, at: latest)
    }

    /// A source's files are consistent again after a failure: its agent sends the missing records again.
    private mutating func goOn(_ rescued: RescuedSource, at now: Instant) {
        for note in rescued.notes { log(LinkLog(note)) }
        let session = rescued.id.session
        if damages[session] == nil {
            damages[session] = rescued.notes.first { $0.level == .error }?.text
        }
        let name = rescued.id.source
        guard recorder.canGoOn(rescued) else {
            record(recorder.writeOff(rescued, at: now))
            return
        }
        record(recorder.goOn(rescued, at: now))
        guard let spool = recorder.spool(of: name) else { return }
        perform(
            link.rewind(name, spool: spool, now: latest, durable: recorder.durable), payload: nil,
            peer: nil,
            at: now)
    }
}

// MARK: - Implementation

extension CollectorEngine {
    private mutating func perform(
        _ actions: [CollectorAction], payload: (any MediaPayload)?, peer: PeerID?, at now: Instant
    ) {
        for action in actions {
            switch action {
            case .send(let peer, let header):
                outgoing.append((peer, header))
            case .dismissed(let peer):
                dismissed.append(peer)
            case .opened(let source):
                open(source, at: now)
            case .samples(let source, let samples):
                guard let payload, let peer else {
                    preconditionFailure("samples come with the message that has just been given")
                }
                take(samples, payload: payload, of: source, from: peer, at: now)
            case .gap(let source, let gap):
                sourceCounters.missed(gap.samples, of: source, cause: gap.cause.description)
                record(recorder.gap(gap, of: source, at: now))
            case .trackUpdate(let source, let update):
                record(recorder.format(update, of: source, at: now))
            case .goodbye(let source, let goodbye):
                record(recorder.goodbye(goodbye, of: source, at: now))
            case .clockExchanges(let owner, let epoch, let exchanges):
                // An agent may still hold exchanges with an earlier collector, which may have had another clock.
                let own = exchanges.filter { $0.t2 >= firstNanoseconds && $0.t3 <= latest }
                if !own.isEmpty { recorder.exchanges(own, by: owner, epoch: epoch) }
            case .health(let source, let health):
                sourceCounters.reported(health, of: source, at: latest)
            case .report(Self.ownTicket, _):
                break
            case .report(let ticket, let reply):
                var picture: [UInt8] = []
                // The message may also be one for which its sender was refused, together with all its commands.
                if reply.payloadSizeBytes != nil, let payload {
                    picture = withExtendedLifetime(payload) { Array(payload.memory) }
                }
                notices.append(.report(ticket: ticket, reply, payload: picture))
            case .enrol(let peer, let enrol):
                notices.append(.enrol(peer, enrol))
            case .closed(let source, let reason):
                close(source, reason, at: now)
            case .turnedAway(let sources):
                places.turnedAway(sources)
                for source in sources { noteDeparture(of: source) }
            case .log(let line):
                log(line)
            }
        }
    }

    private mutating func open(_ source: SourceIntroduction, at now: Instant) {
        sourceCounters.opened(source, at: latest)
        places.opened(source.name, at: latest)
        departures[source.name] = nil
        shutOut[source.name] = nil
        unauthorized[source.name] = nil
        log(
            LinkLog(
                .info, "connected from \(source.address)",
                metadata: ["source": source.name, "agent": source.agent]))
        if let missing = source.missing {
            log(
                .info, "continues its numbering after record \(missing.upperBound)", of: source.name
            )
        }
        record(recorder.open(source, at: now))
    }

    /// Records samples whose payload is valid; otherwise the sender is refused.
    private mutating func take(
        _ sent: Samples, payload: any MediaPayload, of source: String, from peer: PeerID,
        at now: Instant
    ) {
        var samples = sent
        let flaw = withExtendedLifetime(payload) {
            AccessUnitCheck.flaw(in: samples, payload: payload.memory)
        }
        if let flaw {
            perform(
                link.refuse(
                    peer, .malformed, flaw, takingBack: samples, now: latest,
                    durable: recorder.durable),
                payload: nil, peer: nil, at: now)
            return
        }
        withExtendedLifetime(payload) {
            samples = AccessUnitCheck.withTrueKeyframes(
                samples, payload: payload.memory, codec: link.videoCodec(of: source))
        }
        sourceCounters.took(samples, of: source, at: latest)
        let credit = link.credit(of: peer, source: samples.source)
        let window = credit?.windowBytes ?? WireLimits.smallestCreditWindowBytes
        record(
            recorder.samples(
                samples, payload: payload, of: source, roomBytes: Int(window / 2), at: now))
        guard pending.holds(source), let credit else { return }
        // The next record may be as large as this one, or twice as large.
        let next = UInt64(samples.payloadSizeBytes) * 2
        if credit.leftBytes < max(next, window / 4) { pending.awaitCredit(of: source) }
    }

    private mutating func close(_ source: String, _ reason: CloseReason, at now: Instant) {
        sourceCounters.closed(source, isComplete: reason == .complete, at: latest)
        if reason == .moved { places.sentAway(source, at: latest) }
        switch reason {
        case .moved, .silent, .throttled, .rewound, .refused: noteDeparture(of: source)
        case .complete, .replaced, .stopping: departures[source] = nil
        }
        switch reason {
        case .complete, .replaced, .stopping, .rewound:
            break
        case .silent:
            log(.warning, "\(reason); waiting for it", of: source)
            record(recorder.disconnected(source, at: now))
        case .throttled, .moved:
            record(recorder.disconnected(source, at: now))
        case .refused(let refusal):
            let failure = "\(source): \(reason)"
            // The key was valid when the agent connected, and has been revoked since.
            if refusal == .unauthorized {
                if unauthorized.count < Self.failuresKept { unauthorized[source] = failure }
                shutOut[source] = "revoked"
            } else {
                fail(failure)
                shutOut[source] = "refused"
            }
            record(recorder.giveUp(source, at: now))
        }
    }

    private mutating func record(_ actions: [SessionRecorder.Action]) {
        for action in actions {
            switch action {
            case .job(let job):
                append(job)
                if case .append(let segment, let fragment) = job {
                    pending.add(fragment.sizeBytes, of: segment.source)
                } else {
                    pending.hurry()
                }
            case .note(let note):
                let level: LinkLog.Level =
                    switch note.level {
                    case .info: .info
                    case .warning: .warning
                    }
                var metadata = note.source.map { ["source": $0] } ?? [:]
                metadata["session"] = note.session
                log(LinkLog(level, note.text, metadata: metadata))
            case .lost(let source, let cause, let samples):
                sourceCounters.missed(samples, of: source, cause: cause)
            case .durable(let source, let spool, let through):
                durable(source, spool: spool, through: through)
            case .unrecorded(let records):
                if recorder.durable.forgo(records) { noteStored(records.source, records.spool) }
                persisted(records)
            case .released(let source, let amount):
                link.released(amount, source: source)
            case .placed(let samples):
                placed.append(samples)
            case .propose(let proposal, let ticket):
                notices.append(.propose(proposal, ticket: ticket))
            case .sessionStarted(let name):
                counts.sessionsBegun += 1
                link.sessionBegan(name)
                log(LinkLog(.info, "session \(name) has begun", metadata: ["session": name]))
            case .sessionResumed(let name):
                link.sessionBegan(name)
                log(
                    LinkLog(
                        .notice, "resuming session \(name) of the previous collector",
                        metadata: ["session": name]))
            case .sessionEnded(let name, let reason):
                notices.append(.sessionEnded(name))
                counts.sessionsEnded += 1
                link.sessionBegan("")
                let ends = shutOut.sorted { $0.key < $1.key }.map { "\($0.key) was \($0.value)" }
                let text =
                    reason == .complete && !ends.isEmpty
                    ? ends.joined(separator: ", ") : reason.text
                shutOut.removeAll()
                log(
                    LinkLog(
                        .info, "session \(name) has ended (\(text))", metadata: ["session": name]))
            }
        }
    }

    private mutating func log(_ level: LinkLog.Level, _ text: String, of source: String? = nil) {
        log(LinkLog(level, text, metadata: source.map { ["source": $0] } ?? [:]))
    }

    /// A segment may be of an earlier session than the one that is recorded.
    private mutating func log(_ level: LinkLog.Level, _ text: String, of segment: SegmentKey) {
        log(
            LinkLog(
                level, text, metadata: ["source": segment.source, "session": segment.session]))
    }

    private mutating func log(_ line: LinkLog) {
        guard var line = logBudget.pass(line, now: latest) else { return }
        if line.metadata["session"] == nil, let session = recorder.sessionName {
            line.metadata["session"] = session
        }
        lines.append(line)
    }

    private mutating func fail(_ text: String) {
        guard lastingFailures.count < Self.failuresKept, !lastingFailures.contains(text) else {
            return
        }
        lastingFailures.append(text)
    }

    /// Adds a job for the disk. Of the session descriptions that are submitted together, only two are written: the
    /// first, before everything else of the session, and the last. So a hundred sources that join together cost no more
    /// writes than one.
    private mutating func append(_ job: DiskJob) {
        if case .describe(let manifest) = job {
            let places = jobs.indices.filter {
                if case .describe(let other) = jobs[$0] {
                    other.session == manifest.session
                } else {
                    false
                }
            }
            if places.count > 1, let last = places.last { jobs.remove(at: last) }
        }
        jobs.append(job)
    }
}

extension ArchiveLayout {
    /// Text for an archive whose path leads elsewhere (``Disk/isAttached()``).
    var detachment: String { "the archive \(root) was removed, replaced or unmounted" }
}
