import Archive
import Media
import Testing
import Timing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000
private let millisecond: Int64 = 1_000_000

/// A box with a wrong clock and one source that sends single pictures.
private struct Box {
    let name: String
    let epoch = EpochID.random()
    let spool = SpoolID.random()
    /// Agent clock less the collector's.
    var clockNanoseconds: Int64 = 0
    private var sequence: UInt64 = 1

    init(_ name: String, clockNanoseconds: Int64 = 0) {
        self.name = name
        self.clockNanoseconds = clockNanoseconds
    }

    func open(in session: inout Observation, at now: Int64) {
        let format = VideoFormat.h264(
            sequenceParameterSets: [[0x67]], pictureParameterSets: [[0x68]], width: 16, height: 16)
        session.apply(
            session.recorder.open(
                SourceIntroduction(
                    name: name, agent: "box", address: "here", spool: spool,
                    epochs: [Epoch(number: 1, identity: epoch)], tracks: [.video(format)]),
                received: 0, at: session.instant(now)))
    }

    /// Quick exchanges, 1 ms apart.
    func measure(_ count: Int, in session: inout Observation, at collector: Int64) {
        let agent = collector + clockNanoseconds
        let exchanges = (0..<Int64(count)).map { index in
            let step = index * millisecond
            return ReportedExchange(
                t1: agent + step, t2: collector + step + 10_000, t3: collector + step + 11_000,
                t4: agent + step + 21_000, epoch: 1)
        }
        session.recorder.exchanges(
            exchanges, by: ClockOwner(owner: "", spool: spool), epoch: epoch)
    }

    mutating func picture(
        capturedAt time: Int64, arriving now: Int64, in session: inout Observation,
        camera: CameraStamps? = nil
    ) {
        session.samples(
            Samples(
                source: 0, firstSequence: sequence, epoch: 1,
                payloadDigest: [UInt8](repeating: 0, count: 32),
                runs: [
                    SampleRun(
                        track: .video, sizes: [10], dtsNanoseconds: [time + clockNanoseconds],
                        ptsOffsetsNanoseconds: [], durationsNanoseconds: [100 * millisecond],
                        flags: [.keyframe], camera: camera)
                ]), of: name, at: now)
        sequence += 1
    }
}

@Suite struct ClockRecordTests {
    /// A session with one source whose first picture was captured and recorded at its zero.
    private func begun(_ box: inout Box) -> Observation {
        var session = Observation()
        box.open(in: &session, at: 0)
        box.measure(8, in: &session, at: 0)
        box.picture(capturedAt: 0, arriving: 0, in: &session)
        session.tick(second)
        return session
    }

    @Test func `exchanges are in the next fragment of their epoch, once`() {
        var box = Box("camera", clockNanoseconds: 77 * second)
        var session = begun(&box)
        for index in 1...40 {
            let now = Int64(index) * second
            if index % 10 == 0 { box.measure(3, in: &session, at: now) }
            box.picture(capturedAt: now, arriving: now, in: &session)
        }
        session.end(50 * second)
        let held = session.fragments.map(\.plan.context.exchanges)
        let sent = held.joined().map(\.t1Nanoseconds)
        #expect(sent.count == 20)
        #expect(held.first?.count == 8)
        #expect(sent == sent.sorted() && Set(sent).count == sent.count)
        #expect(session.lines("camera", .exchanges) == [])
    }

    @Test func `a camera's stamps are in the fragments, and its statements in the ledger`() throws {
        var box = Box("camera", clockNanoseconds: 77 * second)
        var session = begun(&box)
        let utc = session.wallNanoseconds
        for index in 1..<60 as Range<Int64> {
            let arrival = index * 100 * millisecond
            // Its clock is an hour ahead, and a picture takes 30 ms to arrive.
            let stated = UInt64((utc + arrival - 30 * millisecond) / second + 2_208_988_800 + 3_600)
            let report = CameraReport(
                source: 1, ntp: stated << 32, timestamp: 0,
                arrivalNanoseconds: arrival + box.clockNanoseconds)
            let part = (utc + arrival - 30 * millisecond) % second
            let stamps = CameraStamps(
                clockRate: 90_000,
                stamps: [
                    CameraStamp(
                        timestamp: UInt32(part * 90_000 / second),
                        arrivalNanoseconds: arrival + box.clockNanoseconds,
                        arrivalSpanNanoseconds: 7, firstPacket: index, packets: 3)
                ], reports: [report])
            box.picture(
                capturedAt: arrival, arriving: arrival, in: &session, camera: stamps)
        }
        session.end(10 * second)
        let kept = session.fragments.flatMap(\.plan.pieces).flatMap(\.runs).compactMap(\.camera)
        #expect(kept.flatMap(\.stamps).map(\.firstPacket) == Array(1..<60))
        #expect(kept.flatMap(\.reports).count == 59)
        let lines = session.lines("camera", .stated)
        try #require(lines.count == 1)
        let line = lines[0]
        let offset = 3_600 * second - 30 * millisecond
        #expect(line.track == "video")
        #expect(abs((line.offsetNanoseconds ?? 0) - offset) < millisecond)
        #expect(abs((line.aheadNanoseconds ?? 0) - offset) < millisecond)
        #expect((line.leastNanoseconds ?? 0) <= (line.greatestNanoseconds ?? -1))
        #expect(line.text?.contains("impossible") == true)
    }

    @Test func `exchanges that came too late for a fragment are in the ledger`() throws {
        var box = Box("camera")
        var session = begun(&box)
        session.tick(3 * second)
        box.measure(2, in: &session, at: 4 * second)
        session.end(5 * second)
        let lines = session.lines("camera", .exchanges)
        #expect(lines.count == 1)
        #expect(lines.first?.exchanges?.map(\.first) == [4 * second, 4 * second + millisecond])
        #expect(lines.first?.epoch == box.epoch.description)
        #expect(lines.first?.collectorZeroNanoseconds != nil)
    }

    @Test func `the ledger has epochs and their clock models`() throws {
        var box = Box("camera", clockNanoseconds: -5 * second)
        var session = begun(&box)
        session.end(2 * second)
        #expect(session.lines("camera", .epoch).map(\.cause) == ["opened", "closed"])
        let model = try #require(session.lines("camera", .clock).first)
        let offset = try #require(model.offsetNanoseconds)
        #expect(abs(offset - 5 * second) <= 10_500)
        #expect((model.boundNanoseconds ?? 0) > 0)
        #expect(model.agentNanoseconds == -5 * second)
    }

    @Test func `a wrong exchange is counted, without effect on the other source`() throws {
        func record(lies: Bool) -> Observation {
            var honest = Box("honest", clockNanoseconds: 3 * second)
            var liar = Box("liar", clockNanoseconds: 9 * second)
            var session = Observation()
            for box in [honest, liar] {
                box.open(in: &session, at: 0)
                box.measure(8, in: &session, at: 0)
            }
            for index in 0..<20 {
                let now = Int64(index) * second
                if lies {
                    let huge = now + 9 * second
                    session.recorder.exchanges(
                        [
                            ReportedExchange(t1: huge, t2: 5, t3: 4, t4: huge + 1, epoch: 1),
                            ReportedExchange(
                                t1: huge + 2, t2: now + 50_000 * second * Int64(index + 1),
                                t3: now + 50_000 * second * Int64(index + 1), t4: huge + 3,
                                epoch: 1),
                        ], by: ClockOwner(owner: "", spool: liar.spool), epoch: liar.epoch)
                }
                honest.picture(capturedAt: now, arriving: now, in: &session)
                liar.picture(capturedAt: now, arriving: now, in: &session)
            }
            session.end(21 * second)
            return session
        }
        let (calm, lied) = (record(lies: false), record(lies: true))
        let line = try #require(lied.lines("liar", .exchanges).first { $0.exchanges == nil })
        #expect(line.rejectedExchanges ?? 0 > 0 && line.outlyingExchanges ?? 0 > 0)
        #expect(line.text?.contains("collectorClockBackwards") == true)
        #expect(lied.lines("honest", .exchanges) == [])
        for source in ["honest", "liar"] {
            #expect(
                lied.samples(of: source, .video).map(\.dts)
                    == calm.samples(of: source, .video).map(\.dts))
        }
    }

    @Test func `samples from before a clock's jump are mapped as if they had come at once`() {
        func record(lateBy delay: Int64) -> [Int64] {
            var box = Box("camera")
            var session = begun(&box)
            for index in 1...10 {
                let time = Int64(index) * second
                box.picture(capturedAt: time, arriving: time, in: &session)
            }
            // Captured before the jump; `late` makes it arrive after the collector has learned of it.
            let before = (11...19).map { Int64($0) * second }
            if delay == 0 {
                for time in before { box.picture(capturedAt: time, arriving: time, in: &session) }
            }
            var jumped = box
            jumped.clockNanoseconds += 7 * second
            jumped.measure(8, in: &session, at: 20 * second)
            if delay > 0 {
                for time in before {
                    box.picture(capturedAt: time, arriving: time + delay, in: &session)
                }
            }
            session.end(60 * second)
            return session.samples(of: "camera", .video).map(\.dts)
        }
        let prompt = record(lateBy: 0)
        #expect(prompt.count == 20)
        #expect(record(lateBy: 15 * second) == prompt)
    }

    @Test func `samples after a jump keep their true times`() throws {
        var box = Box("camera")
        var session = begun(&box)
        for index in 1...10 {
            let time = Int64(index) * second
            box.picture(capturedAt: time, arriving: time, in: &session)
        }
        box.clockNanoseconds += 7 * second
        box.measure(8, in: &session, at: 20 * second)
        box.picture(capturedAt: 21 * second, arriving: 21 * second, in: &session)
        session.end(60 * second)
        let last = try #require(session.samples(of: "camera", .video).last)
        #expect(abs(last.dts - 21 * 90_000) <= 1)
        let jump = try #require(session.lines("camera", .discontinuity).first)
        #expect(abs((jump.offsetNanoseconds ?? 0) + 7 * second) < millisecond)
        #expect(abs((jump.startNanoseconds ?? 0) - 20 * second) < millisecond)
    }
}
