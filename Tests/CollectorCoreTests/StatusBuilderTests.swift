import Archive
import Media
import Operations
import Testing
import Trust
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

@Suite struct StatusBuilderTests {
    private let peer = PeerID([0, 1])
    private let spool = SpoolID.random()

    private func engine() -> CollectorEngine {
        CollectorEngine(
            settings: SessionSettings(
                layout: ArchiveLayout(root: "/archive"), startAt: .firstSample,
                segmentNanoseconds: 600 * second, idleTimeoutNanoseconds: 0, software: "test"),
            recovered: RecoveredArchive(), host: HostClock(boot: "this"),
            at: SessionHarness.instant(0))
    }

    private func send(_ message: WireMessage, to engine: inout CollectorEngine, at time: Int64) {
        engine.receive(
            IncomingMessage(
                peer: peer, address: "10.0.0.1", header: message.encoded(), payloadSizeBytes: nil),
            payload: nil, at: SessionHarness.instant(time))
    }

    private var hello: Hello {
        Hello(
            software: "agent", agent: "box", spool: spool,
            epochs: [Epoch(number: 1, identity: .random())],
            sources: [SourceOffer(name: "camera", tracks: [DiskScene.format], firstSequence: 1)])
    }

    private func connect(to engine: inout CollectorEngine) {
        send(.hello(hello), to: &engine, at: second)
    }

    private func status(_ engine: CollectorEngine, at time: Int64) -> CollectorStatus {
        var builder = StatusBuilder()
        return builder.status(of: engine, StatusBuilder.Surroundings(), now: time)
    }

    @Test func `a source that has ended with everything durable has an empty spool`() throws {
        var engine = engine()
        connect(to: &engine)
        let health = SourceHealth(
            source: 0, keptBytes: 41_200, newestSequence: 1, lostSamples: 0,
            sound: AudioHealth(
                levels: [.init(peakMillibels: -600, rmsMillibels: -900)], skewPPB: nil),
            isStopped: true)
        send(.heartbeat(Heartbeat(health: [health])), to: &engine, at: 2 * second)
        let before = try #require(status(engine, at: 2 * second).sources.first)
        #expect(before.report?.keptBytes == 41_200)
        #expect(before.isStopped && before.report?.soundPeaks == [-6])
        send(
            .goodbye(Goodbye(source: 0, sequence: 1, text: "done")), to: &engine, at: 3 * second)
        for job in engine.takeJobs() {
            guard case .note(_, _, let records?) = job else { continue }
            engine.follow(.persisted(records), at: SessionHarness.instant(4 * second))
        }
        engine.tick(at: SessionHarness.instant(4 * second))
        let after = try #require(status(engine, at: 5 * second).sources.first)
        #expect(!after.isConnected)
        #expect(after.report?.keptBytes == 0)
        #expect(!after.isStopped && after.report?.soundPeaks == [])
    }

    @Test func `reports of a connected agent on its capture and other collectors are shown`()
        throws
    {
        var engine = engine()
        connect(to: &engine)
        var health = SourceHealth(source: 0, keptBytes: 0, newestSequence: 1, lostSamples: 0)
        health.moved = "tcp://a:1: this collector is being drained"
        health.owed = [OwedRecords(collector: "west", records: 12, bytes: 3_400)]
        health.trouble = "no video: the camera rtsp://door/ refuses the login"
        send(.heartbeat(Heartbeat(health: [health])), to: &engine, at: 2 * second)
        let report = try #require(status(engine, at: 2 * second).sources.first?.report)
        #expect(report.moved == health.moved)
        #expect(report.trouble == health.trouble)
        #expect(report.owed == [.init(collector: "west", records: 12, bytes: 3_400)])
        // It may be with another one by now.
        engine.lost(peer, at: SessionHarness.instant(3 * second))
        let after = try #require(status(engine, at: 4 * second).sources.first?.report)
        #expect(after.moved.isEmpty && after.owed.isEmpty && after.trouble.isEmpty)
    }

    @Test func `a source that another collector has is not away, and not late`() throws {
        var engine = engine()
        var hello = hello
        hello.statement.hasOthers = true
        send(.hello(hello), to: &engine, at: second)
        let payload = TestPayload(count: 100)
        payload.buffer.storeBytes(of: UInt32(96).bigEndian, as: UInt32.self)
        payload.buffer[4] = 0x65
        var camera = SteadyCamera("camera")
        var picture = camera.picture(at: second)
        picture.runs[0].sizes = [100]
        engine.receive(
            IncomingMessage(
                peer: peer, address: "10.0.0.1", header: WireMessage.samples(picture).encoded(),
                payloadSizeBytes: 100), payload: payload, at: SessionHarness.instant(second))
        for seconds: Int64 in 2...5 {
            engine.tick(at: SessionHarness.instant(seconds * second), heardUntil: second)
        }
        #expect(engine.absentSources == [])
        // A source without a connection is away.
        engine.lost(peer, at: SessionHarness.instant(6 * second))
        let away = try #require(status(engine, at: 6 * second).sources.first)
        #expect(away.isRecorded && !away.isConnected && away.elsewhere == nil)
        #expect(away.lagSeconds ?? 0 >= 4)
        #expect(engine.absentSources == ["camera"])
        engine.hear(.init(nanoseconds: 7 * second, asked: ["camera"], found: ["camera": "west"]))
        let found = try #require(status(engine, at: 7 * second).sources.first)
        #expect(found.isRecorded && found.elsewhere == "west" && found.lagSeconds == nil)
        // It comes back, and is sent away.
        send(.hello(hello), to: &engine, at: 8 * second)
        #expect(status(engine, at: 8 * second).sources.first?.elsewhere == nil)
        _ = engine.drain(true, at: SessionHarness.instant(9 * second))
        let sent = try #require(status(engine, at: 9 * second).sources.first)
        #expect(!sent.isConnected && sent.elsewhere == SourceLocations.unnamed)
        // It has found no other one.
        send(.hello(hello), to: &engine, at: 10 * second)
        #expect(status(engine, at: 10 * second).sources.first?.elsewhere == nil)
        #expect(engine.absentSources == ["camera"])
    }

    @Test func `a drain is done when no source has returned for a while`() {
        var engine = engine()
        var hello = hello
        hello.statement.hasOthers = true
        hello.statement.collectors = 2
        send(.hello(hello), to: &engine, at: second)
        let first = engine.drain(true, at: SessionHarness.instant(2 * second))
        #expect(first.moving == 0 && first.leaving == 1 && !first.isDone)
        #expect(status(engine, at: 2 * second).isDraining)
        // Another collector has refused it: it comes back, is refused, and then says that it has no other one.
        send(.hello(hello), to: &engine, at: 7 * second)
        #expect(engine.drain(true, at: SessionHarness.instant(9 * second)).leaving == 1)
        hello.statement.hasOthers = false
        send(.hello(hello), to: &engine, at: 10 * second)
        let back = engine.drain(true, at: SessionHarness.instant(30 * second))
        #expect(back.returned == ["camera"] && back.staying == [] && back.leaving == 0)
        #expect(!back.isDone)
        #expect(!engine.recorder.sources.isEmpty)
        // It asks its collectors again, and finds one.
        engine.lost(peer, at: SessionHarness.instant(40 * second))
        #expect(engine.drain(true, at: SessionHarness.instant(45 * second)).leaving == 1)
        #expect(engine.drain(true, at: SessionHarness.instant(46 * second)).isDone)
        _ = engine.drain(false, at: SessionHarness.instant(50 * second))
        #expect(!status(engine, at: 50 * second).isDraining)
    }

    @Test func `a source whose agent has no other collector stays in a drain`() {
        var engine = engine()
        connect(to: &engine)
        let progress = engine.drain(true, at: SessionHarness.instant(2 * second))
        #expect(progress.isDone && progress.staying == ["camera"] && progress.returned == [])
    }

    @Test func `the time until the disk is full is unknown for the first two minutes`() {
        var builder = StatusBuilder()
        var engine = engine()
        var surroundings = StatusBuilder.Surroundings()
        surroundings.disk.space = (free: 100_000_000_000, of: 200_000_000_000)
        surroundings.reserveBytes = 0
        func look(_ seconds: Int64) -> Double? {
            builder.status(of: engine, surroundings, now: seconds * second).disk.secondsLeft
        }
        #expect(look(0) == nil)
        // The agents' backlog arrives at once.
        engine.follow(
            .written(source: "camera", MediaAmount(sizeBytes: 12_000_000_000, samples: 1)),
            at: SessionHarness.instant(5 * second))
        for seconds in stride(from: 1, to: 120, by: 1) as StrideTo<Int64> {
            #expect(look(seconds) == nil, "\(seconds) s")
        }
        #expect(look(120) == 1_000)
    }

    @Test func `refusals are counted by their reasons`() throws {
        var engine = engine()
        engine.receive(
            IncomingMessage(
                peer: PeerID([9]), address: "10.0.0.9", header: [0xFF], payloadSizeBytes: nil),
            payload: nil, at: SessionHarness.instant(second))
        // It only has to say Hello first.
        send(.heartbeat(Heartbeat()), to: &engine, at: second)
        connect(to: &engine)
        // The key of a connection is revoked: the thread that looks at keys counts that.
        engine.rightChanged(
            of: peer, to: nil, else: "the key camera is revoked",
            at: SessionHarness.instant(2 * second))
        var builder = StatusBuilder()
        var surroundings = StatusBuilder.Surroundings()
        surroundings.refusedConnections = [.revokedKey: 2]
        let status = builder.status(of: engine, surroundings, now: 3 * second)
        #expect(status.refusedConnections == [.revokedKey: 2, .malformed: 1])
        #expect(status.refusedMessages == 3)
    }

    @Test
    func `every refusal reason is counted, except those after which agents continue`() {
        let told = RefusalReason.allCases.filter { ConnectionRefusal(.reason($0)) == nil }
        #expect(Set(told) == [.unknownConnection, .stopping, .term, .elsewhere])
        #expect(ConnectionRefusal(.reason(.version)) == .version)
        #expect(ConnectionRefusal(.throttled) == .throttled)
        #expect(ConnectionRefusal(.keyWithdrawn) == nil)
        #expect(ConnectionRefusal(.revoked(name: "camera")) == .revokedKey)
        #expect(ConnectionRefusal(.expired(name: "camera")) == .expiredKey)
    }

    @Test func `refusals are summed up for the log, at most every ten minutes`() {
        var summary = RefusalSummary()
        let interval = RefusalSummary.intervalNanoseconds
        #expect(summary.line([:], now: 0) == nil)
        #expect(summary.line([.unknownKey: 1], now: second) == nil)
        #expect(summary.line([.unknownKey: 9], now: interval) == nil)
        #expect(
            summary.line([.unknownKey: 9, .version: 2], now: interval + second)
                == "in the last ten minutes refused 11 connections: unknown key 9, version 2")
        #expect(summary.line([.unknownKey: 9, .version: 2], now: 9 * interval) == nil)
        #expect(summary.line([.unknownKey: 10, .version: 2], now: 9 * interval) == nil)
        #expect(
            summary.line([.unknownKey: 10, .version: 2], now: 10 * interval)
                == "in the last ten minutes refused 1 connection: unknown key 1")
    }
}
