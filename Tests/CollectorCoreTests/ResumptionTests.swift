import Archive
import Foundation
import Glibc
import Media
import Timing
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// A collector with an open session: one source with records 1 to 20 and 23 on disk, pictures every 100 ms, and a
/// ledger line.
private struct Left {
    static let zero: Int64 = 5 * second
    var camera = SteadyCamera("camera")
    var manifest: SessionManifest
    var source: RecoveredSource
    var spool: RecordedSpool

    init() {
        let zeroUTC = SessionHarness.instant(Self.zero).utc
        manifest = SessionManifest(
            session: zeroUTC.fileName, zero: zeroUTC, zeroMonotonicNanoseconds: Self.zero,
            startAt: .firstSample, startWindowNanoseconds: 0,
            segmentNanoseconds: 10 * second, software: "test")
        manifest.clock = .init(
            boot: "this", zeroWallNanoseconds: zeroUTC.nanoseconds,
            wallErrorNanoseconds: 1_000_000)
        source = RecoveredSource(
            entry: .init(
                name: "camera", agent: "box", address: "here", tracks: [], isComplete: false))
        source.formats = [SteadyCamera.format]
        source.spool = camera.spool
        source.spools = [camera.spool]
        source.ends = [.video: TrackEnd(dtsTicks: 19 * 9_000, durationTicks: 9_000)]
        source.origins = [0]
        source.open = UnfinishedSegment(
            path: "/archive/file.mp4",
            plan: SegmentPlan(
                originNanoseconds: 0,
                tracks: [.init(format: SteadyCamera.format, originTicks: 0, shiftTicks: 0)]),
            sessionZero: zeroUTC, fragments: 2, chain: .zero, sizeBytes: 1_000, ends: source.ends)
        source.clocks = [
            RecordedClock(
                epoch: camera.epoch,
                clock: .init(
                    offsetNanoseconds: -Self.zero, boundNanoseconds: 1_000, skewPartsPerBillion: 0),
                agentNanoseconds: Self.zero)
        ]
        spool = RecordedSpool(
            spool: camera.spool, sequences: SequenceSet(upTo: 20),
            runs: [
                RunOnDisk(
                    track: .video, sequences: 11...20,
                    end: TrackEnd(dtsTicks: 19 * 9_000, durationTicks: 9_000))
            ])
        spool.sequences.insert(23...23)
        camera.sequence = 21
    }

    var archive: RecoveredArchive {
        var archive = RecoveredArchive()
        archive.session = RecoveredSession(manifest: manifest, sources: [source])
        archive.spools = ["camera": [spool]]
        return archive
    }

    /// Session time of a picture, on the collector's clock.
    static func time(_ picture: UInt64) -> Int64 { zero + Int64(picture - 1) * 100_000_000 }
}

@Suite struct ResumptionTests {
    private func resumed(
        _ left: Left, at now: Int64 = 60 * second, idle: Int64 = 0,
        host: HostClock = HostClock(boot: "this")
    ) -> SessionHarness {
        var harness = SessionHarness(idleTimeoutNanoseconds: idle, host: host)
        harness.apply(harness.recorder.resume(left.archive, at: SessionHarness.instant(now)))
        return harness
    }

    @Test func `a session continues with its zero, its file and its times`() {
        var left = Left()
        var harness = resumed(left)
        #expect(harness.resumed == [left.manifest.session])
        #expect(harness.recorder.sessionZero == Left.zero)
        #expect(
            harness.recorder.durable.persisted(source: "camera", spool: left.camera.spool) == 20)
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 20, at: SessionHarness.instant(61 * second)))
        for number in UInt64(21)...22 {
            harness.picture(
                &left.camera, capturedAt: Left.time(number), arriving: 61 * second)
        }
        harness.goodbye(&left.camera, at: 75 * second)
        // The pictures were kept on the box: its agent may have another spool.
        harness.tick(85 * second)
        #expect(harness.openedPaths.isEmpty)
        let reopened = harness.jobs.contains { job in
            if case .reopen(_, let segment) = job { segment == left.source.open } else { false }
        }
        #expect(reopened)
        // Pictures 21 and 22, whose clock was not measured again; 23, the goodbye, was on disk.
        #expect(harness.starts("camera") == [20 * 9_000, 21 * 9_000])
        #expect(
            harness.lines("camera").filter { $0.kind == .goodbye }.map(\.firstSequence) == [nil])
        #expect(harness.ended == [left.manifest.session] && harness.reasons == [.complete])
    }

    @Test func `SIGTERM writes everything, and ends neither file nor session`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: second)
        harness.picture(&camera, capturedAt: second, arriving: second)
        harness.tick(2 * second)
        for index in 1..<25 as Range<Int64> {
            let time = second + index * 100_000_000
            harness.picture(&camera, capturedAt: time, arriving: time)
        }
        harness.gap(&camera, at: 4 * second)
        let before = harness.starts("camera").count
        harness.apply(harness.recorder.suspend(at: SessionHarness.instant(4 * second)))
        #expect(harness.starts("camera").count > before)
        let written = harness.fragments("camera").flatMap(\.sequences)
        #expect(written.reduce(0) { $0 + $1.count } == 25)
        #expect(harness.lines("camera").contains { $0.kind == .gap })
        #expect(harness.ended.isEmpty && harness.lastManifest == nil)
        let finished = harness.jobs.contains { if case .finish = $0 { true } else { false } }
        #expect(!finished)
        guard case .describe(let manifest)? = harness.jobs.last else {
            Issue.record("the description is not written last")
            return
        }
        #expect(manifest.state == .recording && manifest.end == nil)
    }

    @Test func `SIGTERM in a session's first moment begins it`() {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: second)
        harness.picture(&camera, capturedAt: second, arriving: second)
        #expect(harness.started.isEmpty)
        harness.apply(harness.recorder.suspend(at: SessionHarness.instant(second + 1_000)))
        #expect(harness.started.count == 1 && harness.ended.isEmpty)
        #expect(harness.starts("camera") == [0])
    }

    @Test func `the missing records of a message that is partly on disk are recorded`() {
        var left = Left()
        left.spool.sequences.insert(24...24)
        var harness = resumed(left)
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 20, at: SessionHarness.instant(61 * second)))
        // Records 19 to 26 in one message: 19, 20, 23 and 24 are on disk.
        let samples = Samples(
            source: 0, firstSequence: 19, epoch: 1,
            payloadDigest: [UInt8](repeating: 9, count: 32),
            runs: [
                SampleRun(
                    track: .video, sizes: [1, 2, 4, 8, 16, 32, 64, 128],
                    dtsNanoseconds: (19...26).map { Left.time($0) }, ptsOffsetsNanoseconds: [],
                    durationsNanoseconds: [100_000_000],
                    flags: [.keyframe, [], [], [], [], [], [], []])
            ])
        harness.apply(
            harness.recorder.samples(
                samples, payload: TestPayload(count: 255), of: "camera",
                at: SessionHarness.instant(61 * second)))
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(62 * second)))
        let pieces = harness.fragments("camera").flatMap(\.pieces)
        #expect(pieces.flatMap(\.runs).map(\.firstSequence) == [21, 25])
        #expect(pieces.map(\.range) == [3..<15, 63..<255])
        #expect(pieces.allSatisfy { $0.digest == nil })
        #expect(
            pieces.flatMap(\.runs).flatMap(\.samples).map(\.dts)
                == [20, 21, 24, 25].map { $0 * 9_000 })
        #expect(harness.releasedBytes == 1 + 2 + 16 + 32)
    }

    /// Their stamps went back by more than the tolerance, so they give no position.
    @Test func `repeated records continue after the ones before`() {
        var left = Left()
        var harness = resumed(left)
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 20, at: SessionHarness.instant(61 * second)))
        for number in UInt64(1)...2 {
            harness.picture(&left.camera, capturedAt: Left.time(number), arriving: 61 * second)
        }
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(62 * second)))
        #expect(harness.openedPaths.isEmpty)
        #expect(harness.starts("camera") == [20 * 9_000, 21 * 9_000])
    }

    @Test func `a gap that is in the ledger is not written twice`() {
        var left = Left()
        var harness = resumed(left)
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 20, at: SessionHarness.instant(61 * second)))
        func gap(_ sequences: ClosedRange<UInt64>) {
            harness.apply(
                harness.recorder.gap(
                    GapRecord(
                        source: 0, sequences: sequences, track: nil, cause: .driverDrop, epoch: 1,
                        startNanoseconds: 0, durationNanoseconds: 0, samples: 1, text: ""),
                    of: "camera", at: SessionHarness.instant(61 * second)))
        }
        gap(21...22)
        gap(23...23)
        gap(24...24)
        let lines = harness.lines("camera").filter { $0.kind == .gap }
        #expect(lines.map(\.firstSequence) == [21, 24])
        left.camera.sequence = 25
        harness.goodbye(&left.camera, at: 75 * second)
        #expect(harness.ended.count == 1)
    }

    @Test func `records that an earlier session has are not a hole in the next one`() throws {
        var left = Left()
        left.spool.sequences.insert(24...24)
        // The session has ended: records 21 and 22 go into the next one; 23 and 24 are known.
        var archive = left.archive
        archive.session = nil
        var harness = SessionHarness()
        harness.apply(harness.recorder.resume(archive, at: SessionHarness.instant(60 * second)))
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 20, at: SessionHarness.instant(61 * second)))
        for number in UInt64(21)...26 {
            harness.picture(&left.camera, capturedAt: Left.time(number), arriving: 61 * second)
        }
        harness.goodbye(&left.camera, at: 75 * second)
        harness.tick(75 * second)
        let lines = harness.lines("camera").filter { $0.kind == .earlier }
        #expect(lines.map(\.firstSequence) == [23, 24] && lines.map(\.lastSequence) == [23, 24])
        #expect(lines.allSatisfy { $0.spool == left.camera.spool.description })
        #expect(
            harness.fragments("camera").flatMap(\.sequences) == [
                21...21, 22...22, 25...25, 26...26,
            ])
    }

    @Test func `records missing at a session's end are noted as possibly in the next one`() throws {
        var left = Left()
        left.spool.sequences.insert(25...26)
        var harness = resumed(left)
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 20, at: SessionHarness.instant(61 * second)))
        harness.picture(&left.camera, capturedAt: Left.time(21), arriving: 61 * second)
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(62 * second)))
        let later = harness.lines("camera").filter { $0.kind == .later }
        #expect(later.map(\.firstSequence) == [22, 24] && later.map(\.lastSequence) == [22, 24])
        let manifest = try #require(harness.lastManifest)
        let source = try #require(manifest.sources.first)
        #expect(source.spools?.first?.beyond == [[23, 23], [25, 26]])
        #expect(!source.isComplete)
        // All of it goes into the next session, with a ledger line for the known records.
        for number in UInt64(22)...27 {
            harness.picture(&left.camera, capturedAt: Left.time(number), arriving: 63 * second)
        }
        harness.tick(64 * second)
        let earlier = harness.lines("camera").filter { $0.kind == .earlier }
        #expect(earlier.map(\.firstSequence) == [23, 25, 26])
    }

    @Test func `records that are lost everywhere are a gap, and are acknowledged`() {
        var left = Left()
        var harness = resumed(left)
        left.camera.sequence = 30
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 29, missing: 21...29,
                at: SessionHarness.instant(61 * second)))
        // Behind the watermark, 20, record 23 is on disk.
        let lines = harness.lines("camera").filter { $0.kind == .gap }
        #expect(lines.map(\.firstSequence) == [21, 24])
        #expect(lines.map(\.lastSequence) == [22, 29])
        #expect(lines.allSatisfy { $0.cause == "restart" })
        var watermark: UInt64?
        for job in harness.jobs {
            guard case .note(_, _, let records?) = job else { continue }
            watermark = harness.recorder.persisted(records) ?? watermark
        }
        #expect(watermark == 29)
    }

    @Test func `after a reboot, the wall clock gives zero, with its error`() throws {
        var left = Left()
        // The server's monotonic clock has restarted: 2 s instead of 60.
        let host = HostClock(boot: "another", wallErrorNanoseconds: 3_000_000)
        var harness = SessionHarness(host: host)
        let shift: Int64 = 58 * second
        func instant(_ monotonic: Int64) -> Instant {
            Instant(
                monotonic: monotonic - shift, utc: SessionHarness.instant(monotonic).utc)
        }
        harness.apply(harness.recorder.resume(left.archive, at: instant(60 * second)))
        #expect(harness.recorder.sessionZero == Left.zero - shift)
        harness.apply(
            harness.recorder.open(
                left.camera.introduction, received: 20, at: instant(61 * second)))
        harness.apply(
            harness.recorder.samples(
                left.camera.picture(at: Left.time(21)), payload: TestPayload(count: 10),
                of: "camera", at: instant(61 * second)))
        // The box has rebooted too, so its clock does not relate to zero.
        var other = SteadyCamera("other", clockNanoseconds: -40 * second)
        harness.recorder.exchanges(
            other.exchange(at: 61 * second - shift),
            by: ClockOwner(owner: "", spool: other.spool), epoch: other.epoch)
        harness.apply(
            harness.recorder.open(other.introduction, received: 0, at: instant(61 * second)))
        harness.apply(
            harness.recorder.samples(
                other.picture(at: 61 * second - shift), payload: TestPayload(count: 10),
                of: "other", at: instant(61 * second)))
        harness.apply(harness.recorder.end(.stopped, at: instant(62 * second)))
        #expect(harness.starts("camera") == [20 * 9_000])
        // A stored position does not depend on the wall clock.
        let stored = try #require(harness.fragments("camera").first?.context.clock.boundNanoseconds)
        #expect(stored < 2_000_000)
        let bound = try #require(harness.fragments("other").first?.context.clock.boundNanoseconds)
        #expect(bound >= 1_000_000 + 3_000_000 + 20_000_000)
        let line = harness.lines("camera").first { $0.kind == .resumed }
        #expect(line?.text?.contains("to within 24 ms") == true)
    }

    /// A server whose monotonic clock restarted, at 2 s instead of 60, with a wrong wall clock.
    private struct Rebooted {
        static let shift: Int64 = 58 * second
        var harness = SessionHarness(
            host: HostClock(boot: "another", wallErrorNanoseconds: 3_000_000))
        var wallErrorNanoseconds: Int64

        init(_ left: Left, wallErrorNanoseconds: Int64) {
            self.wallErrorNanoseconds = wallErrorNanoseconds
            harness.apply(harness.recorder.resume(left.archive, at: instant(60 * second)))
        }

        /// The server's clocks at a time of the previous clock.
        func instant(_ time: Int64) -> Instant {
            Instant(
                monotonic: time - Self.shift,
                utc: UTCTime(
                    nanoseconds: SessionHarness.instant(time).utc.nanoseconds
                        + wallErrorNanoseconds))
        }

        mutating func open(_ camera: SteadyCamera, at time: Int64, measured: Bool = true) {
            if measured {
                harness.recorder.exchanges(
                    camera.exchange(at: time - Self.shift),
                    by: ClockOwner(owner: "", spool: camera.spool), epoch: camera.epoch)
            }
            harness.apply(
                harness.recorder.open(
                    camera.introduction, received: camera.sequence - 1, at: instant(time)))
        }

        /// - Parameter arriving: nil: immediately.
        mutating func picture(
            _ camera: inout SteadyCamera, at time: Int64, arriving: Int64? = nil
        ) {
            let now = instant(arriving ?? time)
            harness.apply(
                harness.recorder.samples(
                    camera.picture(at: time - Self.shift), payload: TestPayload(count: 10),
                    of: camera.name, at: now))
            harness.apply(harness.recorder.tick(at: now))
        }

        /// Decoding times of a source's pictures, nanoseconds of session time.
        func times(_ source: String) -> [Int64] {
            harness.fragments(source).flatMap(\.pieces).flatMap(\.runs).flatMap(\.samples)
                .map { $0.dts * 100_000 / 9 }
        }

        /// Start times of a source's files off the grid, nanoseconds of session time.
        func filesOffGrid(_ source: String) -> [Int64] {
            harness.jobs.compactMap { job in
                guard case .open(let key, let plan, _) = job, key.source == source else {
                    return nil
                }
                return plan.originNanoseconds
            }.filter { $0 % (10 * second) != 0 }
        }
    }

    /// Compares a recording's picture distances with those at capture.
    private func expectDistances(_ times: [Int64], of captured: Int64, slewed: Bool = false) {
        for (one, next) in zip(times, times.dropFirst()) {
            #expect(abs(next - one - captured) <= (slewed ? captured / 2_000 : 0) + 30_000)
        }
    }

    @Test(arguments: [-3_600 * second, 3_600 * second])
    func `after a reboot, an agent's clock that jumped does not move zero`(jump: Int64) throws {
        var left = Left()
        left.spool.sequences = SequenceSet(upTo: 20)
        var camera = left.camera
        camera.clockNanoseconds = Rebooted.shift + jump
        var server = Rebooted(left, wallErrorNanoseconds: 0)
        server.open(camera, at: 61 * second)
        let zero = try #require(server.harness.recorder.sessionZero)
        #expect(abs(zero - (Left.zero - Rebooted.shift)) < second)
    }

    @Test(arguments: [-37 * second, 29 * second, 400_000_000, -400_000_000])
    func `after a reboot, zero is found through an agent whose clock ran on`(
        wallError: Int64
    ) throws {
        var left = Left()
        left.spool.sequences = SequenceSet(upTo: 20)
        var camera = left.camera
        // The agent's clock is unchanged; the server's restarts.
        camera.clockNanoseconds = Rebooted.shift
        var server = Rebooted(left, wallErrorNanoseconds: wallError)
        // Pictures captured while the server was down arrive before its clock is measured.
        server.open(camera, at: 61 * second, measured: false)
        for number in UInt64(21)...40 {
            server.picture(&camera, at: Left.time(number), arriving: 61 * second)
        }
        server.open(camera, at: 62 * second)
        for time in 0..<100 as Range<Int64> {
            server.picture(&camera, at: 62 * second + time * second / 10)
        }
        let zero = try #require(server.harness.recorder.sessionZero)
        #expect(abs(zero - (Left.zero - Rebooted.shift)) < 50_000)
        server.harness.apply(
            server.harness.recorder.end(.stopped, at: server.instant(75 * second)))
        let times = server.times("camera")
        #expect(times.count == 120)
        for (number, time) in times.enumerated() {
            let truth =
                number < 20
                ? Left.time(UInt64(21 + number)) - Left.zero
                : 57 * second + Int64(number - 20) * second / 10
            #expect(abs(time - truth) < 100_000, "\(number)")
        }
        let bounds = server.harness.fragments("camera").map(\.context.clock.boundNanoseconds)
        // An unmeasured clock may have drifted by 550 ppm for a minute.
        #expect(try #require(bounds.max()) < 70_000_000)
        let lines = server.harness.lines("camera")
        #expect(!lines.contains { $0.kind == .discontinuity || $0.kind == .time })
        #expect(lines.contains { $0.text?.contains("by a source's clock that ran on") == true })
        let manifest = try #require(server.harness.lastManifest)
        #expect(abs(manifest.presentZeroNanoseconds - (Left.zero - Rebooted.shift)) < 50_000)
        #expect(manifest.correction.errorNanoseconds < 70_000_000)
    }

    @Test(arguments: [-37 * second, 29 * second])
    func `a source with a known clock corrects a zero that the wall clock gave`(
        wallError: Int64
    ) throws {
        var left = Left()
        left.spool.sequences = SequenceSet(upTo: 20)
        var known = left.camera
        known.clockNanoseconds = Rebooted.shift
        var server = Rebooted(left, wallErrorNanoseconds: wallError)
        // Its box has rebooted too.
        var other = SteadyCamera("other")
        server.open(other, at: 62 * second)
        for time in 0..<100 as Range<Int64> {
            server.picture(&other, at: 62 * second + time * second / 10)
        }
        server.open(known, at: 72 * second)
        for time in 0..<100 as Range<Int64> {
            server.picture(&known, at: 72 * second + time * second / 10)
            server.picture(&other, at: 72 * second + time * second / 10)
        }
        server.harness.apply(
            server.harness.recorder.end(.stopped, at: server.instant(85 * second)))
        let steady = server.times("camera")
        #expect(abs(steady[0] - 67 * second) < 100_000)
        expectDistances(steady, of: second / 10)
        let times = server.times("other")
        #expect(times.count == 200 && times == times.sorted())
        expectDistances(Array(times[..<100]), of: second / 10)
        expectDistances(Array(times[100...]), of: second / 10, slewed: true)
        let lines = server.harness.lines("other")
        #expect(!lines.contains { $0.cause == "notAfterPrevious" || $0.cause == "backwards" })
        if wallError < 0 {
            // Zero by the wall clock was too late, so times were too early: they continue correctly in another file.
            #expect(abs(times[100] - 67 * second) < 100_000)
            #expect(server.filesOffGrid("other").map { abs($0 - times[100]) < 100_000 } == [true])
            let jump = try #require(lines.first { $0.kind == .discontinuity })
            #expect(abs((jump.offsetNanoseconds ?? 0) + wallError) < 10_000_000)
        } else {
            // They would go back, so they are slewed, and the bound includes the rest.
            expectDistances(Array(times[99...100]), of: second / 10, slewed: true)
            #expect(server.filesOffGrid("other") == [])
            #expect(lines.contains { $0.text?.contains("approach the clock") == true })
        }
        for fragment in server.harness.fragments("other") {
            let sample = try #require(fragment.pieces.first?.runs.first?.samples.first)
            let truth = sample.agentDTSNanoseconds + Rebooted.shift - Left.zero
            let error = abs(sample.dts * 100_000 / 9 - truth)
            // The wall clock's error exceeded its bound.
            guard truth >= 67 * second else { continue }
            #expect(error <= Int64(fragment.context.clock.boundNanoseconds) + 12_000)
        }
    }

    @Test func `after a reboot with a clock hours behind, all samples are recorded`() throws {
        var left = Left()
        // After three hours of session, the clock claims that it began a minute ago.
        let hours = 3 * 3_600 * second
        let end = TrackEnd(dtsTicks: hours / second * 90_000, durationTicks: 9_000)
        left.source.ends = [.video: end]
        left.source.open = nil
        var harness = resumed(left, at: Left.zero + 60 * second)
        harness.open(left.camera, at: Left.zero + 60 * second)
        for picture in 0..<80 as Range<Int64> {
            // An hour and more of pictures, a minute apart.
            let now = Left.zero + (60 + picture * 60) * second
            harness.picture(&left.camera, capturedAt: now, arriving: now)
            harness.tick(now)
        }
        #expect(harness.lines("camera").allSatisfy { $0.cause != "impossible times" })
    }

    @Test func `a step of the wall clock is noted, for a restart of the server`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 1)
        harness.tick(second)
        func clock() throws -> SessionManifest.CollectorClock? {
            for job in harness.jobs.reversed() {
                guard case .describe(let manifest) = job else { continue }
                return manifest.clock
            }
            return nil
        }
        let before = try #require(try clock())
        var later = SessionHarness.instant(2 * second)
        later.utc = UTCTime(nanoseconds: later.utc.nanoseconds + 7 * second)
        harness.apply(harness.recorder.tick(at: later, wallErrorNanoseconds: 5))
        let after = try #require(try clock())
        #expect(after.zeroWallNanoseconds - before.zeroWallNanoseconds == 7 * second)
        #expect(after.wallErrorNanoseconds == 5)
    }

    @Test func `a complete session waits for its agents to return, then ends`() {
        var left = Left()
        left.source.entry.isComplete = true
        left.source.open = nil
        var harness = resumed(left, at: 60 * second)
        harness.tick(65 * second)
        #expect(harness.ended.isEmpty)
        harness.tick(71 * second)
        #expect(harness.reasons == [.complete])
    }

    @Test func `a resumed session ends if no source returns`() {
        var harness = resumed(Left(), idle: 100 * second)
        harness.tick(159 * second)
        #expect(harness.ended.isEmpty)
        harness.tick(161 * second)
        #expect(harness.reasons == [.idle])
        let finished = harness.jobs.contains { if case .finish = $0 { true } else { false } }
        #expect(finished)
    }
}

@Suite struct SessionEndTests {
    @Test func `a session ends at its idle timeout`() throws {
        var harness = SessionHarness(idleTimeoutNanoseconds: 30 * second)
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 1)
        harness.tick(second)
        harness.picture(&camera, capturedAt: 20 * second, arriving: 20 * second)
        harness.tick(49 * second)
        #expect(harness.ended.isEmpty)
        harness.tick(51 * second)
        #expect(harness.reasons == [.idle])
        #expect(harness.lastManifest?.end?.reason == .idle)
        // It is still connected; its next samples begin a session.
        harness.picture(&camera, capturedAt: 60 * second, arriving: 60 * second)
        harness.tick(61 * second)
        #expect(harness.started.count == 2)
    }

    @Test func `after the operator's stop, the next sample begins a session`() {
        var harness = SessionHarness()
        var one = SteadyCamera("one")
        var two = SteadyCamera("two")
        for camera in [one, two] { harness.open(camera, at: 0) }
        harness.picture(&one, capturedAt: 0, arriving: 1)
        harness.picture(&two, capturedAt: 0, arriving: 2)
        harness.tick(second)
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(2 * second)))
        #expect(harness.reasons == [.stopped])
        harness.picture(&one, capturedAt: 3 * second, arriving: 3 * second)
        harness.tick(4 * second)
        harness.picture(&two, capturedAt: 4 * second, arriving: 4 * second)
        harness.goodbye(&one, at: 5 * second)
        harness.goodbye(&two, at: 5 * second)
        #expect(harness.started.count == 2 && harness.ended.count == 2)
        for (source, expected) in [("one", [0, 0]), ("two", [0, 90_000])] as [(String, [Int64])] {
            let starts = harness.starts(source)
            #expect(starts.count == 2)
            // Within the clock exchanges' uncertainty.
            #expect(zip(starts, expected).allSatisfy { abs($0 - $1) <= 2 }, "\(starts)")
        }
        // The second session's records begin where the first one's ended.
        #expect(harness.fragments("one").map(\.sequences) == [[1...1], [2...2]])
    }

    @Test func `records on disk are acknowledged if a file fails after its session`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        for number in 0..<3 as Range<Int64> {
            harness.picture(&camera, capturedAt: number * second, arriving: number * second)
        }
        harness.tick(4 * second)
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(5 * second)))
        let id = SourceKey(session: try #require(harness.ended.first), source: "camera")
        let source = RecoveredSource(
            entry: .init(name: "camera", agent: "", address: "", tracks: [], isComplete: false))
        func found(_ records: UInt64) -> RescuedSource {
            RescuedSource(
                id: id, source: source,
                spools: [
                    RecordedSpool(spool: camera.spool, sequences: SequenceSet(upTo: records))
                ], notes: [])
        }
        // At first, one of its three records is on disk; at the second check, all are.
        let now = SessionHarness.instant(6 * second)
        harness.apply(harness.recorder.writeOff(found(1), at: now))
        #expect(harness.durable == [1])
        let gaps = harness.lines("camera").filter { $0.kind == .gap }
        #expect(gaps.map(\.firstSequence) == [2] && gaps.map(\.lastSequence) == [3])
        harness.apply(harness.recorder.writeOff(found(3), at: now))
        #expect(harness.durable == [1, 3])
        #expect(harness.lines("camera").filter { $0.kind == .gap }.count == 1)
    }

    @Test func `a source that was away at its session's end returns to a new one`() {
        var harness = SessionHarness(idleTimeoutNanoseconds: 30 * second)
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 1)
        harness.tick(second)
        harness.apply(
            harness.recorder.disconnected("camera", at: SessionHarness.instant(2 * second)))
        harness.tick(40 * second)
        #expect(harness.ended.count == 1)
        harness.open(camera, at: 50 * second)
        harness.picture(&camera, capturedAt: 3 * second, arriving: 50 * second)
        harness.tick(51 * second)
        harness.goodbye(&camera, at: 52 * second)
        // Its picture was kept on the box: its agent may have another spool.
        harness.tick(62 * second)
        #expect(harness.started.count == 2 && harness.reasons == [.idle, .complete])
        #expect(harness.starts("camera") == [0, 0])
    }

    @Test func `a source that joins an hour later begins in the grid's present segment`() {
        var harness = SessionHarness()
        var first = SteadyCamera("first")
        harness.open(first, at: 0)
        harness.picture(&first, capturedAt: 0, arriving: 1)
        harness.tick(second)
        var late = SteadyCamera("late", clockNanoseconds: 9 * second)
        let hour = 3_600 * second + 42 * second
        harness.open(late, at: hour)
        harness.picture(&late, capturedAt: hour, arriving: hour)
        harness.goodbye(&late, at: hour + second)
        let plans = harness.jobs.compactMap { job -> SegmentPlan? in
            guard case .open(let id, let plan, _) = job, id.source == "late" else { return nil }
            return plan
        }
        // Segments of ten minutes: its file is the seventh, and begins with an empty 42 s.
        #expect(plans.map(\.originNanoseconds) == [3_600 * second])
        #expect(abs((harness.starts("late").first ?? 0) - (3_642 * 90_000)) <= 2)
    }

    @Test func `samples from before zero are recorded in earlier segments`() {
        var harness = SessionHarness(segmentNanoseconds: 10 * second)
        var first = SteadyCamera("first")
        var offline = SteadyCamera("offline")
        let now = 100 * second
        harness.open(first, at: now)
        harness.picture(&first, capturedAt: now, arriving: now)
        harness.tick(now + second)
        harness.open(offline, at: now + second)
        for step in 0..<300 {
            let time = now - 25 * second + Int64(step) * 100_000_000
            harness.picture(&offline, capturedAt: time, arriving: now + 2 * second)
        }
        harness.goodbye(&offline, at: now + 3 * second)
        let origins = harness.jobs.compactMap { job -> Int64? in
            guard case .open(let id, let plan, _) = job, id.source == "offline" else {
                return nil
            }
            return plan.originNanoseconds / second
        }
        #expect(origins == [-30, -20, -10, 0])
        #expect(abs((harness.starts("offline").first ?? 0) + 25 * 90_000) <= 2)
    }
}
