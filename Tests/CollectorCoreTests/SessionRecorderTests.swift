import Archive
import Media
import TestMedia
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

@Suite struct SessionRecorderTests {
    @Test func `zero is the earliest sample of all sources within the start window`() {
        var harness = SessionHarness()
        var late = SteadyCamera("late", clockNanoseconds: -500 * second)
        var early = SteadyCamera("early", clockNanoseconds: 100_000 * second)
        harness.open(late, at: 10 * second)
        harness.open(early, at: 10 * second)
        harness.picture(
            &late, capturedAt: 10 * second + 200_000_000, arriving: 10 * second + 250_000_000)
        harness.picture(
            &early, capturedAt: 10 * second + 50_000_000, arriving: 10 * second + 300_000_000)
        #expect(harness.started.isEmpty)
        harness.tick(10 * second + 800_000_000)
        #expect(harness.started.count == 1)
        harness.goodbye(&late, at: 11 * second)
        harness.goodbye(&early, at: 11 * second)
        #expect(harness.starts("early").first == 0)
        // 150 ms later, within the exchanges' uncertainty.
        let lateStart = harness.starts("late").first ?? 0
        #expect(abs(lateStart - 13_500) <= 2, "\(lateStart)")
        #expect(Set(harness.openedPaths.map { $0.split(separator: "/").last }).count == 1)
        #expect(harness.ended == harness.started)
    }

    @Test func `zero waits for audio that is earlier than the pictures but arrives later`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        camera.tracks = [SteadyCamera.format, SteadyCamera.soundFormat]
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 100_000_000, arriving: 150_000_000)
        harness.tick(900_000_000)
        #expect(harness.started.isEmpty)
        harness.sound(&camera, capturedAt: 10_000_000, arriving: 950_000_000)
        harness.tick(1_000_000_000)
        #expect(harness.started.count == 1)
        harness.goodbye(&camera, at: 2 * second)
        // The picture lies 90 ms behind the first sound.
        let start = harness.fragments("camera").flatMap(\.pieces).flatMap(\.runs)
            .first { $0.track == .video }?.samples.first?.dts
        #expect(abs((start ?? 0) - 8_100) <= 2)
    }

    @Test
    func `samples of a source that was refused within the start window are recorded`() {
        var harness = SessionHarness()
        var honest = SteadyCamera("honest")
        var refused = SteadyCamera("refused")
        harness.open(honest, at: 0)
        harness.open(refused, at: 0)
        harness.picture(&refused, capturedAt: 0, arriving: 1)
        harness.apply(harness.recorder.giveUp("refused", at: SessionHarness.instant(2)))
        harness.picture(&honest, capturedAt: 0, arriving: 3)
        harness.tick(second)
        harness.goodbye(&honest, at: 2 * second)
        #expect(harness.ended.count == 1)
        #expect(harness.fragments("refused").count == 1)
        let finished = harness.jobs.compactMap { job in
            if case .finish(let id) = job { id.source } else { nil }
        }
        #expect(finished.sorted() == ["honest", "refused"])
    }

    @Test func `a missing track delays a session by at most four start windows`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        camera.tracks = [SteadyCamera.format, SteadyCamera.soundFormat]
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 0)
        harness.tick(1_999_999_999)
        #expect(harness.started.isEmpty)
        harness.tick(2_000_000_000)
        #expect(harness.started.count == 1)
    }

    @Test func `a session ends when every source has ended, and the next one is new`() {
        var harness = SessionHarness()
        var one = SteadyCamera("one")
        var two = SteadyCamera("two")
        harness.open(one, at: 0)
        harness.open(two, at: 0)
        harness.picture(&one, capturedAt: 0, arriving: 1)
        harness.tick(second)
        harness.picture(&two, capturedAt: second, arriving: second)
        harness.goodbye(&one, at: 2 * second)
        #expect(harness.ended.isEmpty)
        harness.goodbye(&two, at: 3 * second)
        #expect(harness.ended.count == 1)
        one.spool = .random()
        one.sequence = 1
        harness.open(one, at: 5 * second)
        harness.picture(&one, capturedAt: 5 * second, arriving: 5 * second)
        harness.tick(6 * second)
        #expect(Set(harness.started).count == 2)
    }

    /// A camera whose two pictures were kept on the box for five seconds.
    private func sendKept(_ camera: inout SteadyCamera, _ harness: inout SessionHarness) {
        harness.open(camera, at: 5 * second)
        for index in 0..<2 {
            harness.picture(
                &camera, capturedAt: Int64(index) * 100_000_000, arriving: 5 * second)
        }
        harness.goodbye(&camera, at: 5 * second)
    }

    @Test func `a session continues with the next spool of an agent that sends kept records`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        sendKept(&camera, &harness)
        #expect(harness.started.count == 1 && harness.ended.isEmpty)
        // The agent waits until everything is on disk, and connects with its next spool.
        harness.tick(8 * second)
        #expect(harness.ended.isEmpty)
        camera.spool = .random()
        camera.sequence = 1
        harness.open(camera, at: 8 * second)
        harness.picture(&camera, capturedAt: 8 * second, arriving: 8 * second)
        harness.tick(20 * second)
        #expect(harness.started.count == 1 && harness.ended.isEmpty)
        // These were not kept.
        harness.goodbye(&camera, at: 20 * second)
        #expect(harness.ended.count == 1)
    }

    @Test func `a session ends when no other spool follows kept records`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        sendKept(&camera, &harness)
        _ = harness.recorder.persisted(
            PersistedRecords(source: "camera", spool: camera.spool, sequences: [1...3]))
        harness.tick(6 * second)
        #expect(harness.ended.isEmpty)
        harness.tick(7 * second)
        #expect(harness.ended.count == 1 && harness.reasons == [.complete])
    }

    @Test func `a session ends even if its kept records do not become durable`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        sendKept(&camera, &harness)
        for time in 6..<15 {
            harness.tick(Int64(time) * second)
            #expect(harness.ended.isEmpty)
        }
        harness.tick(15 * second)
        #expect(harness.ended.count == 1)
    }

    @Test func `a source that is connected and has not sent yet keeps the session open`() {
        var harness = SessionHarness()
        var one = SteadyCamera("one")
        let waiting = SteadyCamera("waiting")
        harness.open(one, at: 0)
        harness.open(waiting, at: 0)
        harness.picture(&one, capturedAt: 0, arriving: 1)
        harness.tick(second)
        harness.goodbye(&one, at: 2 * second)
        #expect(harness.ended.isEmpty)
        harness.apply(
            harness.recorder.disconnected("waiting", at: SessionHarness.instant(3 * second)))
        #expect(harness.ended.count == 1)
    }

    @Test func `a goodbye without samples is acknowledged without a session`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("empty")
        harness.open(camera, at: 0)
        harness.goodbye(&camera, at: second)
        harness.tick(2 * second)
        #expect(harness.started.isEmpty && harness.jobs.isEmpty)
        #expect(harness.unrecorded.map(\.sequences) == [[1...1]])
        #expect(harness.recorder.persisted(harness.unrecorded[0]) == 1)
    }

    @Test func `a loss before the first sample is in the ledger of the session that follows`()
        throws
    {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.gap(&camera, at: 1)
        harness.tick(second)
        #expect(harness.started.isEmpty && harness.unrecorded.isEmpty)
        harness.picture(&camera, capturedAt: 2 * second, arriving: 2 * second)
        harness.tick(3 * second)
        let noted = harness.jobs.compactMap { job -> PersistedRecords? in
            guard case .note(_, _, let records) = job else { return nil }
            return records
        }
        #expect(noted.map(\.sequences) == [[1...1]])
        #expect(harness.unrecorded.isEmpty)
    }

    @Test func `a loss without any sample is acknowledged with the goodbye`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("empty")
        harness.open(camera, at: 0)
        harness.gap(&camera, at: 1)
        harness.goodbye(&camera, at: second)
        #expect(harness.started.isEmpty && harness.jobs.isEmpty)
        #expect(harness.unrecorded.map(\.sequences) == [[1...1], [2...2]])
        // No ledger can record it.
        #expect(harness.notes.count { $0.contains("samples missing (") } == 1)
    }

    @Test(
        arguments: [
            (7, nil, 2), (0, nil, 1), (7, .video, 2), (7, .audio, 1),
        ] as [(keyframe: Int, lost: TrackKind?, files: Int)])
    func `a CRA picture after lost pictures begins a file`(
        keyframe: Int, lost: TrackKind?, files: Int
    ) throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        camera.tracks = [.video(try VideoFormat(.h265, parsing: H265Stream.sets))]
        harness.open(camera, at: 0)
        func send(_ picture: Int, isKeyframe: Bool, at time: Int64) {
            let unit = H265Stream.accessUnit([H265Stream.pictures[picture]])
            var samples = camera.picture(at: time, isKeyframe: isKeyframe)
            samples.runs[0].sizes = [UInt32(unit.count)]
            harness.apply(
                harness.recorder.samples(
                    samples, payload: TestPayload(unit), of: camera.name,
                    at: SessionHarness.instant(time)))
        }
        send(0, isKeyframe: true, at: second)
        send(1, isKeyframe: false, at: second * 11 / 10)
        let gap = GapRecord(
            source: 0, sequences: camera.sequence...camera.sequence, track: lost,
            cause: .deviceLost, epoch: 1, startNanoseconds: second, durationNanoseconds: 1,
            samples: 9, text: "lost")
        camera.sequence += 1
        harness.apply(
            harness.recorder.gap(gap, of: camera.name, at: SessionHarness.instant(2 * second)))
        send(keyframe, isKeyframe: true, at: 3 * second)
        // A later one continues.
        send(7, isKeyframe: true, at: second * 31 / 10)
        harness.tick(5 * second)
        harness.goodbye(&camera, at: 6 * second)
        let opened = harness.jobs.count { if case .open = $0 { true } else { false } }
        #expect(opened == files)
    }

    @Test func `a source that reconnects continues in the same session and file`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 1)
        harness.tick(second)
        camera.spool = .random()
        camera.sequence = 1
        harness.open(camera, at: 3 * second)
        harness.picture(&camera, capturedAt: 3 * second, arriving: 3 * second)
        harness.goodbye(&camera, at: 4 * second)
        #expect(harness.started.count == 1 && harness.openedPaths.count == 1)
        #expect(harness.starts("camera").count == 2)
    }

    @Test func `the watermark follows durable records, not received ones`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        for index in 0..<3 {
            harness.picture(&camera, capturedAt: Int64(index) * 100_000_000, arriving: second)
        }
        let spool = camera.spool
        func persist(_ sequences: ClosedRange<UInt64>) -> UInt64? {
            harness.recorder.persisted(
                PersistedRecords(source: "camera", spool: spool, sequences: [sequences]))
        }
        #expect(harness.recorder.durable.persisted(source: "camera", spool: spool) == 0)
        #expect(persist(2...3) == nil)
        #expect(persist(1...1) == 3)
        #expect(harness.recorder.durable.persisted(source: "camera", spool: spool) == 3)
    }

    @Test func `a session is described before anything of it is written`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 1)
        harness.tick(second)
        let first = try #require(
            harness.jobs.first { job in
                if case .beginSession = job { false } else { true }
            })
        guard case .describe(let manifest) = first else {
            Issue.record("\(first)")
            return
        }
        #expect(manifest.session == harness.started.first)
    }

    @Test func `the operator's stop finishes every file and the description`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 1)
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(100_000_000)))
        #expect(harness.started.count == 1 && harness.ended.count == 1)
        let finished = harness.jobs.contains { if case .finish = $0 { true } else { false } }
        #expect(finished)
        let manifest = try #require(harness.lastManifest)
        #expect(manifest.state == .finished)
    }

    @Test(arguments: [
        (SessionManifest.StartPolicy.firstVideo, Int64(300_000_000)), (.firstSample, 0),
    ])
    func `with first-video, audio before the first picture is before zero`(
        startAt: SessionManifest.StartPolicy, zero: Int64
    ) {
        var harness = SessionHarness(startAt: startAt)
        var camera = SteadyCamera("camera")
        camera.tracks = [SteadyCamera.format, SteadyCamera.soundFormat]
        var microphone = SteadyCamera("microphone")
        microphone.tracks = [SteadyCamera.soundFormat]
        harness.open(camera, at: 0)
        harness.open(microphone, at: 0)
        harness.sound(&microphone, capturedAt: 0, arriving: 10_000_000)
        harness.sound(&camera, capturedAt: 100_000_000, arriving: 110_000_000)
        harness.picture(&camera, capturedAt: 300_000_000, arriving: 310_000_000)
        harness.picture(&camera, capturedAt: 400_000_000, arriving: 410_000_000)
        harness.tick(second)
        #expect(isAt(harness.recorder.sessionZero, zero))
        harness.goodbye(&microphone, at: second)
        #expect(harness.starts("microphone") == [-zero * 48_000 / second])
    }

    @Test func `with first-video, sound alone begins a session too`() {
        var harness = SessionHarness(startAt: .firstVideo)
        var microphone = SteadyCamera("microphone")
        microphone.tracks = [SteadyCamera.soundFormat]
        harness.open(microphone, at: 0)
        harness.sound(&microphone, capturedAt: 100_000_000, arriving: 110_000_000)
        harness.tick(second)
        #expect(isAt(harness.recorder.sessionZero, 100_000_000))
    }

    /// Within a clock rate's uncertainty after a short time.
    private func isAt(_ zero: Int64?, _ wanted: Int64) -> Bool {
        zero.map { abs($0 - wanted) < 1_000 } ?? false
    }

    @Test func `samples without a clock exchange are placed where they arrived`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera", clockNanoseconds: 77 * second)
        harness.apply(
            harness.recorder.open(camera.introduction, received: 0, at: SessionHarness.instant(0)))
        harness.picture(&camera, capturedAt: 0, arriving: 50_000_000)
        harness.tick(second)
        harness.goodbye(&camera, at: second)
        #expect(harness.starts("camera") == [0])
        let warned = harness.jobs.contains { job in
            guard case .note(_, let entry, _) = job else { return false }
            return entry.text?.contains("before any clock exchange") == true
        }
        #expect(warned)
    }
}
