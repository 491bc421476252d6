import Archive
import Catalog
import Media
import Timing
import Wire

/// Turns the messages of agents into one session: determines its zero, places every sample on its timeline, and assigns
/// it to a file. A value: it owns no socket, no file and no clock.
///
/// A session begins with its first sample. It ends when every participating source has ended, when no source has sent
/// anything for the idle timeout, or when ``end(_:at:)`` is called. Until zero is known (the start window), samples are
/// held. A session that a crash interrupted is resumed (``resume(_:at:)``).
struct SessionRecorder: Sendable {
    enum Action: Sendable {
        case job(DiskJob)
        case note(Note)
        /// Records of a source are finally lost, and its ledger states it.
        /// - samples: 0: their number is unknown.
        case lost(source: String, cause: String, samples: UInt64 = 0)
        /// All of a source's records up to one are on disk.
        case durable(source: String, spool: SpoolID, through: UInt64)
        /// Samples have been placed on the timeline; only for sources that are watched.
        case placed(PlacedSamples)
        /// Records that need not be kept.
        case unrecorded(PersistedRecords)
        /// Media of a source that leaves memory without being written: it is already on disk, is sent again, or is left out.
        case released(source: String, MediaAmount)
        case sessionStarted(name: String)
        case sessionResumed(name: String)
        /// All jobs of the session have been issued.
        case sessionEnded(name: String, SessionManifest.EndReason)
        /// The site is asked about a session; ``agreed(_:on:at:)`` has the answer.
        case propose(SiteProposal, ticket: UInt64)
    }

    /// A line for the log.
    struct Note: Hashable, Sendable {
        enum Level: Sendable { case info, warning }
        var level: Level
        var source: String?
        /// The source's session at the time of the event, which may have ended before the note is logged; nil: the present one.
        var session: String?
        var text: String
    }

    /// An event of a source, in order.
    private enum Event: Sendable {
        /// The source has reconnected while its earlier events were held: the next events may be of another spool and of
        /// another clock.
        case opened(SourceIntroduction, durable: UInt64)
        /// - arrived: on the collector's monotonic clock; they may be held.
        case samples(
            Samples, any MediaPayload, PartialMessage? = nil, roomBytes: Int, arrived: Int64)
        case gap(GapRecord)
        case format(TrackUpdate, isKnown: Bool)
        case goodbye(Goodbye, isKnown: Bool)
        /// Records that an earlier session has.
        case earlier(ClosedRange<UInt64>)
        /// Records that are lost everywhere.
        case gone(ClosedRange<UInt64>, spool: SpoolID)
    }

    private struct TrackKey: Hashable {
        var source: String
        var track: TrackKind
    }

    private enum State: Sendable {
        case idle
        /// Samples are held. Zero is the earliest of those that arrive until the deadline, and until every track of the sources
        /// that sent them has begun: audio may arrive later than pictures that were captured after it.
        case gathering(deadline: Int64, latest: Int64)
        /// Samples are still held: the site may have a session.
        case agreeing(SessionBeginning)
        case recording(SessionManifest)
    }

    private(set) var settings: SessionSettings
    private var takenNames: Set<String>
    private var state = State.idle
    /// Events that are held until zero is known, in order.
    private var held: [(source: String, event: Event)] = []
    /// Whether a source has joined the session without being in its description yet; and when that was last written.
    private var isDescriptionDue = false
    private var describedNanoseconds: Int64 = .min / 2
    private static var descriptionNanosecondsEach: Int64 { 2_000_000 }
    /// Maximum wait for a track whose source has sent samples of another track, in start windows.
    private static var windowsForTracks: Int64 { 4 }
    /// Arrival of the oldest held event.
    private var heldSinceNanoseconds: Int64?
    /// The last introductions of sources whose return is held.
    private var heldIntroductions: [String: SourceIntroduction] = [:]
    /// Sources that were finally refused and have held events.
    private var heldToClose: Set<String> = []
    /// Sources whose goodbye is held.
    private var heldGoodbyes: Set<String> = []
    /// Sources that are connected, and sources that are part of the session.
    var sources: [String: CopyOnWrite<SourceRecorder>] = [:]
    /// Sources whose placed samples are reported.
    var watched = WatchedSources()
    /// Durable records, which outlive sessions: the last acknowledgement of a source is due after its session has ended.
    var durable: DurableRecords
    /// Ended sessions whose files are not final yet, with the progress of each source: files may fail after their
    /// session's end.
    private(set) var endedSessions: [(name: String, spools: [String: [SessionManifest.SpoolEnd]])] =
        []
    private(set) var clocks = AgentClocks()
    /// Ties a resumed session to the agents' clocks, until its end.
    private var tie: SessionTie?
    /// The site's agreement to the session.
    private var agreement = SessionAgreement()
    /// Sessions that an operator ended here; later samples begin another session.
    private var stoppedSessions: Set<String> = []
    /// By source: records that other collectors hold, and that its ledger does not mention yet.
    private var recordsElsewhere: [String: [(spool: SpoolID, records: HeldRange)]] = [:]
    private var begunSessions: Allowance
    private var host: HostClock
    /// When something was last recorded, on the collector's monotonic clock.
    var lastRecordNanoseconds: Int64 = 0
    /// A resumed session does not end before its agents had time to reconnect, if only to receive the last acknowledgement.
    private var mayEndNanoseconds: Int64 = .min
    /// Time for agents to return to a resumed session: longer than the pause between two connections, plus clock probes.
    private static var returnNanoseconds: Int64 { 10_000_000_000 }
    /// Sources whose last samples were kept on the box before they were sent: their agents may have spools of later runs,
    /// which are sent one after the other. The session does not end before an agent had time to connect with the next one.
    private var lateGoodbyes: [String: LateGoodbye] = [:]

    private struct LateGoodbye {
        /// Earliest end of the session on the monotonic clock; extended while the source's records are not durable, up to
        /// ``latestNanoseconds``.
        var waitNanoseconds: Int64
        let latestNanoseconds: Int64

        /// Time for an agent to connect with its next spool, once all of one is durable.
        private static var nextSpoolNanoseconds: Int64 { 2_000_000_000 }

        init(at now: Int64) {
            waitNanoseconds = now.clampedAdding(Self.nextSpoolNanoseconds)
            latestNanoseconds = now.clampedAdding(SessionRecorder.returnNanoseconds)
        }

        mutating func extend(at now: Int64) {
            waitNanoseconds = min(
                latestNanoseconds, now.clampedAdding(Self.nextSpoolNanoseconds))
        }
    }

    init(settings: SessionSettings, host: HostClock = HostClock()) {
        self.settings = settings
        durable = DurableRecords(policy: settings.release)
        takenNames = settings.takenNames
        begunSessions = Allowance(
            burst: settings.budgets.sessionBurst,
            nanosecondsEach: settings.budgets.sessionNanoseconds)
        self.host = host
    }

    /// Takes over the state of an earlier collector: the records on disk, and the session to resume, if there is one.
    mutating func resume(_ archive: RecoveredArchive, at now: Instant) -> [Action] {
        precondition(sources.isEmpty, "what was left is taken over before anything else")
        durable = DurableRecords(
            archive.spools, session: archive.session, policy: settings.release)
        guard let session = archive.session else { return [] }
        agreement.resumed(at: now.monotonic)
        var manifest = session.manifest
        let moved = manifest.findZero(host, at: now)
        if moved != nil {
            let end = session.sources.flatMap { $0.ends.values }.map(\.nanoseconds).max()
            manifest.placeZero(soThatNowIsAfter: end ?? .min, at: now)
        }
        enter(.recording(manifest))
        tie = SessionTie(session, manifest, isNewClock: moved != nil)
        lastRecordNanoseconds = now.monotonic
        mayEndNanoseconds = now.monotonic + Self.returnNanoseconds
        var actions: [Action] = [.sessionResumed(name: manifest.session)]
        for source in session.sources {
            let recorder = SourceRecorder(
                resuming: source, spools: archive.spools[source.entry.name] ?? [], in: manifest,
                settings: settings)
            sources[recorder.name] = CopyOnWrite(recorder)
            if let reopening = recorder.reopening { actions.append(reopening) }
            let key = SourceKey(session: manifest.session, source: recorder.name)
            actions += source.unwritten.map { .job(.note(key, $0, records: nil)) }
            if let moved { actions += sources[recorder.name]?.value.noted(moved, at: now) ?? [] }
        }
        if let moved { actions.append(.note(Note(level: .warning, source: nil, text: moved))) }
        actions.append(writeManifest())
        return actions
    }

    /// See ``SessionSettings/idleTimeoutNanoseconds``; takes effect at the next tick.
    var idleTimeoutNanoseconds: Int64 {
        get { settings.idleTimeoutNanoseconds }
        set { settings.idleTimeoutNanoseconds = newValue }
    }

    /// The spool of a source's present records.
    func spool(of source: String) -> SpoolID? {
        heldIntroductions[source]?.spool ?? sources[source]?.value.spool
    }

    var manifest: SessionManifest? {
        if case .recording(let manifest) = state { manifest } else { nil }
    }

    /// The session's name, if it has begun.
    var sessionName: String? {
        if case .recording(let manifest) = state { manifest.session } else { nil }
    }

    /// The session's zero on the collector's monotonic clock, nanoseconds.
    // Stored, not computed from the state: Swift 6.3.1's optimiser fails on the latter once it is inlined.
    private(set) var sessionZero: Int64?
    /// ``sessionZero`` as sent to agents.
    private(set) var sessionClock: SessionClock?

    private mutating func enter(_ new: State) {
        state = new
        sessionZero = manifest?.presentZeroNanoseconds
        sessionClock = manifest?.sessionClock
    }

    /// The present session; nil while there is none.
    func session(at now: Instant) -> StoppedSession? {
        guard case .recording(let manifest) = state else { return nil }
        return StoppedSession(
            name: manifest.session,
            durationNanoseconds: now.monotonic - manifest.presentZeroNanoseconds,
            sources: sources.values.filter(\.value.hasJoined).map(\.value.progress)
                .sorted { $0.name < $1.name }
                .map {
                    StoppedSession.Source(
                        name: $0.name, pictures: $0.pictures, soundPackets: $0.soundPackets,
                        payloadBytes: $0.payloadBytes, lostSamples: $0.lostSamples)
                })
    }

    /// The progress of each source, by name.
    var progress: [SourceProgress] {
        sources.values.map(\.value.progress).sorted { $0.name < $1.name }
    }

    // MARK: Events of sources

    /// A source has connected or reconnected.
    mutating func open(_ introduction: SourceIntroduction, at now: Instant) -> [Action] {
        let name = introduction.name
        let spool = introduction.spool
        heldToClose.remove(name)
        lateGoodbyes[name] = nil
        let missing = introduction.missing
        var lost = missing.map { [$0] } ?? []
        var absent: [ClosedRange<UInt64>] = []
        var actions: [Action] = []
        if let missing {
            let own = durable.durable(source: name, spool: spool)
            absent = own.missing(in: missing)
            let known = noteElsewhere(introduction.held, within: missing, own: own, of: name, spool)
            lost = known.missing(in: missing)
            if sources[name]?.value.hasJoined != true, !known.ranges.isEmpty {
                // There may be no session before the agent ends.
                let records = PersistedRecords(
                    source: name, spool: spool, sequences: known.ranges)
                actions.append(.unrecorded(records))
            }
        }
        durable.begin(
            source: name, spool: spool, received: missing?.upperBound ?? introduction.received,
            missing: missing)
        durable.note(term: introduction.statement.term, source: name, spool: spool)
        for range in absent { durable.note(absent: range, source: name, spool: spool) }
        let persisted = durable.persisted(source: name, spool: spool)
        for range in lost where persisted < range.upperBound {
            // Without this, the agent would never finish.
            if isHeld(name) {
                hold(.gone(range, spool: spool), of: name)
            } else {
                actions += neverCame(range, of: name, spool, at: now)
            }
        }
        defer { for epoch in introduction.epochs { tieZero(to: epoch.identity) } }
        guard sources[name]?.value.hasJoined == true else {
            if sources[name] != nil, isHeld(name) {
                hold(.opened(introduction, durable: persisted), of: name)
            } else {
                sources[name] = CopyOnWrite(
                    SourceRecorder(introduction, settings: settings))
            }
            return actions
        }
        let elsewhere = takeElsewhere(of: name)
        actions +=
            sources[name]?.value.reopen(introduction, durable: persisted, held: elsewhere, at: now)
            ?? []
        return actions + relate(name, at: now)
    }

    /// Registers the records that other collectors hold, for the ledger.
    /// - Parameters:
    ///   - missing: records that are not here and that no agent has.
    ///   - own: records that are here, although they may be among those.
    /// - Returns: those that a collector holds.
    private mutating func noteElsewhere(
        _ held: [HeldRange], within missing: ClosedRange<UInt64>, own: SequenceSet,
        of name: String, _ spool: SpoolID
    ) -> SequenceSet {
        var known = SequenceSet()
        for range in held where range.sequences.overlaps(missing) {
            for part in own.missing(in: range.sequences.clamped(to: missing)) {
                known.insert(part)
                recordsElsewhere[name, default: []].append(
                    (spool, HeldRange(collector: range.collector, sequences: part)))
            }
        }
        return known
    }

    /// The records of a source that other collectors hold and that its ledger does not have yet.
    private mutating func takeElsewhere(of name: String) -> [(spool: SpoolID, records: HeldRange)] {
        recordsElsewhere.removeValue(forKey: name) ?? []
    }

    /// A source's connection has closed. A source that is part of the session may reconnect to it.
    mutating func disconnected(_ source: String, at now: Instant) -> [Action] {
        sources[source]?.value.disconnect()
        guard let recorder = sources[source], !recorder.value.hasJoined, !isHeld(source) else {
            return []
        }
        sources[source] = nil
        return endIfComplete(at: now)
    }

    /// Adds clock exchanges of the agents of one boot of a box. Sources apply them when they next record.
    mutating func exchanges(
        _ exchanges: [ReportedExchange], by owner: ClockOwner, epoch: EpochID
    ) {
        clocks.add(exchanges, of: ClockID(owner: owner, epoch: epoch))
        tieZero(to: epoch)
    }

    /// Derives the zero of a resumed session from an agent's clock, by which it was placed before.
    private mutating func tieZero(to epoch: EpochID) {
        guard var tie, case .recording(var manifest) = state else { return }
        let isBetter = tie.observe(epoch, clocks) { sources[$0]?.value.introduction.clockOwner }
        defer { self.tie = tie }
        guard isBetter else { return }
        manifest.correct(to: tie.zero)
        enter(.recording(manifest))
        isDescriptionDue = true
        for name in sources.keys {
            sources[name]?.value.intake.correct(
                manifest.correction,
                own: tie.own(name, base: manifest.zeroMonotonicNanoseconds))
        }
    }

    /// Samples have arrived.
    /// - Parameter roomBytes: how much of the source may wait in memory for its fragment to be complete.
    mutating func samples(
        _ samples: Samples, payload: any MediaPayload, of source: String, roomBytes: Int = .max,
        at now: Instant
    ) -> [Action] {
        guard let spool = spool(of: source) else {
            preconditionFailure("a source introduces itself before it sends")
        }
        switch durable.judge(samples, of: source, spool: spool) {
        case .new:
            return take(
                .samples(samples, payload, roomBytes: roomBytes, arrived: now.monotonic),
                of: source, at: now)
        case .partlyKnown(let parts, let known):
            var actions = noteEarlier(
                samples.firstSequence...samples.lastSequence, of: source, at: now)
            for (part, rest) in parts {
                actions += take(
                    .samples(
                        part, payload, rest, roomBytes: roomBytes, arrived: now.monotonic),
                    of: source, at: now)
            }
            if known != MediaAmount() { actions.append(.released(source: source, known)) }
            return actions
        }
    }

    mutating func gap(_ gap: GapRecord, of source: String, at now: Instant) -> [Action] {
        let earlier = noteEarlier(gap.sequences, of: source, at: now)
        return missing(gap.sequences, of: source).reduce(into: earlier) { actions, sequences in
            var part = gap
            part.sequences = sequences
            actions += take(.gap(part), of: source, at: now)
        }
    }

    mutating func format(_ update: TrackUpdate, of source: String, at now: Instant) -> [Action] {
        let isKnown = missing(update.sequence...update.sequence, of: source).isEmpty
        return noteEarlier(update.sequence...update.sequence, of: source, at: now)
            + take(.format(update, isKnown: isKnown), of: source, at: now)
    }

    mutating func goodbye(_ goodbye: Goodbye, of source: String, at now: Instant) -> [Action] {
        let isKnown = missing(goodbye.sequence...goodbye.sequence, of: source).isEmpty
        if let spool = spool(of: source) {
            durable.noteGoodbye(goodbye.sequence, source: source, spool: spool)
        }
        return noteEarlier(goodbye.sequence...goodbye.sequence, of: source, at: now)
            + take(.goodbye(goodbye, isKnown: isKnown), of: source, at: now)
    }

    /// Numbers that were not already on disk.
    private func missing(
        _ sequences: ClosedRange<UInt64>, of source: String
    ) -> [ClosedRange<UInt64>] {
        guard let spool = spool(of: source) else { return [sequences] }
        return durable.missing(sequences, of: source, spool: spool)
    }

    /// Adds lines to the ledger about records that an earlier session has.
    private mutating func noteEarlier(
        _ sequences: ClosedRange<UInt64>, of source: String, at now: Instant
    ) -> [Action] {
        guard let spool = spool(of: source) else { return [] }
        return durable.takeUnreported(sequences, of: source, spool: spool).flatMap {
            take(.earlier($0), of: source, at: now)
        }
    }

    /// A source will not reconnect: it was finally refused.
    mutating func giveUp(_ source: String, at now: Instant) -> [Action] {
        if sources[source]?.value.hasJoined == false, isHeld(source) {
            // Its earlier events are recorded first.
            heldToClose.insert(source)
            return []
        }
        lateGoodbyes[source] = nil
        guard let actions = sources[source]?.value.close(clocks: clocks, at: now) else { return [] }
        if sources[source]?.value.hasJoined == false, !isHeld(source) { sources[source] = nil }
        return actions + endIfComplete(at: now)
    }

    // MARK: Time

    /// - Parameter wallErrorNanoseconds: maximum error of the wall clock; nil: unchanged.
    mutating func tick(
        at now: Instant, heardUntil heard: Instant? = nil, wallErrorNanoseconds: Int64? = nil
    ) -> [Action] {
        let heard = heard ?? now
        if let wallErrorNanoseconds { host.wallErrorNanoseconds = wallErrorNanoseconds }
        var actions: [Action] = []
        if case .gathering(let deadline, let latest) = state,
            now.monotonic >= (isTrackAwaited ? latest : deadline)
                || (begunSessions.pauseNanoseconds(now: now.monotonic) == 0
                    && sources.keys.allSatisfy(heldGoodbyes.contains))
        {
            actions += begin(at: now)
        }
        actions += askSite(at: now)
        // Only the due sources are sorted: few of a thousand.
        var due: [String] = []
        for (name, source) in sources where source.read({ $0.isTickDue(at: heard) }) {
            due.append(name)
        }
        for name in due.sorted() {
            actions += sources[name]?.value.tick(clocks: clocks, at: heard) ?? []
        }
        return actions + letGoOfLosses(now: now.monotonic)
            + watchSession(at: now, heardUntil: heard)
    }

    /// Ends a session that receives nothing any more, and tracks the wall clock while there is a session.
    private mutating func watchSession(at now: Instant, heardUntil heard: Instant) -> [Action] {
        guard case .recording(var manifest) = state else { return [] }
        let timeout = settings.idleTimeoutNanoseconds
        if timeout > 0, heard.monotonic - lastRecordNanoseconds >= timeout {
            return end(.idle, at: now)
        }
        var actions: [Action] = []
        if let news = tie?.takeNews(base: manifest.zeroMonotonicNanoseconds) {
            for name in sources.keys.sorted() where sources[name]?.value.hasJoined == true {
                actions += sources[name]?.value.noted(news, at: now) ?? []
            }
            actions.append(.note(Note(level: .info, source: nil, text: news)))
        }
        let hasMoved = manifest.follow(host, at: now)
        if hasMoved { enter(.recording(manifest)) }
        // Less often with many sources: each update writes all of them.
        let pause = Int64(sources.count) * Self.descriptionNanosecondsEach
        if hasMoved || (isDescriptionDue && now.monotonic - describedNanoseconds >= pause) {
            isDescriptionDue = false
            describedNanoseconds = now.monotonic
            actions.append(writeManifest())
        }
        for name in lateGoodbyes.keys where !isDurable(name) {
            lateGoodbyes[name]?.extend(at: now.monotonic)
        }
        // Other sessions can only be complete after an event.
        let hasWaited = mayEndNanoseconds != .min || !lateGoodbyes.isEmpty
        return hasWaited ? actions + endIfComplete(at: now) : actions
    }

    /// Records have become durable.
    /// - Returns: the source's watermark, if it moved.
    mutating func persisted(_ records: PersistedRecords) -> UInt64? {
        durable.insert(records)
    }

    /// The files of an ended session are final: none of them fails any more.
    mutating func finished(_ session: String) {
        endedSessions.removeAll { $0.name == session }
    }

    /// The object store has records.
    /// - Returns: whether any of them is new.
    mutating func stored(_ records: StoredRecords.Addition) -> Bool {
        durable.insertStored(records.sequences, source: records.source, spool: records.spool)
    }

    /// Ends the session now: every file is finished.
    mutating func end(_ reason: SessionManifest.EndReason, at now: Instant) -> [Action] {
        var actions = startNow(at: now)
        guard case .recording = state else { return actions }
        var staying: [String: CopyOnWrite<SourceRecorder>] = [:]
        for name in sources.keys.sorted() {
            // A source that is not part of the session has nothing to close.
            guard sources[name]?.value.hasJoined == true else { continue }
            staying[name] = sources[name]?.value.renewed.map(CopyOnWrite.init)
            actions += sources[name]?.value.close(clocks: clocks, at: now) ?? []
        }
        actions += finish(reason, at: now)
        // Connected sources continue into the next session.
        sources.merge(staying) { $1 }
        return actions
    }

    /// Writes everything that was received, and leaves the session open for the next collector.
    mutating func suspend(at now: Instant) -> [Action] {
        var actions = startNow(at: now)
        guard case .recording = state else { return actions }
        for name in sources.keys.sorted() {
            actions += sources[name]?.value.suspend(clocks: clocks, at: now) ?? []
        }
        return actions + [writeManifest()]
    }

    // MARK: Implementation

    private mutating func take(
        _ event: Event, of source: String, at now: Instant
    ) -> [Action] {
        precondition(sources[source] != nil, "a source introduces itself before it sends")
        lastRecordNanoseconds = now.monotonic
        if held.isEmpty { heldSinceNanoseconds = now.monotonic }
        switch state {
        case .idle:
            switch event {
            case .samples, .opened: break
            case .gap, .format, .earlier, .gone:
                // No session begins without a sample; but the next session's ledger and description must contain the
                // event.
                hold(event, of: source)
                return []
            case .goodbye:
                // An agent that captured nothing may end.
                let nothing = held.filter { $0.source == source } + [(source, event)]
                held.removeAll { $0.source == source }
                if let introduction = heldIntroductions.removeValue(forKey: source) {
                    sources[source] = CopyOnWrite(
                        SourceRecorder(introduction, settings: settings))
                }
                return acknowledgeUnrecorded(nothing)
            }
            // Limits the rate of sessions: sources that start sessions repeatedly wait, and so do those that connect in the meantime,
            // without a loss.
            let pause = begunSessions.pauseNanoseconds(now: now.monotonic)
            let deadline = now.monotonic + max(settings.startWindowNanoseconds, pause)
            let latest = settings.startWindowNanoseconds
                .multipliedReportingOverflow(by: Self.windowsForTracks).partialValue
            enter(
                .gathering(
                    deadline: deadline, latest: max(deadline, now.monotonic.clampedAdding(latest))))
            hold(event, of: source)
            return []
        case .gathering:
            hold(event, of: source)
            guard case .goodbye = event else { return [] }
            return tick(at: now)
        case .agreeing:
            hold(event, of: source)
            return []
        case .recording(let manifest):
            let actions = apply(
                event, of: source, zero: manifest.zeroMonotonicNanoseconds, at: now)
            guard case .goodbye = event else { return actions }
            return actions + endIfComplete(at: now)
        }
    }

    private mutating func hold(_ event: Event, of source: String) {
        // An agent that reconnects repeatedly adds no information.
        if case .opened = event, let last = held.lastIndex(where: { $0.source == source }),
            case .opened = held[last].event
        {
            held.remove(at: last)
        }
        held.append((source, event))
        if case .goodbye = event { heldGoodbyes.insert(source) }
        if case .opened(let introduction, _) = event {
            heldGoodbyes.remove(source)
            heldIntroductions[source] = introduction
        }
    }

    private mutating func apply(
        _ event: Event, of source: String, zero: Int64, at now: Instant
    ) -> [Action] {
        var actions: [Action] = []
        if sources[source]?.value.hasJoined == false, case .recording(let manifest) = state {
            let persisted =
                sources[source].map { durable.persisted(source: source, spool: $0.value.spool) }
                ?? 0
            let elsewhere = takeElsewhere(of: source)
            actions +=
                sources[source]?.value.join(
                    in: manifest, durable: persisted, held: elsewhere, at: now)
                ?? []
            actions += relate(source, at: now)
            isDescriptionDue = true
        }
        // Changed in place: a copy of a recorder would copy the fragment that it is collecting.
        switch event {
        case .opened(let introduction, let durable):
            let elsewhere = takeElsewhere(of: source)
            actions +=
                sources[source]?.value.reopen(
                    introduction, durable: durable, held: elsewhere, at: now)
                ?? []
        case .samples(let samples, let payload, let rest, let roomBytes, let arrived):
            actions +=
                sources[source]?.value.record(
                    samples, payload: payload, rest: rest, clocks: clocks, zero: zero,
                    roomBytes: roomBytes, arrived: arrived, at: now,
                    isWatched: watched.includes(source))
                ?? []
        case .gap(let gap):
            actions += sources[source]?.value.record(gap, at: now) ?? []
        case .gone(let sequences, let spool):
            actions += neverCame(sequences, of: source, spool, at: now)
        case .earlier(let sequences):
            actions += sources[source]?.value.recordEarlier(sequences, at: now) ?? []
        case .format(let update, let isKnown):
            actions += sources[source]?.value.record(update, isKnown: isKnown, at: now) ?? []
        case .goodbye(let goodbye, let isKnown):
            if sources[source]?.value.isBehind == true {
                lateGoodbyes[source] = LateGoodbye(at: now.monotonic)
            }
            actions +=
                sources[source]?.value.record(goodbye, isKnown: isKnown, clocks: clocks, at: now)
                ?? []
        }
        return actions
    }

    /// Counts records that belong to no session as durable: there is nothing to keep.
    private func acknowledgeUnrecorded(_ events: [(source: String, event: Event)]) -> [Action] {
        var spools = sources.mapValues(\.value.spool)
        return events.flatMap { source, event -> [Action] in
            let sequences: ClosedRange<UInt64>
            var said: [Action] = []
            switch event {
            case .gone(let gone, let spool):
                return [
                    .unrecorded(PersistedRecords(source: source, spool: spool, sequences: [gone]))
                ]
            case .samples: preconditionFailure("samples begin a session")
            case .opened(let introduction, _):
                spools[source] = introduction.spool
                return []
            case .gap(let gap):
                sequences = gap.sequences
                if gap.samples > 0 { said = [Self.lostOutside(gap, of: source)] }
            case .earlier(let known): sequences = known
            case .format(let update, _): sequences = update.sequence...update.sequence
            case .goodbye(let goodbye, _): sequences = goodbye.sequence...goodbye.sequence
            }
            guard let spool = spools[source] else { return said }
            return said + [
                .unrecorded(
                    PersistedRecords(source: source, spool: spool, sequences: [sequences]))
            ]
        }
    }

    /// Samples are missing and there is no session: the gap is only logged.
    private static func lostOutside(_ gap: GapRecord, of source: String) -> Action {
        .note(
            Note(
                level: .warning, source: source,
                text: "\(gap.samples) samples missing (\(gap.cause)) while nothing is recorded, "
                    + "so that no ledger tells of them: \(gap.text)"))
    }

    /// An agent may have only losses of an earlier run to report, and sends no samples before those are acknowledged.
    /// Records that have waited too long for a session are released without one.
    private mutating func letGoOfLosses(now: Int64) -> [Action] {
        guard case .idle = state, !held.isEmpty,
            now - (heldSinceNanoseconds ?? now) >= Self.returnNanoseconds
        else { return [] }
        let actions = acknowledgeUnrecorded(held)
        // The last format of each track remains in force.
        var seen: Set<TrackKey> = []
        var kept: [(source: String, event: Event)] = []
        for (source, event) in held.reversed() {
            switch event {
            case .gap, .earlier, .gone: continue
            case .format(let update, _):
                guard seen.insert(TrackKey(source: source, track: update.format.kind)).inserted
                else { continue }
                kept.append((source, event))
            case .opened, .samples, .goodbye: kept.append((source, event))
            }
        }
        held = kept.reversed()
        heldSinceNanoseconds = now
        return actions
    }

    /// Determines zero. If the site is to be asked, the session begins with its answer, or without one soon.
    private mutating func begin(at now: Instant) -> [Action] {
        let beginning = beginning(at: now)
        guard settings.isOnSite, let ticket = agreement.begin(at: now.monotonic) else {
            return start(beginning, at: now)
        }
        enter(.agreeing(beginning))
        return [.propose(proposal(of: beginning), ticket: ticket)]
    }

    /// Begins a session that is about to begin, without the site's answer.
    private mutating func startNow(at now: Instant) -> [Action] {
        switch state {
        case .idle, .recording: return []
        case .gathering:
            agreement.goAlone(at: now.monotonic)
            return start(beginning(at: now), at: now)
        case .agreeing(let beginning):
            agreement.goAlone(at: now.monotonic)
            return start(beginning, at: now)
        }
    }

    /// Determines zero.
    private mutating func beginning(at now: Instant) -> SessionBeginning {
        if let offer = offeredSession(at: now) { return SessionBeginning(offer) }
        let mayBeginElsewhere =
            settings.isOnSite
            || waitingIntroductions.contains(where: \.statement.mayBeRecordedElsewhere)
        let zero = earliestPresented(at: now) ?? now.monotonic
        let zeroUTC = UTCTime(nanoseconds: now.utc.nanoseconds - (now.monotonic - zero))
        return SessionBeginning(
            name: newName(zeroUTC, isOneOfSeveral: mayBeginElsewhere), zeroUTC: zeroUTC,
            zeroNanoseconds: zero)
    }

    /// Records the held events.
    private mutating func start(_ beginning: SessionBeginning, at now: Instant) -> [Action] {
        let held = held
        self.held = []
        heldIntroductions = [:]
        heldGoodbyes = []
        let offer = beginning.offer
        let zero = beginning.zeroNanoseconds
        takenNames.insert(beginning.name)
        var manifest = SessionManifest(
            session: beginning.name, zero: beginning.zeroUTC, zeroMonotonicNanoseconds: zero,
            startAt: settings.startAt, startWindowNanoseconds: settings.startWindowNanoseconds,
            segmentNanoseconds: offer?.clock.segmentNanoseconds ?? settings.segmentNanoseconds,
            software: settings.software)
        if !settings.name.isEmpty { manifest.collector = settings.name }
        _ = manifest.follow(host, at: now)
        if let offer { manifest.clock?.zeroErrorNanoseconds = offer.errorNanoseconds }
        manifest.attached = beginning.attached
        enter(.recording(manifest))
        mayEndNanoseconds = .min
        begunSessions.use(1, now: now.monotonic)
        var actions: [Action] = [
            .job(.beginSession(manifest.session)),
            .sessionStarted(name: manifest.session),
            // Written before anything else of the session: only a session with a description is resumed after a crash.
            writeManifest(),
        ]
        if let offer { actions.append(.note(Note(level: .info, source: nil, text: offer.text))) }
        if let attached = beginning.attached?.last {
            actions.append(
                .note(Note(level: .info, source: nil, text: attached.text(of: beginning.name))))
        }
        for (source, event) in held { actions += apply(event, of: source, zero: zero, at: now) }
        for source in heldToClose.sorted() {
            actions += sources[source]?.value.close(clocks: clocks, at: now) ?? []
        }
        heldToClose = []
        return actions + endIfComplete(at: now)
    }

    /// Whether there is, or was, a session of that name.
    func isTaken(_ name: String) -> Bool { takenNames.contains(name) }

    /// The sources whose events are held until zero is known.
    var waitingIntroductions: [SourceIntroduction] {
        Set(held.map(\.source)).sorted().compactMap {
            heldIntroductions[$0] ?? sources[$0]?.value.introduction
        }
    }

    /// A session's name is its zero. A replayed session may find its name taken.
    /// - Parameter isOneOfSeveral: whether another collector may begin a session at the same time, which is not this one: the
    ///   collector's name tells the two apart.
    private mutating func newName(_ zero: UTCTime, isOneOfSeveral: Bool) -> String {
        var own = zero.fileName
        if isOneOfSeveral, !settings.name.isEmpty {
            own += "-\(settings.name.prefix(Self.nameLength))"
        }
        var name = own
        var count = 1
        while !takenNames.insert(name).inserted {
            count += 1
            name = "\(own)-\(count)"
        }
        return name
    }

    /// Maximum length of the collector's name in a session's name, which also has a time and a number.
    private static var nameLength: Int { 34 }

    /// Presentation time of the first held sample, on the collector's monotonic clock. Replayed samples count only if there
    /// are no others.
    private func earliestPresented(at now: Instant) -> Int64? {
        let video: TrackKind? = settings.startAt == .firstVideo ? .video : nil
        // A sample stamped more than a day ago, or in the future, cannot set a session's zero: all others would lie
        // after it.
        let earliestBelieved = now.monotonic.clampedSubtracting(
            settings.budgets.zeroReachNanoseconds)
        let believable =
            earliestBelieved...now.monotonic.clampedAdding(
                settings.budgets.zeroReachNanoseconds == .max
                    ? .max : TrackClock.aheadLimitNanoseconds)
        let earliestReplayed = now.monotonic.clampedSubtracting(
            settings.budgets.replayedReachNanoseconds)
        var intakes = sources.mapValues(\.value.intake)
        var earliest: Int64?
        var earliestVideo: Int64?
        var replayed: Int64?
        for (source, event) in held {
            switch event {
            case .opened(let introduction, _):
                intakes[source] = SourceIntake(
                    spool: introduction.spool, owner: introduction.clockOwner,
                    epochs: introduction.epochs)
            case .samples(let samples, _, _, _, _):
                if let zero = intakes[source]?.replayedZero(of: samples, at: now) {
                    if zero >= earliestReplayed, zero <= believable.upperBound {
                        replayed = min(replayed ?? zero, zero)
                    }
                    continue
                }
                func first(_ kind: TrackKind?) -> Int64? {
                    intakes[source]?.firstPresented(
                        in: samples, of: kind, clocks: clocks, now: now.monotonic,
                        believable: believable)
                }
                if let first = first(nil) { earliest = min(earliest ?? first, first) }
                if let video, let first = first(video) {
                    earliestVideo = min(earliestVideo ?? first, first)
                }
            case .gap, .format, .goodbye, .earlier, .gone: continue
            }
        }
        return earliestVideo ?? earliest ?? replayed
    }

    /// Whether a source with held samples has a track without any.
    private var isTrackAwaited: Bool {
        var missing: [String: Set<TrackKind>] = [:]
        for (source, event) in held {
            guard case .samples(let samples, _, _, _, _) = event else { continue }
            let announced = (heldIntroductions[source] ?? sources[source]?.value.introduction)?
                .tracks
            missing[source, default: Set(announced?.map(\.kind) ?? [])]
                .subtract(samples.runs.map(\.track))
        }
        return missing.contains { name, tracks in
            !tracks.isEmpty && !heldGoodbyes.contains(name) && !heldToClose.contains(name)
        }
    }

    /// Whether events of the source are held until zero is known.
    private func isHeld(_ source: String) -> Bool { held.contains { $0.source == source } }

    private mutating func endIfComplete(at now: Instant) -> [Action] {
        guard case .recording = state, now.monotonic >= mayEndNanoseconds,
            sources.values.allSatisfy(\.value.hasEnded),
            lateGoodbyes.values.allSatisfy({ now.monotonic >= $0.waitNanoseconds })
        else { return [] }
        return finish(.complete, at: now)
    }

    /// Whether every received record of a source's present spool is on disk.
    private func isDurable(_ source: String) -> Bool {
        guard let recorder = sources[source]?.value else { return true }
        return durable.persisted(source: source, spool: recorder.spool) >= recorder.through
    }

    private mutating func finish(
        _ reason: SessionManifest.EndReason, at now: Instant
    ) -> [Action] {
        guard case .recording(var manifest) = state else { return [] }
        endedSessions.append(
            (
                manifest.session,
                sources.filter(\.value.value.hasJoined).mapValues(\.value.spoolEnds)
            ))
        manifest.sources = manifestEntries
        for index in manifest.sources.indices {
            let name = manifest.sources[index].name
            manifest.sources[index].spools = sources[name]?.value.spoolEnds.suffix(
                settings.budgets.spoolsPerSource
            ).map {
                guard let spool = SpoolID(hexadecimal: $0.spool) else { return $0 }
                return $0.joined(with: durable.reportedSequences(of: name, spool: spool))
            }
        }
        manifest.end = SessionManifest.End(reason: reason, at: now.utc)
        let lost =
            neverReturned(to: manifest.session, at: now)
            + comesLater(than: manifest.session, at: now)
        durable.sessionEnded()
        let ending = Action.job(.describe(manifest))
        manifest.state = .finished
        enter(.idle)
        tie = nil
        lateGoodbyes = [:]
        agreement.ended()
        if reason == .stopped {
            stoppedSessions.formUnion([manifest.session, manifest.siteSession])
        }
        sources = sources.filter { !$0.value.value.hasJoined }
        // If the collector is killed before everything of a complete session is on disk, the session is resumed to get
        // the rest. Lines about missing records follow the session's end: before it, a killed collector's successor
        // would continue the session.
        return (reason == .complete ? [] : [ending]) + lost + [
            .job(.endSession(manifest)),
            .sessionEnded(name: manifest.session, reason),
        ]
    }

    // MARK: The site

    /// Whether the site answered the last question.
    var isSiteReachable: Bool {
        get { agreement.isReachable }
        set { agreement.isReachable = newValue }
    }

    /// The site's session that is being recorded, or that the present one is attached to.
    var siteProposal: SiteProposal? {
        guard case .recording(let manifest) = state else { return nil }
        let attached = manifest.attached?.last
        return SiteProposal(
            session: manifest.siteSession, collector: settings.name,
            zeroUTCNanoseconds: attached?.zeroUTCNanoseconds ?? manifest.zeroUTCNanoseconds,
            wallErrorNanoseconds: host.wallErrorNanoseconds,
            segmentNanoseconds: attached?.segmentNanoseconds ?? manifest.segmentNanoseconds,
            zeroMonotonicNanoseconds: manifest.presentZeroNanoseconds
                .clampedSubtracting(attached?.offsetNanoseconds ?? 0),
            zeroErrorNanoseconds: manifest.correction.errorNanoseconds
                .clampedAdding(Int64(clamping: attached?.boundNanoseconds ?? 0)),
            stopped: stoppedSessions)
    }

    /// A session is not the site's: its database has lost commits, or two were begun at once.
    mutating func siteDenied(_ session: String, at now: Instant) {
        if session == manifest?.siteSession { agreement.denied(at: now.monotonic) }
    }

    /// The site has answered a question.
    /// - Parameter answer: nil: it has not.
    mutating func agreed(
        _ ticket: UInt64, on answer: SiteAgreement?, at now: Instant
    ) -> [Action] {
        let outcome = agreement.take(ticket, answer, at: now.monotonic)
        switch (outcome, state) {
        case (.begin, .agreeing(let beginning)):
            return start(beginning, at: now)
        case (.join(let answer), .agreeing(var beginning)):
            guard let session = siteSession(answer, at: now) else {
                agreement.goAlone(at: now.monotonic)
                return start(beginning, at: now)
            }
            guard isTaken(session.clock.session) else {
                return start(SessionBeginning(session), at: now)
            }
            // The session has ended here, and continues at other collectors.
            beginning.attached = [
                session.attachment(
                    ofZero: beginning.zeroNanoseconds,
                    errorNanoseconds: beginning.offer?.errorNanoseconds ?? 0)
            ]
            return start(beginning, at: now)
        case (.attach(let answer), .recording(var manifest)):
            guard let session = siteSession(answer, at: now) else {
                agreement.goAlone(at: now.monotonic)
                return []
            }
            let earlier = manifest.attached ?? []
            guard session.clock.session != manifest.session,
                earlier.count < SessionManifest.maximumAttachments,
                !earlier.contains(where: { $0.session == session.clock.session })
            else { return [] }
            let attached = session.attachment(
                ofZero: manifest.presentZeroNanoseconds,
                errorNanoseconds: manifest.correction.errorNanoseconds)
            manifest.attached = earlier + [attached]
            enter(.recording(manifest))
            let note = Note(
                level: .info, source: nil, text: attached.text(of: manifest.session))
            return [.note(note), writeManifest()]
        case (.ignored, _), (.failed, _), (.begin, _), (.join, _), (.attach, _), (.agreed, _):
            return []
        }
    }

    /// The site's session, if the present one may be a part of it; nil also where it cannot be placed on this clock.
    private func siteSession(_ answer: SiteAgreement, at now: Instant) -> OfferedSession? {
        guard !stoppedSessions.contains(answer.session.session) else { return nil }
        return OfferedSession(answer, host: host, at: now)
    }

    /// Begins a session that has waited long enough, and asks about one that the site does not know.
    private mutating func askSite(at now: Instant) -> [Action] {
        guard settings.isOnSite else { return [] }
        if case .agreeing = state, agreement.isOverdue(at: now.monotonic) {
            return startNow(at: now)
        }
        guard let proposal = siteProposal, let ticket = agreement.ask(at: now.monotonic) else {
            return []
        }
        return [.propose(proposal, ticket: ticket)]
    }

    private func proposal(of beginning: SessionBeginning) -> SiteProposal {
        SiteProposal(
            session: beginning.name, collector: settings.name,
            zeroUTCNanoseconds: beginning.zeroUTC.nanoseconds,
            wallErrorNanoseconds: host.wallErrorNanoseconds,
            segmentNanoseconds: beginning.offer?.clock.segmentNanoseconds
                ?? settings.segmentNanoseconds,
            zeroMonotonicNanoseconds: beginning.zeroNanoseconds,
            zeroErrorNanoseconds: beginning.offer?.errorNanoseconds ?? 0,
            stopped: stoppedSessions)
    }

    /// The session's present description.
    mutating func writeManifest() -> Action {
        guard case .recording(var manifest) = state else {
            preconditionFailure("a description is written while there is a session")
        }
        manifest.sources = manifestEntries
        enter(.recording(manifest))
        return .job(.describe(manifest))
    }

    private var manifestEntries: [SessionManifest.Source] {
        sources.values.filter(\.value.hasJoined).map(\.value.manifestEntry).sorted {
            $0.name < $1.name
        }
    }
}
