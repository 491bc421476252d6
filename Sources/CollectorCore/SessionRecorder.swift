import Archive
import Media
import Wire

/// An instant as the collector sees it.
struct Instant: Hashable, Sendable {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    var monotonic: Int64
    /// `CLOCK_REALTIME`.
    var utc: UTCTime
}

/// What a session is made to be.
struct SessionSettings: Sendable {
    var layout: ArchiveLayout
    var startAt: SessionManifest.StartPolicy = .firstSample
    var startWindowNanoseconds: Int64 = 500_000_000
    var segmentNanoseconds: Int64
    var software: String
}

/// A source as it introduced itself.
struct SourceIntroduction: Sendable {
    var name: String
    var agent: String
    var address: String
    var spool: [UInt8]
    var epochs: [Epoch]
    var tracks: [TrackFormat]
}

/// Turns what agents send into one session: decides its zero, places every sample on its timeline, and says what is to be
/// written where. A value: it owns no socket, no file and no clock.
///
/// A session begins with its first sample and ends when every source that took part has said goodbye, or when ``end(_:)`` is
/// called. Until zero is known (the start window), samples are held.
struct SessionRecorder<Payload: MediaPayload>: Sendable {
    enum Action: Sendable {
        case job(DiskJob<Payload>)
        case note(Note)
        /// Records of which nothing needs to be kept.
        case unrecorded(PersistedRecords)
        case sessionStarted(name: String)
        /// All jobs of the session have been given.
        case sessionEnded(name: String)
    }

    /// A line for the log.
    struct Note: Hashable, Sendable {
        enum Level: Sendable { case info, warning }
        var level: Level
        var source: String?
        var text: String
    }

    /// Something a source sent, in its order.
    private enum Event: Sendable {
        case samples(Samples, Payload)
        case gap(GapRecord)
        case format(TrackUpdate)
        case goodbye(Goodbye)
    }

    private enum State: Sendable {
        case idle
        /// Samples have come and are held; zero is the earliest of those that come until the deadline.
        case gathering(deadline: Int64)
        case recording(SessionManifest)
    }

    private let settings: SessionSettings
    private var state = State.idle
    /// What waits for zero, in its order.
    private var held: [(source: String, event: Event)] = []
    /// Sources whose goodbye is held.
    private var heldGoodbyes: Set<String> = []
    /// Those that are connected, and those that have a place in the session.
    private var sources: [String: SourceRecorder<Payload>] = [:]
    /// What is durable outlives sessions: the last acknowledgement of a source is due after its session has ended.
    private var watermarks = Watermarks()
    private var clocks = AgentClocks()

    init(settings: SessionSettings) {
        self.settings = settings
    }

    /// The session's name, once it has one.
    var sessionName: String? {
        if case .recording(let manifest) = state { manifest.session } else { nil }
    }

    /// The session's zero on the collector's monotonic clock, nanoseconds.
    // Stored, not computed from the state: Swift 6.3.1's optimiser fails on the latter once it is inlined.
    private(set) var sessionZero: Int64?

    /// What each source has done so far, by name.
    var progress: [SourceProgress] {
        sources.values.map(\.progress).sorted { $0.name < $1.name }
    }

    /// The last record of a spool that is durable here; 0 for a spool never seen.
    func persisted(source: String, spool: [UInt8]) -> UInt64 {
        watermarks.persisted(source: source, spool: spool)
    }

    // MARK: What agents say

    /// A source has come, or has come back.
    /// - Parameter received: the last of its records that need not be recorded any more.
    mutating func open(
        _ introduction: SourceIntroduction, received: UInt64, at now: Instant
    ) -> [Action] {
        let name = introduction.name
        watermarks.begin(source: name, spool: introduction.spool, received: received)
        guard var known = sources[name], known.isEnrolled else {
            sources[name] = SourceRecorder(introduction, settings: settings)
            return []
        }
        let actions = known.reopen(introduction, at: now)
        sources[name] = known
        return actions
    }

    /// A source's connection is gone. One that has a place in the session may come back to it.
    mutating func disconnected(_ source: String, at now: Instant) -> [Action] {
        guard let recorder = sources[source], !recorder.isEnrolled, !isHeld(source) else {
            return []
        }
        sources[source] = nil
        return endIfComplete(at: now)
    }

    /// Agents of one boot of a box have measured our clock. Sources follow when they record next.
    mutating func exchanges(_ exchanges: [ReportedExchange], epoch: Identity) {
        clocks.add(exchanges, epoch: epoch)
    }

    mutating func samples(
        _ samples: Samples, payload: Payload, of source: String, at now: Instant
    ) -> [Action] {
        take(.samples(samples, payload), of: source, at: now)
    }

    mutating func gap(_ gap: GapRecord, of source: String, at now: Instant) -> [Action] {
        take(.gap(gap), of: source, at: now)
    }

    mutating func format(_ update: TrackUpdate, of source: String, at now: Instant) -> [Action] {
        take(.format(update), of: source, at: now)
    }

    mutating func goodbye(_ goodbye: Goodbye, of source: String, at now: Instant) -> [Action] {
        take(.goodbye(goodbye), of: source, at: now)
    }

    /// A source will not come back: it was refused for good.
    mutating func giveUp(_ source: String, at now: Instant) -> [Action] {
        guard var recorder = sources[source] else { return [] }
        let actions = recorder.close(clocks: clocks, at: now)
        sources[source] = recorder.isEnrolled || isHeld(source) ? recorder : nil
        return actions + endIfComplete(at: now)
    }

    // MARK: Time passes

    mutating func tick(at now: Instant) -> [Action] {
        var actions: [Action] = []
        if case .gathering(let deadline) = state,
            now.monotonic >= deadline || sources.keys.allSatisfy(heldGoodbyes.contains)
        {
            actions += start(at: now)
        }
        for name in sources.keys.sorted() {
            actions += sources[name]?.tick(clocks: clocks, at: now) ?? []
        }
        return actions
    }

    /// Records have become durable.
    /// - Returns: the source's watermark, when it moved.
    mutating func persisted(_ records: PersistedRecords) -> UInt64? {
        watermarks.insert(records)
    }

    /// Ends the session now: every file is finished.
    mutating func end(at now: Instant) -> [Action] {
        var actions: [Action] = []
        if case .gathering = state { actions += start(at: now) }
        guard case .recording = state else { return actions }
        for name in sources.keys.sorted() {
            actions += sources[name]?.close(clocks: clocks, at: now) ?? []
        }
        return actions + finish(at: now)
    }

    // MARK: Inside

    private mutating func take(
        _ event: Event, of source: String, at now: Instant
    ) -> [Action] {
        precondition(sources[source] != nil, "a source introduces itself before it sends")
        switch state {
        case .idle:
            switch event {
            case .samples: break
            case .gap, .format:
                // No sample, so no session begins; but the next one's ledger and description must have it.
                hold(event, of: source)
                return []
            case .goodbye:
                // An agent that captured nothing may go.
                let nothing = held.filter { $0.source == source }.map(\.event) + [event]
                held.removeAll { $0.source == source }
                return nothing.flatMap { acknowledgeUnrecorded($0, of: source) }
            }
            state = .gathering(deadline: now.monotonic + settings.startWindowNanoseconds)
            hold(event, of: source)
            return []
        case .gathering:
            hold(event, of: source)
            guard case .goodbye = event else { return [] }
            return tick(at: now)
        case .recording(let manifest):
            let actions = apply(
                event, of: source, zero: manifest.zeroMonotonicNanoseconds, at: now)
            guard case .goodbye = event else { return actions }
            return actions + endIfComplete(at: now)
        }
    }

    private mutating func hold(_ event: Event, of source: String) {
        held.append((source, event))
        if case .goodbye = event { heldGoodbyes.insert(source) }
    }

    private mutating func apply(
        _ event: Event, of source: String, zero: Int64, at now: Instant
    ) -> [Action] {
        var actions: [Action] = []
        if sources[source]?.isEnrolled == false, case .recording(let manifest) = state {
            actions += sources[source]?.enroll(in: manifest, at: now) ?? []
            actions.append(writeManifest())
        }
        // Changed in place: a copy of a recorder would copy what it is collecting.
        switch event {
        case .samples(let samples, let payload):
            actions +=
                sources[source]?.record(
                    samples, payload: payload, clocks: clocks, zero: zero, at: now) ?? []
        case .gap(let gap):
            actions += sources[source]?.record(gap, at: now) ?? []
        case .format(let update):
            actions += sources[source]?.record(update, at: now) ?? []
        case .goodbye(let goodbye):
            actions += sources[source]?.record(goodbye, clocks: clocks, at: now) ?? []
        }
        return actions
    }

    /// Counts a record that belongs to no session as durable: there is nothing to keep.
    private mutating func acknowledgeUnrecorded(_ event: Event, of source: String) -> [Action] {
        guard let spool = sources[source]?.spool else { return [] }
        let sequences: ClosedRange<UInt64>
        switch event {
        case .samples: preconditionFailure("samples begin a session")
        case .gap(let gap): sequences = gap.sequences
        case .format(let update): sequences = update.sequence...update.sequence
        case .goodbye(let goodbye): sequences = goodbye.sequence...goodbye.sequence
        }
        return [
            .unrecorded(PersistedRecords(source: source, spool: spool, sequences: [sequences]))
        ]
    }

    /// Fixes zero and records what was held.
    private mutating func start(at now: Instant) -> [Action] {
        let held = held
        self.held = []
        heldGoodbyes = []
        let video: TrackKind? = settings.startAt == .firstVideo ? .video : nil
        func earliest(_ kind: TrackKind?) -> Int64? {
            held.compactMap { source, event in
                guard case .samples(let samples, _) = event else { return nil }
                return sources[source]?.intake.firstPresented(
                    in: samples, of: kind, clocks: clocks, now: now.monotonic)
            }.min()
        }
        let zero = earliest(video) ?? earliest(nil) ?? now.monotonic
        let zeroUTC = UTCTime(nanoseconds: now.utc.nanoseconds - (now.monotonic - zero))
        let manifest = SessionManifest(
            session: zeroUTC.fileName, zero: zeroUTC, zeroMonotonicNanoseconds: zero,
            startAt: settings.startAt, startWindowNanoseconds: settings.startWindowNanoseconds,
            segmentNanoseconds: settings.segmentNanoseconds, software: settings.software)
        state = .recording(manifest)
        sessionZero = zero
        var actions: [Action] = [
            .job(.makeDirectory(settings.layout.session(manifest.session))),
            .sessionStarted(name: manifest.session),
        ]
        for (source, event) in held { actions += apply(event, of: source, zero: zero, at: now) }
        return actions + endIfComplete(at: now)
    }

    /// Whether something of the source waits for zero.
    private func isHeld(_ source: String) -> Bool { held.contains { $0.source == source } }

    private mutating func endIfComplete(at now: Instant) -> [Action] {
        guard case .recording = state, sources.values.allSatisfy(\.hasEnded) else { return [] }
        return finish(at: now)
    }

    private mutating func finish(at now: Instant) -> [Action] {
        guard case .recording(var manifest) = state else { return [] }
        manifest.sources = manifestEntries
        manifest.state = .finished
        let path = settings.layout.manifest(manifest.session)
        state = .idle
        sessionZero = nil
        sources = sources.filter { !$0.value.isEnrolled }
        return [
            .job(.manifest(path: path, manifest.encoded())), .sessionEnded(name: manifest.session),
        ]
    }

    /// The session's description as it is now.
    private mutating func writeManifest() -> Action {
        guard case .recording(var manifest) = state else {
            preconditionFailure("a description is written while there is a session")
        }
        manifest.sources = manifestEntries
        state = .recording(manifest)
        return .job(
            .manifest(path: settings.layout.manifest(manifest.session), manifest.encoded()))
    }

    private var manifestEntries: [SessionManifest.Source] {
        sources.values.filter(\.isEnrolled).map(\.manifestEntry).sorted { $0.name < $1.name }
    }
}
