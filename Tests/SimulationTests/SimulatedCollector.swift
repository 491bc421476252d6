import Archive
import Catalog
import Wire

@testable import CollectorCore

/// A fault injected on purpose, to test that a simulation detects it.
enum Sabotage: String, CaseIterable {
    /// `fdatasync` succeeds without synchronising.
    case skipsSynchronization
    /// Records count as durable once written.
    case acknowledgesEarly
    /// A restarted collector ignores the records behind the watermark.
    case forgetsWhatItHas
    /// A session's zero follows any reported time.
    case believesAnyTime
    /// A source may begin any number of files and write any number of ledger lines.
    case countsNoFiles
    /// An agent may send any number of greetings.
    case countsNoGreetings
    /// Agents have to keep records that the store lacks, but durable ones are released.
    case releasesAtPersisted

    /// Faults that honest agents alone reveal.
    static let careless: [Sabotage] = [
        .skipsSynchronization, .acknowledgesEarly, .forgetsWhatItHas,
    ]
    /// Faults that only a hostile agent reveals.
    static let trusting: [Sabotage] = [.believesAnyTime, .countsNoFiles, .countsNoGreetings]

    /// Write budgets of one source.
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

/// The real collector between socket and disk: the engine, and the disk thread's jobs one at a time.
struct SimulatedCollector {
    private static let commitNanoseconds: Int64 = 1_000_000_000
    /// How long media waits before it is handed to the disk, unless credit or an urgent job requires it sooner.
    private static let submitNanoseconds: Int64 = 450_000_000
    private static let idleNanoseconds: Int64 = 60_000_000_000

    let layout: ArchiveLayout
    private let sabotage: Sabotage?
    private(set) var engine: CollectorEngine
    private var worker: DiskWorker
    /// Jobs that the disk thread has not done yet.
    private var jobs: [DiskJob] = []
    private var nextSubmit: Int64
    private var nextCommit: Int64
    private var nextRetry: Int64
    private(set) var sessionsFinished: [String] = []
    /// Questions to the site that were not taken yet.
    private var proposals: [(proposal: SiteProposal, ticket: UInt64)] = []
    private var log: [String] = []
    /// The catalog thread's work; nil: no catalog.
    private var follower: CatalogFollower?
    private let listener = SpineListener([.sessions, .segments, .ledgers], capacity: 24)
    private static let clock = ContinuousClock.now
    /// Whether each source's data becomes durable on its own schedule, independent of other sources.
    private let keepsTime: Bool

    init(
        layout: ArchiveLayout, space: FreeSpace, recovered: RecoveredArchive, host: HostClock,
        takenNames: Set<String>, sabotage: Sabotage?, segmentNanoseconds: Int64, keepsTime: Bool,
        catalog: SimulatedCatalog?, release: ReleasePolicy = .local, name: String = "",
        isOnSite: Bool = false,
        at now: Instant
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
        settings.name = name
        settings.isOnSite = isOnSite
        settings.release = sabotage == .releasesAtPersisted ? .local : release
        if let sabotage { settings.budgets = sabotage.budgets }
        if sabotage == .countsNoGreetings { settings.agentBudgets = .unlimited }
        engine = CollectorEngine(
            settings: settings, recovered: recovered, host: host, at: now)
        let utc = now.utc
        let spine = Spine()
        worker = DiskWorker(layout: layout, space: space, spine: spine, now: { utc })
        // Files of two seconds have few fragments.
        worker.checkpoints.interval = 2
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

    /// Its disk does not answer, or does so again.
    mutating func setDiskHanging(_ isHanging: Bool) { engine.setDiskHanging(isHanging) }

    /// Has its agents go to other collectors, or ends that.
    mutating func drain(_ isDraining: Bool, at now: Instant) {
        _ = engine.drain(isDraining, at: now)
        follow(now)
    }

    mutating func tick(at now: Instant) {
        engine.tick(at: now)
        follow(now)
    }

    // MARK: The site

    /// Whether the site's database answered the last time.
    mutating func setSiteReachable(_ isReachable: Bool) { engine.isSiteReachable = isReachable }

    mutating func takeProposals() -> [(proposal: SiteProposal, ticket: UInt64)] {
        defer { proposals.removeAll() }
        return proposals
    }

    mutating func agreed(_ ticket: UInt64, on answer: SiteAgreement?, at now: Instant) {
        engine.agreed(ticket, on: answer, at: now)
        follow(now)
    }

    mutating func siteDenied(_ session: String, at now: Instant) {
        engine.siteDenied(session, at: now)
        follow(now)
    }

    // MARK: Ends

    /// Ends the session on request.
    /// - Returns: its name; nil without a session.
    mutating func stop(at now: Instant) -> String? {
        guard let name = engine.recorder.sessionName else { return nil }
        engine.end(.stopped, at: now)
        follow(now)
        return name
    }

    /// Ends as after SIGTERM: everything received is written, made durable and acknowledged, and the session stays open.
    mutating func suspend(at now: Instant) {
        _ = engine.suspend(at: now)
        jobs += engine.takeJobs()
        for job in jobs { worker.perform(job) }
        jobs.removeAll()
        if worker.isStuck { worker.retry() }
        worker.commit()
        for event in worker.takeEvents() { engine.follow(event, at: now) }
        engine.sayGoodbye(at: now)
        follow(now)
    }

    /// Performs up to `most` jobs of the disk thread and handles their events.
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
            // A commit at whole seconds, if there is anything to commit.
            nextCommit = (now.monotonic / Self.commitNanoseconds + 1) * Self.commitNanoseconds
            if worker.isDirty { worker.commit() }
        } else if worker.isDirty {
            nextCommit = now.monotonic + Self.commitNanoseconds
            worker.commit()
        }
    }

    /// Sources with a failed file not yet recovered; their files may be in any state until then.
    var failing: Set<String> {
        Set(
            worker.rescues.filter { !$0.value.isDone }.map { "\($0.key.session)/\($0.key.source)/" }
        )
    }

    /// Whether all work is done.
    var isIdle: Bool {
        engine.recorder.sessionName == nil && engine.jobs.isEmpty && jobs.isEmpty
            && !worker.isDirty && !worker.isStuck
    }

    /// Runs the catalog thread once.
    mutating func followCatalog(at now: Instant) {
        guard let isReady = follower?.isReady else { return }
        let heard = isReady ? listener.take() : SpineListener.Batch()
        _ = follower?.follow(heard, now: Self.clock + .nanoseconds(now.monotonic))
    }

    /// Whether the catalog has every change.
    var isCatalogInStep: Bool { follower?.isInStep ?? true }

    /// Handles the disk's events on the receiving thread.
    mutating func hear(at now: Instant) {
        for event in worker.takeEvents() { engine.follow(event, at: now) }
        engine.returnCredit(at: now)
        follow(now)
    }

    /// Handles the store's progress on the receiving thread.
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
        // Media does not wait where sources must not affect each other's timing.
        if keepsTime || isSubmitDue || engine.hasUrgentJobs { jobs += engine.takeJobs() }
        log += engine.takeLines().map(\.text)
        for notice in engine.takeNotices() {
            switch notice {
            case .sessionFinished(let name): sessionsFinished.append(name)
            case .propose(let proposal, let ticket): proposals.append((proposal, ticket))
            case .sessionEnded, .wantRoom, .report, .enrol: break
            }
        }
    }
}
