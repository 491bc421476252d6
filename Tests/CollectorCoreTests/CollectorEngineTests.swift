import Archive
import Media
import Operations
import Testing
import Timing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

@Suite struct CollectorEngineTests {
    private let peer = PeerID([0, 1])
    private let now = SessionHarness.instant(second)

    /// An engine with one connected source, `camera`.
    private func engine(
        spool: SpoolID = .random(), epoch: EpochID = .random()
    ) -> CollectorEngine {
        var engine = CollectorEngine(
            settings: SessionSettings(
                layout: ArchiveLayout(root: "/archive"), startAt: .firstSample,
                segmentNanoseconds: 600 * second, idleTimeoutNanoseconds: 0, software: "test"),
            recovered: RecoveredArchive(), host: HostClock(boot: "this"), at: now)
        let hello = Hello(
            software: "agent", agent: "box", spool: spool,
            epochs: [Epoch(number: 1, identity: epoch)],
            sources: [SourceOffer(name: "camera", tracks: [DiskScene.format], firstSequence: 1)])
        engine.receive(message(.hello(hello)), payload: nil, at: now)
        return engine
    }

    private func message(_ message: WireMessage, payloadBytes: Int? = nil) -> IncomingMessage {
        IncomingMessage(
            peer: peer, address: "10.0.0.1", header: message.encoded(),
            payloadSizeBytes: payloadBytes)
    }

    /// The answers to requests.
    private func reports(
        _ engine: inout CollectorEngine
    ) -> [(reply: CommandReply, payload: [UInt8])] {
        engine.takeNotices().compactMap {
            if case .report(_, let reply, let payload) = $0 { (reply, payload) } else { nil }
        }
    }

    @Test func `a detached archive is one line, and not ready until it is back`() {
        var engine = engine()
        _ = engine.takeLines()
        engine.follow(.detached, at: now)
        #expect(engine.trouble == "the archive /archive was removed, replaced or unmounted")
        #expect(engine.stuckFiles == 1)
        #expect(
            engine.takeLines().map(\.text) == [
                "the archive /archive was removed, replaced or unmounted: mount it again, or restart "
                    + "the collector; agents keep their samples"
            ])
        engine.follow(.attached, at: now)
        #expect(engine.trouble == nil && engine.stuckFiles == 0)
        #expect(engine.takeLines().count == 1)
        let error = ArchiveError.system(operation: "write", path: "/archive/x", errno: 28)
        engine.follow(.abandoned(path: "/archive/x", error), at: now)
        #expect(engine.failures == ["/archive/x: No space left on device; agents keep the rest"])
    }

    @Test func `a file that cannot be finished is reported for its session`() {
        var engine = engine()
        let entry = SessionManifest.Source(
            name: "camera", agent: "", address: "", tracks: [], isComplete: false)
        let notes = [
            RecoveryNote(.warning, "cut"), RecoveryNote(.error, "x.mp4: damaged; left unchanged"),
            RecoveryNote(.error, "y.mp4: damaged; left unchanged"),
        ]
        let rescued = RescuedSource(
            id: SourceKey(session: "evening", source: "camera"),
            source: RecoveredSource(entry: entry), spools: [], notes: notes)
        engine.follow(.rescued(rescued), at: now)
        #expect(engine.takeDamage(of: "morning") == nil)
        #expect(engine.takeDamage(of: "evening") == "x.mp4: damaged; left unchanged")
        #expect(engine.takeDamage(of: "evening") == nil)
    }

    @Test func `an unavailable catalog server is one line, whoever notices it first`() {
        let outage = ArchiveError.unavailable(place: "db1", reason: "no answer")
        var engine = engine()
        /// The new lines, and whether the catalog is kept.
        func state(_ change: (inout CollectorEngine) -> Void) -> (lines: Int, isKept: Bool) {
            _ = engine.takeLines()
            change(&engine)
            return (engine.takeLines().count, engine.counts.hasCatalog)
        }
        // An idle catalog: only the site's reports fail.
        #expect(state { $0.followSite(outage: nil) } == (0, true))
        #expect(state { $0.followSite(outage: outage) } == (1, false))
        #expect(state { $0.followSite(outage: outage) } == (0, false))
        #expect(state { $0.followSite(outage: nil) } == (1, true))
        // Its thread notices it later, and waits longer.
        #expect(state { $0.followSite(outage: outage) } == (1, false))
        #expect(state { $0.follow(.locked(outage)) } == (0, false))
        #expect(state { $0.followSite(outage: nil) } == (0, false))
        #expect(state { $0.follow(.unlocked) } == (1, true))
        // Its thread notices it first, and its end, too.
        #expect(state { $0.follow(.locked(outage)) } == (1, false))
        #expect(state { $0.followSite(outage: outage) } == (0, false))
        #expect(state { $0.follow(.unlocked) } == (1, true))
        #expect(state { $0.followSite(outage: outage) } == (0, true))
        #expect(state { $0.followSite(outage: nil) } == (0, true))
    }

    @Test(arguments: [
        // Before this collector began, and after the present: readings of an earlier collector's clock.
        (second - 1, 0), (2 * second + 1, 0), (second, 1), (2 * second - 1_000, 1),
    ])
    func `exchanges with an earlier collector are not used`(t2: Int64, accepted: Int) {
        let spool = SpoolID.random()
        let epoch = EpochID.random()
        var engine = engine(spool: spool, epoch: epoch)
        let exchange = ReportedExchange(
            t1: 5 * second, t2: t2, t3: t2 + 1_000, t4: 5 * second + 50_000, epoch: 1)
        engine.receive(
            message(.heartbeat(Heartbeat(clockExchanges: [exchange]))), payload: nil,
            at: SessionHarness.instant(2 * second))
        let clock = ClockID(owner: ClockOwner(owner: "10.0.0.1", spool: spool), epoch: epoch)
        #expect(engine.recorder.clocks.counts(of: clock)?.accepted ?? 0 == accepted)
    }

    @Test func `a failed command's report has no payload of its agent's refused message`() {
        var engine = engine()
        engine.command(.keyframe, to: "camera", ticket: 1, at: now)
        #expect(reports(&engine).isEmpty)
        var camera = SteadyCamera("camera")
        // A size other than that of its samples.
        engine.receive(
            message(.samples(camera.picture(at: second)), payloadBytes: 1_000),
            payload: TestPayload(count: 1_000), at: now)
        let reports = reports(&engine)
        #expect(reports.count == 1)
        guard case .failure(.notConnected, _) = reports.first?.reply else {
            Issue.record("\(reports)")
            return
        }
        #expect(reports.first?.payload.isEmpty == true)
    }

    /// The next session begins with the next sample; before its first keyframe, nothing can be decoded.
    @Test(arguments: [
        (SessionManifest.EndReason.stopped, true), (.collectorStopped, false),
    ])
    func `a stop asks encoders for keyframes`(reason: SessionManifest.EndReason, asks: Bool) throws
    {
        var engine = engine()
        _ = engine.takeOutgoing()
        engine.end(reason, at: SessionHarness.instant(2 * second))
        let requests = try engine.takeOutgoing().filter {
            if case .command(let command) = try WireMessage(decoding: $0.header) {
                command.request == .keyframe && command.source == 0
            } else {
                false
            }
        }
        #expect(requests.map(\.peer) == (asks ? [peer] : []))
        // The answers are for nothing that waits.
        engine.lost(peer, at: SessionHarness.instant(2 * second))
        #expect(reports(&engine).isEmpty)
    }

    @Test func `a file that is no longer stuck does not count as trouble`() {
        var engine = engine()
        let errors: [ArchiveError] = [
            .system(operation: "write", path: "/archive/a", errno: 5),
            .noRoom(path: "/archive/a", freeBytes: 0, reserveBytes: 1),
        ]
        for error in errors {
            engine.follow(.stuck(path: "/archive/a", error), at: now)
            #expect(engine.trouble != nil)
            engine.follow(.unstuck(path: "/archive/a"), at: now)
            #expect(engine.trouble == nil)
        }
    }

    @Test func `the latency from capture to durable storage is measured`() {
        var engine = engine()
        func persist(_ capturedNanoseconds: Int64?, at time: Int64) {
            engine.follow(
                .persisted(
                    PersistedRecords(
                        source: "camera", spool: DiskScene.spool, sequences: [1...1],
                        capturedNanoseconds: capturedNanoseconds)),
                at: SessionHarness.instant(time))
        }
        persist(2 * second, at: 3 * second + second / 4)
        persist(2 * second, at: 4 * second)
        // A line of a ledger has no capture time, and no clock is exact.
        persist(nil, at: 9 * second)
        persist(10 * second, at: 9 * second)
        let found = engine.captureToDurable
        #expect(found.count == 3)
        #expect(found.sumSeconds == 3.25)
        let classes = Dictionary(uniqueKeysWithValues: zip(found.bounds, found.counts))
        #expect(classes[0.25] == 1 && classes[1.5] == 1 && classes[2] == 1)
    }

    @Test func `a subscription reaches the agent with the next tick, and so does its end`() throws {
        var engine = engine()
        engine.tick(at: now)
        _ = engine.takeOutgoing()
        func wishes() throws -> [UInt32] {
            engine.tick(at: now)
            return try engine.takeOutgoing().compactMap {
                guard case .acknowledgement(let ack) = try WireMessage(decoding: $0.header) else {
                    return nil
                }
                return ack.sources.first?.watchMilliseconds
            }
        }
        var watched = WatchedSources()
        _ = watched.take([1] + FeedTopic.source("camera"))
        engine.watched = watched
        #expect(try wishes() == [100])
        _ = watched.take([1] + FeedTopic.delayRequest(40, for: "camera"))
        engine.watched = watched
        #expect(try wishes() == [40])
        // A subscription to another source changes nothing.
        _ = watched.take([1] + FeedTopic.source("other"))
        engine.watched = watched
        #expect(try wishes() == [])
        engine.watched = WatchedSources()
        #expect(try wishes() == [0])
    }

    /// Each of these sizes divides the credit window differently; records of up to half of it never have to wait.
    @Test(arguments: [100_000, 300_000, 420_000, 600_000, 700_000, 1_000_000])
    func `a source whose second is more than its credit is recorded without a pause`(
        sizeBytes: Int
    ) throws {
        var engine = engine()
        // So many that each has the smallest credit.
        for number in 0..<40 as Range<UInt8> {
            let other = Hello(
                software: "agent", agent: "box\(number)", spool: .random(),
                epochs: [Epoch(number: 1, identity: .random())],
                sources: [
                    SourceOffer(
                        name: "other\(number)", tracks: [DiskScene.format], firstSequence: 1)
                ])
            engine.receive(
                IncomingMessage(
                    peer: PeerID([1, number]), address: "10.0.1.\(number)",
                    header: WireMessage.hello(other).encoded(), payloadSizeBytes: nil),
                payload: nil, at: now)
        }
        var creditBytes: UInt64 = 0
        func hear() throws {
            for (peer, header) in engine.takeOutgoing() where peer == self.peer {
                let state: SourceState? =
                    switch try WireMessage(decoding: header) {
                    case .welcome(let welcome): welcome.sources.first
                    case .acknowledgement(let ack): ack.sources.first
                    default: nil
                    }
                creditBytes = max(creditBytes, state?.creditLimitBytes ?? 0)
            }
        }
        try hear()
        #expect(creditBytes == WireLimits.smallestCreditWindowBytes)
        // A backlog: a picture each 100 ms, up to 10 MB a second, a keyframe each ten seconds. No time passes
        // meanwhile.
        let payload = TestPayload(count: sizeBytes)
        payload.buffer.storeBytes(of: UInt32(sizeBytes - 4).bigEndian, as: UInt32.self)
        var present = SessionHarness.instant(60 * second)
        var camera = SteadyCamera("camera")
        var usedBytes: UInt64 = 0
        for number in 0..<200 {
            let isKeyframe = number % 100 == 0
            var samples = camera.picture(
                at: second + Int64(number) * second / 10, isKeyframe: isKeyframe)
            samples.runs[0].sizes = [UInt32(sizeBytes)]
            payload.buffer[4] = isKeyframe ? 0x65 : 0x41
            usedBytes += UInt64(sizeBytes) + WireLimits.recordCostBytes
            try #require(usedBytes <= creditBytes, "picture \(number) has no credit")
            engine.receive(
                message(.samples(samples), payloadBytes: sizeBytes), payload: payload, at: present)
            if number == 0 {
                // The start window is over, and zero is known.
                present = SessionHarness.instant(63 * second)
                // The others are still there, or the window would be larger.
                for number in 0..<40 as Range<UInt8> {
                    engine.receive(
                        IncomingMessage(
                            peer: PeerID([1, number]), address: "10.0.1.\(number)",
                            header: WireMessage.heartbeat(Heartbeat()).encoded(),
                            payloadSizeBytes: nil), payload: nil, at: present)
                }
                engine.tick(at: present)
                #expect(engine.creditWindowBytes == Int(WireLimits.smallestCreditWindowBytes))
            }
            guard engine.hasUrgentJobs else { continue }
            for job in engine.takeJobs() {
                guard case .append(let segment, let fragment) = job else { continue }
                engine.follow(
                    .written(source: segment.source, fragment.amount), at: present)
            }
            engine.returnCredit(at: present)
            try hear()
        }
    }
}

@Suite struct PendingMediaTests {
    @Test func `it is urgent if a source needs its credit, or there is much of it`() {
        var pending = PendingMedia()
        pending.add(500_000, of: "a")
        #expect(!pending.isUrgent && pending.holds("a") && !pending.holds("b"))
        // It would not get any.
        pending.awaitCredit(of: "b")
        #expect(!pending.isUrgent && !pending.isCreditAwaited)
        pending.awaitCredit(of: "a")
        #expect(pending.isUrgent && pending.isCreditAwaited)
        pending.clear()
        #expect(!pending.isUrgent && !pending.isCreditAwaited && !pending.holds("a"))
        pending.add(1 << 20, of: "a")
        #expect(!pending.isUrgent)
        pending.add(1 << 20, of: "a")
        #expect(pending.isUrgent && !pending.isCreditAwaited)
        pending.clear()
        for source in 0..<7 { pending.add(1 << 20, of: "\(source)") }
        #expect(!pending.isUrgent)
        pending.add(1 << 20, of: "7")
        #expect(pending.isUrgent)
    }
}
