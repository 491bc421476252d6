import Archive
import Wire

@testable import CollectorCore

/// What a simulation breaks on purpose, to see that it would notice.
enum Sabotage: String, CaseIterable {
    /// `fdatasync` says that it was done, and was not.
    case skipsSynchronization
    /// Records count as durable when they have been written.
    case acknowledgesEarly
    /// A restarted collector does not look for what it has behind the watermark.
    case forgetsWhatItHas
    /// A session's zero is whatever anybody says.
    case believesAnyTime
    /// A source may begin as many files as it likes, and have as many lines written.
    case countsNoFiles
    /// An agent may come and ask for as much as it likes.
    case countsNoGreetings
    /// Agents are to keep what the store does not have, and are told to forget what is durable.
    case releasesAtPersisted

    /// Those that honest agents alone are enough to find.
    static let careless: [Sabotage] = [
        .skipsSynchronization, .acknowledgesEarly, .forgetsWhatItHas,
    ]
    /// Those that it takes a hostile agent to find.
    static let trusting: [Sabotage] = [.believesAnyTime, .countsNoFiles, .countsNoGreetings]

    /// What one source may have written.
    var budgets: SourceBudgets {
        var budgets = SourceBudgets()
        switch self {
        case .believesAnyTime:
            budgets.zeroReachNanoseconds = SourceBudgets.unlimited.zeroReachNanoseconds
        case .countsNoFiles:
            budgets = .unlimited
            budgets.zeroReachNanoseconds = SourceBudgets().zeroReachNanoseconds
        case .skipsSynchronization, .acknowledgesEarly, .forgetsWhatItHas, .countsNoGreetings,
            .releasesAtPersisted:
            break
        }
        return budgets
    }
}

/// The collector as it is, between its socket and its disk: the engine, and the disk thread's work one thing at a time.
struct SimulatedCollector {
    private static let commitNanoseconds: Int64 = 1_000_000_000
    /// How long media waits to be handed to the disk, unless credit or something else needs it.
    private static let submitNanoseconds: Int64 = 450_000_000
    private static let idleNanoseconds: Int64 = 60_000_000_000

    let layout: ArchiveLayout
    private let sabotage: Sabotage?
    private(set) var engine: CollectorEngine
    private var worker: DiskWorker
    /// What the disk thread has not done yet.
    private var jobs: [DiskJob] = []
    private var nextSubmit: Int64
    private var nextCommit: Int64
    private var nextRetry: Int64
    private(set) var sessionsFinished: [String] = []
    private var log: [String] = []
    /// What the catalog's thread does; nil: none is kept.
    private var follower: CatalogFollower?
    private let listener = SpineListener([.sessions, .segments, .ledgers], capacity: 24)
    private static let clock = ContinuousClock.now
    /// Whether what one source has on the disk is made durable when it would be without the others.
    private let keepsTime: Bool

    init(
        layout: ArchiveLayout, space: FreeSpace, recovered: RecoveredArchive, host: HostClock,
        takenNames: Set<String>, sabotage: Sabotage?, segmentNanoseconds: Int64, keepsTime: Bool,
        catalog: SimulatedCatalog?, release: ReleasePolicy = .local, at now: Instant
    ) {
        self.keepsTime = keepsTime
        self.layout = layout
        self.sabotage = sabotage
        var recovered = recovered
        if sabotage == .forgetsWhatItHas {
            for (source, spools) in recovered.spools {
                recovered.spools[source] = spools.map {
                    var spool = $0
                    spool.sequences = SequenceSet(upTo: spool.sequences.watermark)
                    return spool
                }
            }
        }
        var settings = SessionSettings(
            layout: layout, segmentNanoseconds: segmentNanoseconds,
            idleTimeoutNanoseconds: Self.idleNanoseconds, takenNames: takenNames,
            software: "collector")
        settings.release = sabotage == .releasesAtPersisted ? .local : release
        if let sabotage { settings.budgets = sabotage.budgets }
        if sabotage == .countsNoGreetings { settings.agentBudgets = .unlimited }
        engine = CollectorEngine(
            settings: settings, recovered: recovered, host: host, at: now)
        let utc = now.utc
        let spine = Spine()
        worker = DiskWorker(layout: layout, space: space, spine: spine, now: { utc })
        if let catalog {
            spine.add(listener)
            follower = CatalogFollower(catalog, layout)
        }
        nextSubmit = now.monotonic
        nextCommit = now.monotonic + Self.commitNanoseconds
        nextRetry = nextCommit
        follow(now)
    }

    mutating func receive(
        _ message: IncomingMessage, payload: SimulatedPayload?, at now: Instant
    ) {
        engine.receive(message, payload: payload, at: now)
        follow(now)
    }

    mutating func lost(_ peer: PeerID, at now: Instant) {
        engine.lost(peer, at: now)
        follow(now)
    }

    mutating func tick(at now: Instant) {
        engine.tick(at: now)
        follow(now)
    }

    /// Ends the session, as somebody asks for it.
    /// - Returns: its name; nil where there is none.
    mutating func stop(at now: Instant) -> String? {
        guard let name = engine.recorder.sessionName else { return nil }
        engine.end(.stopped, at: now)
        follow(now)
        return name
    }

    /// Lets the disk thread do so much, and hears what it has done.
    mutating func work(_ most: Int, at now: Instant) {
        for _ in 0..<min(most, jobs.count) {
            let job = jobs.removeFirst()
            worker.perform(job)
            if sabotage == .acknowledgesEarly, case .append(let id, let fragment) = job {
                engine.follow(
                    .persisted(
                        PersistedRecords(
                            source: id.source, spool: fragment.context.spool,
                            sequences: fragment.sequences)), at: now)
            }
        }
        if worker.isStuck, now.monotonic >= nextRetry {
            nextRetry = now.monotonic + Self.commitNanoseconds
            worker.retry()
        }
        guard now.monotonic >= nextCommit else { return }
        if keepsTime {
            // At whole seconds, whoever has something to be made durable.
            nextCommit = (now.monotonic / Self.commitNanoseconds + 1) * Self.commitNanoseconds
            if worker.isDirty { worker.commit() }
        } else if worker.isDirty {
            nextCommit = now.monotonic + Self.commitNanoseconds
            worker.commit()
        }
    }

    /// Sources of which a file has failed and is not in order yet: until then its disk shows of it what it likes.
    var failing: Set<String> {
        Set(
            worker.rescues.filter { !$0.value.isDone }.map { "\($0.key.session)/\($0.key.source)/" }
        )
    }

    /// Whether everything is done.
    var isIdle: Bool {
        engine.recorder.sessionName == nil && engine.jobs.isEmpty && jobs.isEmpty
            && !worker.isDirty && !worker.isStuck
    }

    /// The catalog's thread gets its turn.
    mutating func followCatalog(at now: Instant) {
        guard let isReady = follower?.isReady else { return }
        let heard = isReady ? listener.take() : SpineListener.Heard()
        _ = follower?.follow(heard, now: Self.clock + .nanoseconds(now.monotonic))
    }

    /// Whether the catalog has all that was said.
    var isCatalogInStep: Bool { follower?.isInStep ?? true }

    /// The receiving thread hears what the disk has done.
    mutating func hear(at now: Instant) {
        for event in worker.takeEvents() { engine.follow(event, at: now) }
        engine.returnCredit(at: now)
        follow(now)
    }

    /// The receiving thread hears what the store has.
    mutating func hear(_ records: StoredRecords) { records.set(engine.stored(records.take())) }

    mutating func takeOutgoing() -> [(peer: PeerID, header: [UInt8])] { engine.takeOutgoing() }
    mutating func takeDismissed() -> [PeerID] { engine.takeDismissed() }

    mutating func takeLog() -> [String] {
        defer { log.removeAll() }
        return log
    }

    private mutating func follow(_ now: Instant) {
        let isSubmitDue = now.monotonic >= nextSubmit
        if isSubmitDue { nextSubmit = now.monotonic + Self.submitNanoseconds }
        // Where sources are not to hurry each other, media does not wait.
        if keepsTime || isSubmitDue || engine.hasUrgentJobs { jobs += engine.takeJobs() }
        log += engine.takeLines().map(\.text)
        for notice in engine.takeNotices() {
            if case .sessionFinished(let name) = notice { sessionsFinished.append(name) }
        }
    }
}
