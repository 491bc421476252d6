import Archive
import Catalog
import Dispatch
import Glibc
import Logging
import Media
import Operations
import Synchronization
import Testing

@testable import CollectorCore

/// A collector's reports to its site.
@Suite struct SitePublisherTests {
    /// A place that keeps reports, fails, or does not answer.
    private final class Place: SiteReporting {
        private struct State {
            var reports: [SiteReport] = []
            var holdings: [SiteHolding] = []
            var error: ArchiveError?
            var others: [SiteReport] = []
            var places: [String: String] = [:]
            var asked: [Set<String>] = []
            var isSilentAboutPlaces = false
        }

        private let state = Mutex(State())
        /// Nil: it answers.
        let gate: DispatchSemaphore?

        init(gate: DispatchSemaphore? = nil) { self.gate = gate }

        var reports: [SiteReport] { state.withLock { $0.reports } }
        var holdings: [SiteHolding] { state.withLock { $0.holdings } }
        func fail(_ error: ArchiveError?) { state.withLock { $0.error = error } }
        func name(_ others: [SiteReport]) { state.withLock { $0.others = others } }
        func hidePlaces() { state.withLock { $0.isSilentAboutPlaces = true } }
        func have(_ places: [String: String]) { state.withLock { $0.places = places } }
        var asked: [Set<String>] { state.withLock { $0.asked } }

        func places(of sources: Set<String>) throws(ArchiveError) -> [String: String] {
            let (isSilent, places) = state.withLock { state in
                state.asked.append(sources)
                return (state.isSilentAboutPlaces, state.places)
            }
            if isSilent { throw .unavailable(place: "db1/tributary", reason: "it is away") }
            return places
        }

        func isReachable() -> Bool {
            gate?.wait()
            return state.withLock { $0.error == nil }
        }

        func agree(_ proposal: SiteProposal) throws(ArchiveError) -> SiteAgreement {
            gate?.wait()
            if let error = state.withLock({ $0.error }) { throw error }
            return SiteAgreement(
                session: SiteSession(
                    number: 1, session: "evening", zeroUTCNanoseconds: 0, wallErrorNanoseconds: 0,
                    segmentNanoseconds: 1, collector: "west", archive: "",
                    zero: ServerInstant(
                        nanoseconds: 0, errorNanoseconds: 0, measuredNanoseconds: 0, server: 1)),
                isProposed: false, zeroMonotonicNanoseconds: 5, zeroErrorNanoseconds: 6)
        }

        func publish(
            _ report: SiteReport, _ holdings: [SiteHolding], recording: SiteProposal?
        ) throws(ArchiveError) -> SiteReport.Echo {
            gate?.wait()
            let (error, others) = state.withLock { state in
                if state.error == nil {
                    state.reports.append(report)
                    state.holdings = holdings
                }
                return (state.error, state.others)
            }
            if let error { throw error }
            return SiteReport.Echo(
                namesakes: others, isAgreed: recording?.session != "lost")
        }

        func peers() throws(ArchiveError) -> [SiteCollector] {
            let (error, others) = state.withLock { ($0.error, $0.others) }
            if let error { throw error }
            return others.map {
                SiteCollector(
                    archive: "id-\($0.name)", name: $0.name, heardSeconds: 1, runningSeconds: 1,
                    report: $0)
            }
        }
    }

    private func proposal(_ session: String) -> SiteProposal {
        SiteProposal(
            session: session, collector: "east", zeroUTCNanoseconds: 0, wallErrorNanoseconds: 0,
            segmentNanoseconds: 1, zeroMonotonicNanoseconds: 0, zeroErrorNanoseconds: 0)
    }

    private static let template = SiteReport(
        name: "east", version: "0.1.0", machine: "east.example", listen: "tcp://0.0.0.0:5550",
        archive: "/srv/east", release: "stored")

    private func publisher(
        _ place: Place, lines: LineCount = LineCount(),
        board: StatusBoard = StatusBoard(version: "")
    ) -> SitePublisher {
        SitePublisher(
            place, Self.template, board: board, logger: Logger(label: "") { _ in lines },
            intervalSeconds: 0.01)
    }

    private func facts(isDraining: Bool = false) -> SitePublisher.Facts {
        .init(
            held: [("door", SpoolID(high: 1, low: 2), SequenceSet(upTo: 7), SequenceSet(upTo: 5))],
            isDraining: isDraining)
    }

    private func wait(_ isSo: () -> Bool) -> Bool {
        for _ in 0..<12_000 {
            if isSo() { return true }
            usleep(5_000)
        }
        return false
    }

    @Test func `the first report follows the first facts, and the last one states the end`() {
        let place = Place()
        let publisher = publisher(place)
        publisher.start()
        usleep(50_000)
        #expect(place.reports.isEmpty)
        publisher.note(facts(isDraining: true))
        #expect(wait { place.reports.count >= 3 })
        publisher.stop(until: .now() + .seconds(10))
        let first = place.reports.first
        #expect(first?.isDraining == true && first?.isStopped == false)
        #expect(place.holdings.first?.records == SequenceSet(upTo: 7))
        #expect(place.holdings.first?.storedRecords == SequenceSet(upTo: 5))
        #expect(place.reports.last?.isStopped == true)
        #expect(place.reports.filter(\.isStopped).count == 1)
    }

    @Test func `a status becomes a report`() {
        let board = StatusBoard(version: "")
        var status = CollectorStatus(session: "2026-11-20T22-40-00.000Z")
        var here = SourceStatus(name: "door")
        here.isConnected = true
        here.bitsPerSecond = 4e6
        here.report = .init(keptBytes: 5_000, lostSamples: 0, ageSeconds: 0, soundPeaks: [])
        var gone = here
        gone.name = "hall"
        gone.isConnected = false
        status.sources = [here, gone]
        status.disk.freeBytes = 99
        status.store = StoreStatus(name: "s3://site/east")
        status.store?.waitingBytes = 12
        board.publish(status)
        let publisher = publisher(Place(), board: board)
        let report = publisher.report(facts(), isStopped: false)
        #expect(report.session == status.session && report.sources == 1)
        #expect(report.connected == ["door"])
        #expect(report.bitsPerSecond == 4e6 && report.owedBytes == 5_000)
        #expect(report.freeBytes == 99 && report.unstoredBytes == 12)
        let last = publisher.report(facts(), isStopped: true)
        #expect(last.session == nil && last.sources == 0 && last.trouble == nil)
        #expect(last.connected == [])
        #expect(last.owedBytes == 5_000)
    }

    @Test func `an unreachable server is asked again, and a silent one does not delay the end`() {
        let place = Place()
        place.fail(.unavailable(place: "db1/tributary", reason: "it is away"))
        let lines = LineCount()
        let away = publisher(place, lines: lines)
        away.start()
        away.note(facts())
        usleep(30_000)
        #expect(place.reports.isEmpty)
        // Reported from the second attempt on.
        #expect(wait { away.takeAnswers().outage != nil })
        #expect(away.takeAnswers().outage?.isForServer == true)
        place.fail(nil)
        #expect(wait { !place.reports.isEmpty })
        #expect(wait { away.takeAnswers().outage == nil })
        #expect(lines.count == 0)
        away.stop(until: .now() + .seconds(10))

        let silent = Place(gate: DispatchSemaphore(value: 0))
        let stuck = publisher(silent)
        stuck.start()
        stuck.note(facts())
        let begin = ContinuousClock.now
        stuck.stop(until: .now() + .seconds(600))
        #expect(ContinuousClock.now - begin < .seconds(300))
        for _ in 0..<4 { silent.gate?.signal() }
    }

    @Test func `questions are answered between reports, and a denied session is returned`() {
        let place = Place()
        let publisher = publisher(place)
        #expect(publisher.takeAnswers().isReachable)
        publisher.start()
        var agreements: [(ticket: UInt64, agreement: SiteAgreement?)] = []
        func isAnswered(_ count: Int) -> Bool {
            wait {
                agreements += publisher.takeAnswers().agreements
                return agreements.count == count
            }
        }
        publisher.ask(proposal("own"), ticket: 7)
        #expect(isAnswered(1))
        #expect(agreements.first?.ticket == 7)
        #expect(agreements.first?.agreement?.zeroMonotonicNanoseconds == 5)
        #expect(publisher.takeAnswers().isReachable)
        place.fail(.unavailable(place: "db1/tributary", reason: "it is away"))
        publisher.ask(proposal("own"), ticket: 8)
        #expect(isAnswered(2))
        #expect(agreements.last?.ticket == 8 && agreements.last?.agreement == nil)
        #expect(!publisher.takeAnswers().isReachable)
        place.fail(nil)
        var known = facts()
        known.recording = proposal("lost")
        publisher.note(known)
        #expect(wait { publisher.takeAnswers().denied == "lost" })
        #expect(publisher.takeAnswers().isReachable)
        publisher.stop(until: .now() + .seconds(10))
    }

    @Test func `an unreachable server is detected before a session begins`() {
        let place = Place()
        place.fail(.unavailable(place: "db1/tributary", reason: "it is away"))
        let publisher = publisher(place)
        publisher.start()
        #expect(wait { !publisher.takeAnswers().isReachable })
        publisher.stop(until: .now() + .seconds(10))
    }

    @Test func `the site is asked where absent sources are, and not about others`() {
        let place = Place()
        place.have(["door": "west"])
        let publisher = publisher(place)
        publisher.start()
        publisher.note(facts())
        #expect(wait { place.reports.count >= 3 })
        #expect(place.asked.isEmpty && publisher.takeAnswer() == nil)
        var absent = facts()
        absent.absent = ["door", "hall"]
        publisher.note(absent)
        var answer: SourceLocations.Answer?
        #expect(
            wait {
                answer = answer ?? publisher.takeAnswer()
                return answer != nil
            })
        #expect(answer?.asked == ["door", "hall"] && answer?.found == ["door": "west"])
        #expect(answer?.nanoseconds ?? 0 > 0)
        // Without an answer, nothing is denied.
        place.hidePlaces()
        let before = place.asked.count
        #expect(wait { place.asked.count > before + 1 })
        _ = publisher.takeAnswer()
        let later = place.asked.count
        #expect(wait { place.asked.count > later + 1 })
        #expect(publisher.takeAnswer() == nil)
        publisher.stop(until: .now() + .seconds(10))
    }

    @Test func `a name that another collector has is logged once`() {
        let place = Place()
        place.name([Self.template])
        let lines = LineCount()
        let publisher = publisher(place, lines: lines)
        publisher.start()
        publisher.note(facts())
        #expect(wait { place.reports.count >= 5 })
        #expect(lines.count == 1)
        publisher.stop(until: .now() + .seconds(10))
    }

    @Test func `the other collectors are found, and their clocks are queried`() throws {
        let place = Place()
        var west = Self.template
        west.name = "west"
        west.machine = "west.example"
        west.clock = String(repeating: "b", count: 32)
        place.name([west])
        let clocks = try PeerClocks(
            clock: EpochID(high: 1, low: 1), layout: ArchiveLayout(root: "/nonexistent"), key: nil,
            logger: Logger(label: "") { _ in LineCount() })
        clocks.start()
        let found = Mutex<[PeerProbeAddress]>([])
        let publisher = SitePublisher(
            place, Self.template, board: StatusBoard(version: ""),
            logger: Logger(label: "") { _ in LineCount() }, clocks: clocks, intervalSeconds: 0.01
        ) { places in
            found.withLock { $0 = places }
        }
        publisher.start()
        publisher.note(facts())
        #expect(wait { place.reports.last?.clocks?.map(\.collector) == ["west"] })
        #expect(
            found.withLock { $0 }.map(\.way)
                == [.connect(endpoint: "tcp://west.example:5550", key: nil)])
        publisher.stop(until: .now() + .seconds(10))
        clocks.stop(until: .now() + .seconds(10))
    }

    @Test func `collectors above the site's limit are neither asked nor admitted`() throws {
        let place = Place()
        place.name(
            (0..<2 * PeerClocks.maximumPeers).map { number in
                var other = Self.template
                other.name = "west\(number)"
                return other
            })
        let clocks = try PeerClocks(
            clock: EpochID(high: 1, low: 1), layout: ArchiveLayout(root: "/nonexistent"), key: nil,
            logger: Logger(label: "") { _ in LineCount() })
        let found = Mutex<[PeerProbeAddress]>([])
        let publisher = SitePublisher(
            place, Self.template, board: StatusBoard(version: ""),
            logger: Logger(label: "") { _ in LineCount() }, clocks: clocks, intervalSeconds: 0.01
        ) { places in
            found.withLock { $0 = places }
        }
        publisher.start()
        publisher.note(facts())
        #expect(wait { !found.withLock { $0 }.isEmpty })
        #expect(found.withLock { $0 }.count == PeerClocks.maximumPeers)
        publisher.stop(until: .now() + .seconds(10))
    }

    @Test func `a report is limited, and states the number of omitted spools`() {
        let many = (0..<5_000).map { index in
            (
                "door", SpoolID(high: 0, low: UInt64(index)), SequenceSet(upTo: 1),
                nil as SequenceSet?
            )
        }
        let facts = SitePublisher.Facts(held: many, isDraining: false)
        #expect(SitePublisher.holdings(facts).count == SitePublisher.maximumHoldings)
        let report = publisher(Place()).report(facts, isStopped: false)
        #expect(report.omittedHoldings == 5_000 - SitePublisher.maximumHoldings)
    }
}

/// Counts log lines.
private final class LineCount: LogHandler {
    private let lines = Mutex(0)
    var count: Int { lines.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event _: LogEvent) { lines.withLock { $0 += 1 } }
}
