import Archive
import Media
import Operations
import Testing

@testable import CollectorCore
@testable import Wire

/// Limits of one source's effect on a shared session.
@Suite struct SourceBudgetTests {
    private static let second: Int64 = 1_000_000_000
    private static let start: Int64 = 1_000 * second

    private func sound(_ camera: inout SteadyCamera, stamped stamp: Int64) -> Samples {
        camera.sound(at: stamp)
    }

    @Test(arguments: [1 << 61, -1 << 61, 90_000_000_000_000] as [Int64])
    func `a sample with a time far from now does not set the session's zero`(distance: Int64) throws
    {
        var session = SessionHarness()
        var honest = SteadyCamera("honest")
        var liar = SteadyCamera("liar")
        liar.tracks = [SteadyCamera.soundFormat]
        session.open(honest, at: Self.start)
        session.open(liar, at: Self.start)
        for sign in [Int64(1), -1] {
            let stamp = max(-(1 << 61), min(1 << 61, Self.start.clampedAdding(sign * distance)))
            session.apply(
                session.recorder.samples(
                    sound(&liar, stamped: stamp), payload: TestPayload(count: 10), of: "liar",
                    at: SessionHarness.instant(Self.start)))
        }
        for picture in 0..<20 as Range<Int64> {
            let now = Self.start + picture * 100_000_000
            session.apply(
                session.recorder.samples(
                    honest.picture(at: now, isKeyframe: picture % 10 == 0),
                    payload: TestPayload(count: 10), of: "honest",
                    at: SessionHarness.instant(now)))
            session.apply(session.recorder.tick(at: SessionHarness.instant(now)))
        }
        let zero = try #require(session.recorder.sessionZero)
        #expect(abs(zero - Self.start) < Self.second)
        let newest = try #require(
            session.recorder.progress.first { $0.name == "honest" }?.newestNanoseconds)
        #expect(abs(newest - 1_900_000_000) < 10_000_000)
    }

    @Test func `samples that are dropped repeatedly are joined into few ranges`() {
        var session = SessionHarness()
        var liar = SteadyCamera("liar")
        liar.tracks = [SteadyCamera.soundFormat]
        session.open(liar, at: Self.start)
        session.sound(&liar, capturedAt: Self.start, arriving: Self.start)
        session.tick(Self.start + Self.second)
        for index in 0..<20_000 as Range<Int64> {
            let now = Self.start + Self.second + index * 1_000_000
            var wide = liar.sound(at: now)
            // Farther apart than any captured message.
            wide.runs[0].dtsNanoseconds.append(now + 100_000 * Self.second)
            wide.runs[0].sizes.append(0)
            wide.runs[0].flags.append([])
            liar.sequence += 1
            session.apply(
                session.recorder.samples(
                    wide, payload: TestPayload(count: 10), of: "liar",
                    at: SessionHarness.instant(now)))
            session.sound(&liar, capturedAt: now, arriving: now)
        }
        session.goodbye(&liar, at: Self.start + 30 * Self.second)
        let ranges = session.lines("liar").map { max(1, $0.ranges?.count ?? 1) }
        #expect(ranges.reduce(0, +) < 4_000)
    }

    @Test func `a sample of the last 24 hours sets zero`() throws {
        var session = SessionHarness()
        var camera = SteadyCamera("late")
        session.open(camera, at: 100_000 * Self.second)
        let captured = 100_000 * Self.second - 86_000 * Self.second
        for now in [0, 600_000_000] as [Int64] {
            session.apply(
                session.recorder.samples(
                    camera.picture(at: captured + now), payload: TestPayload(count: 10),
                    of: "late", at: SessionHarness.instant(100_000 * Self.second + now)))
            session.apply(
                session.recorder.tick(at: SessionHarness.instant(100_000 * Self.second + now)))
        }
        let zero = try #require(session.recorder.sessionZero)
        #expect(abs(zero - captured) < 100_000_000)
    }

    @Test func `a format with every record begins no more files than a source may`() {
        var session = SessionHarness()
        var camera = SteadyCamera("flapping")
        session.open(camera, at: Self.start)
        var explained = 0
        for index in 0..<400 as Range<Int64> {
            let now = Self.start + index * 10_000_000
            var format = VideoFormat.h264(
                sequenceParameterSets: [[0x67, UInt8(index & 1)]],
                pictureParameterSets: [[0x68]], width: 16, height: 16)
            format.width = index % 2 == 0 ? 16 : 32
            let update = TrackUpdate(source: 0, sequence: camera.sequence, format: .video(format))
            camera.sequence += 1
            session.apply(
                session.recorder.format(
                    update, of: "flapping", at: SessionHarness.instant(now)))
            session.apply(
                session.recorder.samples(
                    camera.picture(at: now), payload: TestPayload(count: 10), of: "flapping",
                    at: SessionHarness.instant(now)))
            session.apply(session.recorder.tick(at: SessionHarness.instant(now)))
        }
        session.apply(session.recorder.end(.stopped, at: SessionHarness.instant(Self.start * 2)))
        var files = 0
        for job in session.jobs {
            if case .open = job { files += 1 }
            if case .note(_, let entry, _) = job {
                if entry.kind == .gap {
                    explained += Int(entry.samples ?? 0)
                    #expect(entry.cause == LostRecords.tooManyFiles)
                }
            }
        }
        #expect(files <= 66)
        // Every sample is in a file or in the ledger.
        #expect(explained > 300)
        #expect(session.releasedBytes == explained * 10)
    }

    @Test func `full segments are not counted against the file budget`() {
        var session = SessionHarness(segmentNanoseconds: 600 * Self.second)
        var camera = SteadyCamera("replayed")
        camera.zeroUTCNanoseconds = 1_700_000_000_000_000_000
        session.open(camera, at: Self.start)
        // A day in a minute: a picture of 200 kB for each five minutes.
        for index in 0..<288 as Range<Int64> {
            var samples = camera.picture(at: index * 300 * Self.second)
            samples.runs[0].sizes = [200_000]
            let now = Self.start + index * 200_000_000
            session.apply(
                session.recorder.samples(
                    samples, payload: TestPayload(count: 200_000), of: "replayed",
                    at: SessionHarness.instant(now)))
            session.apply(session.recorder.tick(at: SessionHarness.instant(now)))
        }
        session.apply(
            session.recorder.end(.stopped, at: SessionHarness.instant(Self.start * 2)))
        let files = session.jobs.count { if case .open = $0 { true } else { false } }
        #expect(files >= 143)
        #expect(session.releasedBytes == 0)
    }

    @Test func `another agent's exchanges on the same clock move no samples`() throws {
        var session = SessionHarness()
        var camera = SteadyCamera("honest", clockNanoseconds: 5 * Self.second)
        session.open(camera, at: Self.start)
        for index in 0..<100 as Range<Int64> {
            let now = Self.start + index * 100_000_000
            // A source that knows the box's epoch claims that its clock is a minute off.
            var liar = camera
            liar.clockNanoseconds += 60 * Self.second
            session.recorder.exchanges(
                liar.exchange(at: now), by: ClockOwner(owner: "evil", spool: .random()),
                epoch: camera.epoch)
            session.apply(
                session.recorder.samples(
                    camera.picture(at: now), payload: TestPayload(count: 10), of: "honest",
                    at: SessionHarness.instant(now)))
            session.apply(session.recorder.tick(at: SessionHarness.instant(now)))
        }
        let newest = try #require(session.recorder.progress.first?.newestNanoseconds)
        #expect(abs(newest - 9_900_000_000) < 10_000_000)
    }

    @Test func `counters stop at the largest number`() throws {
        var sourceCounters = SourceCounters()
        sourceCounters.opened(
            SourceIntroduction(
                name: "stage", agent: "box", address: "10.0.0.7", spool: SpoolID.random(),
                epochs: [], tracks: []), at: 0)
        for _ in 0..<2 { sourceCounters.missed(.max, of: "stage", cause: "overrun") }
        #expect(sourceCounters["stage"]?.counts.lostSamples == .max)
    }

    @Test func `sessions begin one after the other, not a hundred a second`() {
        var session = SessionHarness()
        var camera = SteadyCamera("short")
        var now = Self.start
        for _ in 0..<2_000 {
            session.open(camera, at: now)
            session.apply(
                session.recorder.samples(
                    camera.picture(at: now), payload: TestPayload(count: 10), of: "short",
                    at: SessionHarness.instant(now)))
            let goodbye = Goodbye(source: 0, sequence: camera.sequence, text: "end")
            camera.sequence += 1
            session.apply(
                session.recorder.goodbye(goodbye, of: "short", at: SessionHarness.instant(now)))
            now += 10_000_000
            session.apply(session.recorder.tick(at: SessionHarness.instant(now)))
        }
        #expect((60...70).contains(session.started.count), "\(session.started.count)")
    }
}
