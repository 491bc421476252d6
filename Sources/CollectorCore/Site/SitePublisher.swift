import Archive
import Catalog
import Dispatch
import Logging
import Media
import Operations
import Synchronization
import Threads

/// Reports a collector to the others of its site, every ``intervalSeconds``, and asks the site about sessions, on a
/// thread of its own.
///
/// Waits for it are limited by ``SessionAgreement``. While the server is unavailable, no report is written, and the
/// others see the age of the last one. ``Answers/outage`` reports it: the catalog's thread uses the same server, but only when it
/// has changes.
final class SitePublisher: Sendable {
    /// Interval of reports. Each writes one row, independent of the bitrate.
    static let intervalSeconds = 5.0
    /// Delay after an error; the database's client limits the rate of reconnections itself.
    private static let retrySeconds = 1.0
    /// Maximum wait for the last report at the end.
    private static let graceSeconds = 3.0
    /// Spools in a report: about 400 kB.
    static let maximumHoldings = 4_096

    /// State for the report that is not in ``CollectorStatus``.
    struct Facts: Sendable {
        var held: [(source: String, spool: SpoolID, durable: SequenceSet, stored: SequenceSet?)]
        var isDraining: Bool
        /// The site's session that is being recorded; nil: none.
        var recording: SiteProposal?
        /// Sources of the session that are not connected.
        var absent: Set<String> = []
    }

    /// Answers of the database since the last call.
    struct Answers: Sendable {
        /// Whether it answered the last question.
        var isReachable: Bool
        /// By ticket; nil: the question was not answered.
        var agreements: [(ticket: UInt64, agreement: SiteAgreement?)] = []
        /// Why the last reports, two or more, were not written; nil: the last one was, or the server was not the reason.
        var outage: ArchiveError?
        /// The session of the last report, if another one is the site's, or the site does not know it.
        var denied: String?
    }

    private struct State {
        /// Nil until they are set for the first time: a report without them would state that nothing is held.
        var facts: Facts?
        var isStopping = false
        /// The last logged error; an equal one is not logged again.
        var complaint: String?
        /// The newest question, which replaces older ones.
        var question: (proposal: SiteProposal, ticket: UInt64)?
        /// The server counts as reachable until the first attempt: otherwise, the first session would begin without the site.
        var answers = Answers(isReachable: true)
        var answer: SourceLocations.Answer?
        /// Reports in a row that the server did not take.
        var failedReports = 0
    }

    /// A single failure may be a connection that the server has closed.
    private static let failuresOfOutage = 2

    private let place: any SiteReporting
    private let template: SiteReport
    private let board: StatusBoard
    private let logger: Logger
    private let intervalSeconds: Double
    /// Nil: the identity of this collector's clock is unknown.
    private let clocks: PeerClocks?
    /// Receives the other collectors after each lookup.
    private let peersFound: @Sendable ([PeerProbeAddress]) -> Void
    private let state = Mutex(State())
    private let work = Semaphore(value: 0)
    private let thread = JoinableThread()

    /// - Parameters:
    ///   - template: what does not change.
    ///   - clocks: measures the others' clocks.
    ///   - peersFound: called on the thread.
    init(
        _ place: any SiteReporting, _ template: SiteReport, board: StatusBoard, logger: Logger,
        clocks: PeerClocks? = nil, intervalSeconds: Double = SitePublisher.intervalSeconds,
        peersFound: @escaping @Sendable ([PeerProbeAddress]) -> Void = { _ in }
    ) {
        self.clocks = clocks
        self.peersFound = peersFound
        self.place = place
        self.template = template
        self.board = board
        self.logger = logger
        self.intervalSeconds = intervalSeconds
    }

    /// Asks about a session; ``takeAnswers()`` has the answer.
    func ask(_ proposal: SiteProposal, ticket: UInt64) {
        state.withLock { $0.question = (proposal, ticket) }
        work.signal()
    }

    func takeAnswers() -> Answers {
        state.withLock { state in
            defer {
                state.answers = Answers(
                    isReachable: state.answers.isReachable, outage: state.answers.outage)
            }
            return state.answers
        }
    }

    func start() { thread.start("site") { [self] in run() } }

    /// Replaces the facts for the next report.
    func note(_ facts: Facts) {
        let isFirst = state.withLock { state in
            defer { state.facts = facts }
            return state.facts == nil
        }
        if isFirst { work.signal() }
    }

    /// Where absent sources are, if the site was asked since the last call.
    func takeAnswer() -> SourceLocations.Answer? {
        state.withLock { state in
            defer { state.answer = nil }
            return state.answer
        }
    }

    /// Writes the last report, and ends the thread.
    /// - Parameter deadline: until when that is waited for.
    func stop(until deadline: DispatchTime) {
        state.withLock { $0.isStopping = true }
        work.signal()
        thread.join(until: min(deadline, .now() + Self.graceSeconds))
    }

    private func run() {
        let isThere = place.isReachable()
        state.withLock { $0.answers.isReachable = isThere }
        var due = DispatchTime.now()
        while true {
            let (facts, isStopping, question) = state.withLock { state in
                defer { state.question = nil }
                return (state.facts, state.isStopping, state.question)
            }
            if let question, !isStopping { answer(question.proposal, question.ticket) }
            if let facts, isStopping || due <= .now() {
                let isWritten = publish(facts, isStopped: isStopping)
                if isWritten, !isStopping {
                    findPeers()
                    ask(about: facts.absent)
                }
                due = .now() + (isWritten ? intervalSeconds : Self.retrySeconds)
            }
            if isStopping { return }
            _ = work.wait(timeout: facts == nil ? .distantFuture : due)
        }
    }

    private func answer(_ proposal: SiteProposal, _ ticket: UInt64) {
        var agreement: SiteAgreement?
        do throws(ArchiveError) {
            agreement = try place.agree(proposal)
        } catch {
            if !error.isForServer { complain("the site does not agree on a session: \(error)") }
        }
        state.withLock { state in
            state.answers.isReachable = agreement != nil
            state.answers.agreements.append((ticket, agreement))
        }
    }

    /// - Returns: whether it was written.
    private func publish(_ facts: Facts, isStopped: Bool) -> Bool {
        let report = report(facts, isStopped: isStopped)
        do throws(ArchiveError) {
            let echo = try place.publish(
                report, Self.holdings(facts), recording: facts.recording)
            state.withLock { state in
                state.answers.isReachable = true
                state.answers.outage = nil
                state.failedReports = 0
                state.answers.denied = echo.isAgreed ? nil : facts.recording?.session
            }
            complain(
                echo.namesakes.first.map {
                    "the collector of \($0.machine):\($0.archive) is called \(report.name), too: give one of them "
                        + "another --name, because agents and ledgers tell collectors apart by it"
                })
            return true
        } catch {
            state.withLock { state in
                state.answers.isReachable = false
                state.failedReports = error.isForServer ? state.failedReports + 1 : 0
                state.answers.outage =
                    state.failedReports >= Self.failuresOfOutage ? error : nil
            }
            if !error.isForServer { complain("the site does not hear of this collector: \(error)") }
            return false
        }
    }

    /// Looks up the other collectors. While the server is unreachable, the ones found last are probed.
    private func findPeers() {
        guard let clocks else { return }
        do throws(ArchiveError) {
            let places = Array(
                try place.peers().compactMap {
                    PeerProbeAddress($0, machine: template.machine, hasKeys: template.key != nil)
                }.prefix(PeerClocks.maximumPeers))
            peersFound(places)
            clocks.follow(places)
        } catch {
            if !error.isForServer { complain("the site's collectors are not known here: \(error)") }
        }
    }

    private func ask(about sources: Set<String>) {
        guard !sources.isEmpty else { return }
        let now = SystemClock.monotonic.nowNanoseconds
        do throws(ArchiveError) {
            let found = try place.places(of: sources)
            state.withLock {
                $0.answer = SourceLocations.Answer(nanoseconds: now, asked: sources, found: found)
            }
        } catch {
            // The previous answer remains in use. The next report uses the same server.
            logger.debug("the site did not tell where sources are: \(error)")
        }
    }

    /// Logs each problem once.
    private func complain(_ line: String?) {
        let isNew = state.withLock { state in
            defer { state.complaint = line }
            return state.complaint != line
        }
        if isNew, let line { logger.warning("\(line)") }
    }

    func report(_ facts: Facts, isStopped: Bool) -> SiteReport {
        let view = board.view
        var report = template
        // The status is of the last second of recording.
        report.session = isStopped ? nil : view.session
        report.trouble = isStopped ? nil : view.trouble
        report.isDraining = facts.isDraining
        report.isStopped = isStopped
        let connected = view.sources.filter(\.isConnected)
        report.sources = isStopped ? 0 : connected.count
        report.connected = isStopped ? [] : connected.prefix(Self.maximumHoldings).map(\.name)
        report.bitsPerSecond = isStopped ? 0 : connected.reduce(0) { $0 + $1.bitsPerSecond }
        report.freeBytes = view.disk.freeBytes.map(Self.whole)
        report.sizeBytes = view.disk.sizeBytes.map(Self.whole)
        report.owedBytes = connected.reduce(0) {
            $0.clampedAdding(Self.whole($1.spoolBytes ?? 0))
        }
        report.unstoredBytes = view.store.map { Self.whole($0.waitingBytes) }
        report.omittedHoldings = max(0, facts.held.count - Self.maximumHoldings)
        report.clocks = clocks?.statuses.map { SiteClock($0.clock, archive: $0.archive) }
        return report
    }

    static func holdings(_ facts: Facts) -> [SiteHolding] {
        facts.held.prefix(maximumHoldings).map {
            SiteHolding(
                source: $0.source, spool: $0.spool.description, records: $0.durable,
                stored: $0.stored)
        }
    }

    private static func whole(_ value: Double) -> UInt64 {
        value.isFinite ? UInt64(min(max(value, 0), 9e18)) : 0
    }
}

extension SiteClock {
    fileprivate init(_ status: PeerClockStatus, archive: String) {
        self.init(collector: status.collector, archive: archive)
        boundNanoseconds = status.boundNanoseconds
        skewPPB = status.skewPPB
        roundTripNanoseconds = status.roundTripNanoseconds
        ageSeconds = status.ageSeconds
        trouble = status.trouble
    }
}
