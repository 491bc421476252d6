import Archive
import Catalog
import Media
import Operations
import Testing
import Wire

@testable import CollectorCore
@testable import Timing

/// The clock of another collector, as one collector measures it.
@Suite struct PeerClockTests {
    /// A small seeded generator (SplitMix64).
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// Two collectors' clocks, and the way between them.
    private struct Scene {
        var random: Seeded
        var offset: Int64
        let skewPPB: Int64
        var identity = EpochID(high: 7, low: 7)
        var now: Int64 = 1_000_000_000_000
        var peer = PeerClock(now: 1_000_000_000_000)

        init(seed: UInt64) {
            random = Seeded(state: seed)
            offset = Int64.random(in: -900_000_000_000...900_000_000_000, using: &random)
            skewPPB = Int64.random(in: -400_000...400_000, using: &random)
        }

        /// The other collector's clock − this one's.
        func difference(at now: Int64) -> Int64 {
            offset + (now - 1_000_000_000_000) / 1_000 * skewPPB / 1_000_000
        }

        /// Runs for some seconds; probes get lost now and then, and take longer there than back.
        mutating func run(seconds: Int64, answers: Bool = true) {
            let end = now + seconds * 1_000_000_000
            while now < end {
                now = max(now + 1_000_000, min(peer.dueNanoseconds, end))
                guard let probe = peer.probe(now: now) else { continue }
                let there = Int64.random(in: 300_000...4_000_000, using: &random)
                let back = Int64.random(in: 100_000...600_000, using: &random)
                guard answers, Int.random(in: 0..<10, using: &random) > 0 else { continue }
                let received = now + there
                let answered = received + 30_000 + back
                let reply = ClockReply(
                    t1: probe.t1, t2: received + difference(at: received),
                    t3: received + 30_000 + difference(at: received + 30_000), clock: identity)
                peer.take(reply, receivedAt: answered)
                now = answered
            }
        }

        func status() -> PeerClockStatus { peer.status(of: "west", now: now) }

        func isWithinBound() -> Bool {
            let status = status()
            guard let found = status.offsetNanoseconds, let bound = status.boundNanoseconds else {
                return false
            }
            return (found - difference(at: now)).magnitude <= bound.magnitude
        }
    }

    @Test(arguments: UInt64(1)...20)
    func `minutes apart and with other rates, the difference is within the stated bound`(
        seed: UInt64
    ) throws {
        var scene = Scene(seed: seed)
        for _ in 0..<60 {
            scene.run(seconds: 5)
            #expect(scene.isWithinBound(), "seed \(seed)")
        }
        let measured = try #require(scene.status().boundNanoseconds)
        #expect(measured < 2_300_000, "half of the longest round trip")
        // While no answer comes, the bound grows, and stays true.
        scene.run(seconds: 600, answers: false)
        #expect(scene.isWithinBound(), "seed \(seed)")
        #expect(try #require(scene.status().boundNanoseconds) > measured)
        #expect(try #require(scene.status().ageSeconds) > 590)
    }

    @Test func `the fastest exchange of each window is kept for the next session`() {
        var scene = Scene(seed: 3)
        scene.run(seconds: 60)
        #expect((25...61).contains(scene.peer.keptCount), "\(scene.peer.keptCount)")
        scene.run(seconds: 3_600)
        #expect(scene.peer.kept.count == PeerClock.maximumKept)
        #expect((350...520).contains(scene.peer.keptCount), "\(scene.peer.keptCount)")
        let delays = scene.peer.kept.map(\.exchange.roundTripDelayNanoseconds)
        #expect(delays.sorted()[delays.count / 2] < 2_500_000, "of up to 4.6 ms")
        #expect(
            zip(scene.peer.kept, scene.peer.kept.dropFirst()).allSatisfy {
                $0.exchange.t1Nanoseconds < $1.exchange.t1Nanoseconds
            })
    }

    @Test func `another clock at the same address is another clock`() throws {
        var scene = Scene(seed: 4)
        scene.run(seconds: 100)
        let before = scene.peer.keptCount
        scene.identity = EpochID(high: 8, low: 8)
        scene.offset += 3_000_000_000
        scene.run(seconds: 20)
        #expect(scene.isWithinBound())
        #expect(Set(scene.peer.kept.map(\.clock.high)) == [7, 8])
        #expect(scene.peer.keptCount > before)
    }

    @Test func `both sides of a clock jump are kept`() throws {
        var scene = Scene(seed: 5)
        scene.run(seconds: 200)
        scene.offset += 40_000_000
        scene.run(seconds: 40)
        #expect(scene.isWithinBound())
        let history = try #require(ClockHistory(scene.peer.kept.map(\.exchange)))
        #expect(history.stretches.count == 2)
    }

    @Test func `without an identity, no exchange is recorded`() {
        var peer = PeerClock(now: 0)
        let probe = peer.probe(now: 0)
        peer.take(ClockReply(t1: probe?.t1 ?? 1, t2: 5_000, t3: 6_000), receivedAt: 100_000)
        peer.finishWindow()
        #expect(peer.keptCount == 0)
        #expect(peer.status(of: "west", now: 200_000).boundNanoseconds != nil)
    }

    @Test func `a session's lines have its zero, and each exchange once`() throws {
        var scene = Scene(seed: 6)
        scene.run(seconds: 120)
        var record = PeerClockRecord(own: EpochID(high: 1, low: 1))
        let session = PeerClockRecord.Session(name: "s", zeroNanoseconds: 42)
        let utc = UTCTime(nanoseconds: 0)
        func peers() -> [(name: String, archive: String, clock: PeerClock)] {
            [("west", "id", scene.peer)]
        }
        #expect(!record.isDue(nil, now: 0))
        #expect(record.isDue(session, now: 0))
        let first = record.begin(session, utc: utc)
        #expect(first.kind == .epoch && first.collectorZeroNanoseconds == 42)
        let lines = record.lines(peers(), now: 0, utc: utc)
        #expect(lines.flatMap { $0.exchanges ?? [] }.count == scene.peer.kept.count)
        #expect(lines.allSatisfy { $0.collector == "west" && $0.collectorZeroNanoseconds == 42 })
        #expect(lines.first?.epoch == EpochID(high: 1, low: 1).description)
        #expect(lines.first?.peerEpoch == scene.identity.description)
        let again = record.lines(peers(), now: 0, utc: utc)
        #expect(again.isEmpty)
        #expect(!record.isDue(session, now: 1))
        #expect(record.isDue(session, now: PeerClockRecord.intervalNanoseconds))
        scene.run(seconds: 100)
        scene.peer.finishWindow()
        let more = record.lines(peers(), now: 0, utc: utc).flatMap { $0.exchanges ?? [] }
        #expect((1..<20).contains(more.count))
        // The next session begins with the kept exchanges.
        _ = record.begin(PeerClockRecord.Session(name: "t", zeroNanoseconds: 43), utc: utc)
        let next = record.lines(peers(), now: 0, utc: utc)
        #expect(next.flatMap { $0.exchanges ?? [] }.count == scene.peer.kept.count)
        #expect(next.allSatisfy { $0.collectorZeroNanoseconds == 43 })
        for line in lines + next {
            let bytes = Ledger.line(line)
            #expect(Ledger.parse(bytes).entries == [line])
        }
    }
}

/// Where another collector is asked for the time.
@Suite struct PeerPlaceTests {
    private func collector(
        listen: String = "tcp://0.0.0.0:5550", _ change: (inout SiteReport) -> Void = { _ in }
    ) -> SiteCollector {
        var report = SiteReport(
            name: "west", version: "0.3.0", machine: "server-b", listen: listen,
            archive: "/srv/west", release: "local")
        report.clock = String(repeating: "a", count: 32)
        change(&report)
        return SiteCollector(
            archive: "id", name: "west", heardSeconds: 1, runningSeconds: 1, report: report)
    }

    private func way(_ collector: SiteCollector, hasKeys: Bool = false) -> PeerProbeAddress.Way? {
        PeerProbeAddress(collector, machine: "server-a", hasKeys: hasKeys)?.way
    }

    private func trouble(_ collector: SiteCollector, hasKeys: Bool = false) -> String {
        if case .none(let text)? = way(collector, hasKeys: hasKeys) { text } else { "" }
    }

    @Test func `a collector that listens on all addresses is asked at its machine's name`() {
        for listen in ["tcp://0.0.0.0:5550", "tcp://*:5550", "tcp://[::]:5550"] {
            #expect(
                way(collector(listen: listen))
                    == .connect(endpoint: "tcp://server-b:5550", key: nil))
            #expect(
                PeerProbeAddress(collector(listen: listen), machine: "server-b", hasKeys: false)?
                    .way
                    == .connect(endpoint: "tcp://127.0.0.1:5550", key: nil))
        }
        #expect(
            way(collector { $0.address = "tcp://10.0.0.7:5551" })
                == .connect(endpoint: "tcp://10.0.0.7:5551", key: nil))
    }

    @Test func `the reason why a collector cannot be asked is stated`() {
        #expect(trouble(collector(listen: "tcp://127.0.0.1:5550")).contains("--advertise"))
        #expect(trouble(collector(listen: "ipc:///run/west")).contains("--advertise"))
        #expect(trouble(collector { $0.clock = nil }).contains("upgrade"))
        #expect(trouble(collector(), hasKeys: true).contains("--insecure"))
        #expect(trouble(collector { $0.key = "no key" }, hasKeys: true).contains("invalid key"))
        #expect(way(collector { $0.isStopped = true }) == nil)
        var unknown = collector()
        unknown.report = nil
        #expect(way(unknown) == nil)
    }
}
