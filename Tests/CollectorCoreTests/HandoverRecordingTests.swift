import Archive
import Media
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// Sources that another collector recorded before.
@Suite struct HandoverRecordingTests {
    private func offer(
        _ camera: SteadyCamera, zero: Int64, session: String = "evening",
        other: (Int64) -> Int64 = { $0 + 7_000 * second }
    ) -> SessionOffer {
        // The other collector's clock shows 7,000 s more.
        let agent = 1_000 * second + camera.clockNanoseconds
        return SessionOffer(
            clock: SessionClock(
                session: session, zeroUTCNanoseconds: 1_790_000_000 * second + zero,
                zeroNanoseconds: other(zero), zeroErrorNanoseconds: 500,
                segmentNanoseconds: 60 * second),
            collector: "west",
            exchange: ReportedExchange(
                t1: agent, t2: other(1_000 * second) + 40_000, t3: other(1_000 * second) + 50_000,
                t4: agent + 90_000, epoch: 1))
    }

    @Test func `a session continues with its name, zero and grid, and states its error`() throws {
        var harness = SessionHarness(segmentNanoseconds: 10 * second)
        var camera = SteadyCamera("camera", clockNanoseconds: 33 * second)
        camera.sequence = 101
        var introduction = camera.introduction
        introduction.statement.term = 2
        introduction.statement.session = offer(camera, zero: 900 * second)
        harness.recorder.exchanges(
            camera.exchange(at: 1_001 * second), by: introduction.clockOwner, epoch: camera.epoch)
        harness.apply(
            harness.recorder.open(
                introduction, received: 100, missing: 1...100,
                held: [HeldRange(collector: "west", sequences: 1...90)],
                at: SessionHarness.instant(1_002 * second)))
        harness.picture(&camera, capturedAt: 1_003 * second, arriving: 1_003 * second)
        harness.tick(1_010 * second)
        let manifest = try #require(harness.recorder.manifest)
        #expect(harness.started == ["evening"])
        #expect(manifest.zeroUTCNanoseconds == 1_790_000_000 * second + 900 * second)
        #expect(manifest.segmentNanoseconds == 60 * second)
        let shift = abs(manifest.zeroMonotonicNanoseconds - 900 * second)
        let error = try #require(manifest.clock?.zeroErrorNanoseconds)
        #expect(shift <= error)
        // Half the round trip there, the bound here, the error of zero, and 200 ppm of three seconds.
        #expect((600_000...3_000_000).contains(error), "\(error)")
        let lines = harness.lines("camera")
        let held = try #require(lines.first { $0.kind == .held })
        #expect(held.sequences == [1...90] && held.collector == "west")
        let opened = try #require(lines.first { $0.kind == .opened })
        #expect(opened.term == 2 && opened.after == 100)
        // A crash between the two must not leave the opening, which counts them as present.
        #expect(lines.map(\.kind).prefix { $0 != .opened }.contains(.held))
        // It does not report them to the site as its own.
        #expect(harness.recorder.durable.held.isEmpty)
        #expect(harness.recorder.sessionClock?.session == "evening")
    }

    @Test func `a collector with another session records how the two are related`() throws {
        var harness = SessionHarness()
        var first = SteadyCamera("first")
        harness.open(first, at: 1_000 * second)
        harness.picture(&first, capturedAt: 1_000 * second, arriving: 1_000 * second)
        harness.tick(1_003 * second)
        var second = SteadyCamera("second")
        var introduction = second.introduction
        introduction.statement.session = offer(second, zero: 900 * 1_000_000_000)
        harness.recorder.exchanges(
            second.exchange(at: 1_004 * 1_000_000_000), by: introduction.clockOwner,
            epoch: second.epoch)
        harness.apply(
            harness.recorder.open(
                introduction, received: 0, at: SessionHarness.instant(1_005 * 1_000_000_000)))
        harness.picture(
            &second, capturedAt: 1_006 * 1_000_000_000, arriving: 1_006 * 1_000_000_000)
        let related = try #require(harness.lines("second").first { $0.kind == .related })
        #expect(related.session == "evening" && related.collector == "west")
        let apart = try #require(related.offsetNanoseconds)
        let bound = try #require(related.boundNanoseconds)
        #expect((apart - 100 * 1_000_000_000).magnitude <= bound)
    }

    @Test func `an impossible session offer is ignored`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        var introduction = camera.introduction
        var offer = offer(camera, zero: 900 * second)
        // Its exchange took longer there than here.
        offer.exchange.t3 += 3_600 * second
        introduction.statement.session = offer
        harness.recorder.exchanges(
            camera.exchange(at: 1_001 * second), by: introduction.clockOwner, epoch: camera.epoch)
        harness.apply(
            harness.recorder.open(
                introduction, received: 0, at: SessionHarness.instant(1_002 * second)))
        harness.picture(&camera, capturedAt: 1_003 * second, arriving: 1_003 * second)
        harness.tick(1_010 * second)
        #expect(harness.started.count == 1 && harness.started != ["evening"])
    }

    @Test func `records that no collector holds are a gap, apart from held ones`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: second)
        harness.picture(&camera, capturedAt: second, arriving: second)
        harness.tick(3 * second)
        // The source returns; of 2 to 20, another collector holds 5 to 15.
        harness.apply(
            harness.recorder.open(
                camera.introduction, received: 20, missing: 2...20,
                held: [HeldRange(collector: "west", sequences: 5...15)],
                at: SessionHarness.instant(4 * second)))
        let lines = harness.lines("camera")
        #expect(lines.filter { $0.kind == .held }.flatMap(\.sequences) == [5...15])
        #expect(lines.filter { $0.kind == .gap }.flatMap(\.sequences) == [2...4, 16...20])
    }
}
