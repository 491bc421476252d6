import Archive
import Media
import Testing
import Wire

@testable import CollectorCore

/// Media bytes for tests, at an address that stays.
private final class TestPayload: MediaPayload {
    // Never written, only freed with the object.
    nonisolated(unsafe) let buffer: UnsafeMutableRawBufferPointer

    init(count: Int) {
        buffer = .allocate(byteCount: count, alignment: 1)
    }

    deinit {
        buffer.deallocate()
    }

    var memory: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer) }
}

/// A source that sends one picture every 100 ms, each in a message of its own.
private struct Camera {
    static let format = TrackFormat.h264(
        H264Format(
            sequenceParameterSets: [[0x67]], pictureParameterSets: [[0x68]], width: 16,
            height: 16))

    let name: String
    let epoch: Identity
    var spool = Identity.random()
    var sequence: UInt64 = 1
    /// Agent clock less the collector's.
    var clockNanoseconds: Int64 = 0

    init(_ name: String, clockNanoseconds: Int64 = 0) {
        self.name = name
        self.clockNanoseconds = clockNanoseconds
        epoch = .random()
    }

    var introduction: SourceIntroduction {
        SourceIntroduction(
            name: name, agent: "box", address: "10.0.0.1", spool: spool.bytes,
            epochs: [Epoch(number: 1, identity: epoch)], tracks: [Self.format])
    }

    /// A quick exchange that tells the collector the clock's offset.
    func exchange(at collector: Int64) -> [ReportedExchange] {
        let agent = collector + clockNanoseconds
        return (0..<8).map { (index: Int64) in
            let step = index * 1_000_000
            return ReportedExchange(
                t1: agent + step, t2: collector + step + 10_000, t3: collector + step + 11_000,
                t4: agent + step + 21_000, epoch: 1)
        }
    }

    mutating func picture(at collector: Int64, isKeyframe: Bool = true) -> Samples {
        defer { sequence += 1 }
        return Samples(
            source: 0, firstSequence: sequence, epoch: 1,
            payloadDigest: [UInt8](repeating: 0, count: 32),
            runs: [
                SampleRun(
                    track: .video, sizes: [10], dtsNanoseconds: [collector + clockNanoseconds],
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [100_000_000],
                    flags: [isKeyframe ? .keyframe : []])
            ])
    }
}

/// A recorder with everything that it has asked for.
private struct Harness {
    var recorder: SessionRecorder<TestPayload>
    var jobs: [DiskJob<TestPayload>] = []
    var started: [String] = []
    var ended: [String] = []
    var unrecorded: [PersistedRecords] = []

    init(startAt: SessionManifest.StartPolicy = .firstSample) {
        recorder = SessionRecorder(
            settings: SessionSettings(
                layout: ArchiveLayout(root: "/archive"), startAt: startAt,
                segmentNanoseconds: 600_000_000_000, software: "test"))
    }

    static func instant(_ monotonic: Int64) -> Instant {
        Instant(
            monotonic: monotonic,
            utc: UTCTime(nanoseconds: 1_790_000_000_000_000_000 + monotonic))
    }

    mutating func apply(_ actions: [SessionRecorder<TestPayload>.Action]) {
        for action in actions {
            switch action {
            case .job(let job): jobs.append(job)
            case .note: break
            case .unrecorded(let records): unrecorded.append(records)
            case .sessionStarted(let name): started.append(name)
            case .sessionEnded(let name): ended.append(name)
            }
        }
    }

    mutating func open(_ camera: Camera, at now: Int64) {
        recorder.exchanges(camera.exchange(at: now), epoch: camera.epoch)
        apply(
            recorder.open(
                camera.introduction, received: camera.sequence - 1, at: Self.instant(now)))
    }

    mutating func picture(_ camera: inout Camera, capturedAt time: Int64, arriving now: Int64) {
        apply(
            recorder.samples(
                camera.picture(at: time), payload: TestPayload(count: 10), of: camera.name,
                at: Self.instant(now)))
    }

    mutating func goodbye(_ camera: inout Camera, at now: Int64) {
        let goodbye = Goodbye(source: 0, sequence: camera.sequence, text: "done")
        camera.sequence += 1
        apply(recorder.goodbye(goodbye, of: camera.name, at: Self.instant(now)))
    }

    mutating func gap(_ camera: inout Camera, at now: Int64) {
        let gap = GapRecord(
            source: 0, sequences: camera.sequence...camera.sequence, track: nil, cause: .spoolFull,
            epoch: 1, startNanoseconds: 0, durationNanoseconds: 1, samples: 9, text: "full")
        camera.sequence += 1
        apply(recorder.gap(gap, of: camera.name, at: Self.instant(now)))
    }

    mutating func tick(_ now: Int64) { apply(recorder.tick(at: Self.instant(now))) }

    /// First DTS of each fragment, by source, ticks of 90 kHz.
    func starts(_ source: String) -> [Int64] {
        jobs.compactMap { job in
            guard case .append(let id, let fragment) = job, id.source == source else { return nil }
            return fragment.pieces.first?.runs.first?.samples.first?.dts
        }
    }

    var openedPaths: [String] {
        jobs.compactMap { if case .open(_, let path, _, _) = $0 { path } else { nil } }
    }

    var lastManifest: [UInt8]? {
        jobs.compactMap { if case .manifest(_, let bytes) = $0 { bytes } else { nil } }.last
    }
}

private let second: Int64 = 1_000_000_000

@Suite struct SessionRecorderTests {
    @Test func `zero is the earliest sample of all sources within the start window`() {
        var harness = Harness()
        var late = Camera("late", clockNanoseconds: -500 * second)
        var early = Camera("early", clockNanoseconds: 100_000 * second)
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
        // 150 ms later, to within what the exchanges leave open.
        let lateStart = harness.starts("late").first ?? 0
        #expect(abs(lateStart - 13_500) <= 2, "\(lateStart)")
        #expect(Set(harness.openedPaths.map { $0.split(separator: "/").last }).count == 1)
        #expect(harness.ended == harness.started)
    }

    @Test func `a session ends when every source has said goodbye, and the next one is another`() {
        var harness = Harness()
        var one = Camera("one")
        var two = Camera("two")
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

    @Test func `a source that is connected and has not sent yet keeps the session open`() {
        var harness = Harness()
        var one = Camera("one")
        let waiting = Camera("waiting")
        harness.open(one, at: 0)
        harness.open(waiting, at: 0)
        harness.picture(&one, capturedAt: 0, arriving: 1)
        harness.tick(second)
        harness.goodbye(&one, at: 2 * second)
        #expect(harness.ended.isEmpty)
        harness.apply(harness.recorder.disconnected("waiting", at: Harness.instant(3 * second)))
        #expect(harness.ended.count == 1)
    }

    @Test func `a goodbye without samples is acknowledged and makes no session`() {
        var harness = Harness()
        var camera = Camera("empty")
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
        var harness = Harness()
        var camera = Camera("camera")
        harness.open(camera, at: 0)
        harness.gap(&camera, at: 1)
        harness.tick(second)
        #expect(harness.started.isEmpty && harness.unrecorded.isEmpty)
        harness.picture(&camera, capturedAt: 2 * second, arriving: 2 * second)
        harness.tick(3 * second)
        let noted = harness.jobs.compactMap { job -> PersistedRecords? in
            guard case .ledger(_, _, _, let records) = job else { return nil }
            return records
        }
        #expect(noted.map(\.sequences) == [[1...1]])
        #expect(harness.unrecorded.isEmpty)
    }

    @Test func `a loss without any sample is acknowledged with the goodbye`() {
        var harness = Harness()
        var camera = Camera("empty")
        harness.open(camera, at: 0)
        harness.gap(&camera, at: 1)
        harness.goodbye(&camera, at: second)
        #expect(harness.started.isEmpty && harness.jobs.isEmpty)
        #expect(harness.unrecorded.map(\.sequences) == [[1...1], [2...2]])
    }

    @Test func `a source that comes back goes on in the same session and file`() {
        var harness = Harness()
        var camera = Camera("camera")
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

    @Test func `the watermark follows what is durable, not what was received`() {
        var harness = Harness()
        var camera = Camera("camera")
        harness.open(camera, at: 0)
        for index in 0..<3 {
            harness.picture(&camera, capturedAt: Int64(index) * 100_000_000, arriving: second)
        }
        let spool = camera.spool.bytes
        func persist(_ sequences: ClosedRange<UInt64>) -> UInt64? {
            harness.recorder.persisted(
                PersistedRecords(source: "camera", spool: spool, sequences: [sequences]))
        }
        #expect(harness.recorder.persisted(source: "camera", spool: spool) == 0)
        #expect(persist(2...3) == nil)
        #expect(persist(1...1) == 3)
        #expect(harness.recorder.persisted(source: "camera", spool: spool) == 3)
    }

    @Test func `the operator's stop finishes every file and the description`() throws {
        var harness = Harness()
        var camera = Camera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 1)
        harness.apply(harness.recorder.end(at: Harness.instant(100_000_000)))
        #expect(harness.started.count == 1 && harness.ended.count == 1)
        let finished = harness.jobs.contains { if case .finish = $0 { true } else { false } }
        #expect(finished)
        let manifest = try #require(harness.lastManifest)
        #expect(String(decoding: manifest, as: UTF8.self).contains("\"finished\""))
    }

    @Test func `with first-video, what comes before the first picture lies before zero`() {
        var harness = Harness(startAt: .firstVideo)
        var camera = Camera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 300_000_000, arriving: 310_000_000)
        harness.tick(second)
        harness.goodbye(&camera, at: second)
        #expect(harness.starts("camera") == [0])
    }

    @Test func `samples without a clock exchange are placed where they arrived`() {
        var harness = Harness()
        var camera = Camera("camera", clockNanoseconds: 77 * second)
        harness.apply(
            harness.recorder.open(camera.introduction, received: 0, at: Harness.instant(0)))
        harness.picture(&camera, capturedAt: 0, arriving: 50_000_000)
        harness.tick(second)
        harness.goodbye(&camera, at: second)
        #expect(harness.starts("camera") == [0])
        let warned = harness.jobs.contains { job in
            guard case .ledger(_, _, let line, _) = job else { return false }
            return String(decoding: line, as: UTF8.self).contains("before any clock exchange")
        }
        #expect(warned)
    }
}
