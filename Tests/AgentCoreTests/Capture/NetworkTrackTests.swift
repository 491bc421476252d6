import Devices
import Encoding
import Media
import TestMedia
import Testing
import Wire

@testable import AgentCore
@testable import RTSP

/// Samples and losses from a network camera's access units and holes.
@Suite struct NetworkTrackTests {
    private static let interval: Int64 = 100_000_000

    /// A camera whose every fifth picture is a keyframe, and a capture that records it.
    private struct Stand {
        let units: [[UInt8]]
        let track: NetworkPictures
        let sink = CollectingSink()
        let hub: CaptureHub
        let output: CaptureOutput
        let start = JumpingClock.start

        init() throws {
            let (format, streams) = try ScriptedCamera.accessUnits(60)
            try self.init(
                format,
                streams.map { stream in
                    var unit: [UInt8] = []
                    try AnnexB.appendLengthPrefixed(stream.span, to: &unit)
                    return unit
                })
        }

        /// A camera that sends these access units.
        init(_ format: VideoFormat, _ units: [[UInt8]]) throws {
            let clock = JumpingClock()
            self.units = units
            let media = try SessionDescription(
                parsing: Array("m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000".utf8)
            ).media[0]
            track = try NetworkPictures(
                try CameraTrackDescription(media), format, orientation: .upright,
                durationNanoseconds: nil)
            hub = CaptureHub(sink: sink, clock: clock)
            output = CaptureOutput(hub)
            _ = hub.adopt([track.format])
            hub.pipelineBegan(1)
            track.begin(startNanoseconds: start)
        }

        /// Pictures arrive 20 ms after their capture, the first with the capture's start.
        func arrival(_ index: Int) -> Int64 {
            start + Int64(index) * NetworkTrackTests.interval + 20_000_000
        }

        /// - Parameters:
        ///   - pause: additional time before their captures, in intervals.
        ///   - ticks: distance of their timestamps.
        func send(_ range: Range<Int>, pause: Int = 0, ticks: Int = 9_000) throws {
            for index in range {
                let arrival = arrival(index + pause)
                output.waitUntil(arrival)
                try track.take(
                    [
                        .unit(
                            AccessUnit(
                                timestamp: UInt32(index * ticks), firstNumber: 0, lastNumber: 0,
                                firstArrivalNanoseconds: arrival, lastArrivalNanoseconds: arrival,
                                data: units[index]))
                    ], output)
                try track.tick(output)
            }
        }

        func lose(_ hole: StreamHole) throws { try track.take([.hole(hole)], output) }

        func finish(at index: Int) throws -> CollectingSink.Result {
            try track.finish(atNanoseconds: arrival(index), output)
            hub.pipelineEnded(1, .stopped, isRetired: false)
            return sink.wait()
        }
    }

    private func hole(_ count: Int, dropped: Int = 1, isHarmless: Bool = false) -> StreamHole {
        StreamHole(
            cause: .lost(.packets(first: 7, count: count)), arrivalNanoseconds: 0,
            droppedUnits: dropped, isHarmless: isHarmless)
    }

    @Test func `pictures are recorded bit for bit, at the times of their arrival`() throws {
        let stand = try Stand()
        try stand.send(0..<40)
        let result = try stand.finish(at: 40)
        #expect(result.video.map(\.data) == Array(stand.units[..<40]))
        #expect(result.losses.isEmpty)
        for (index, sample) in result.video.enumerated() {
            #expect(sample.ptsNanoseconds == stand.arrival(index))
            #expect(sample.durationNanoseconds == Self.interval)
        }
    }

    @Test func `each picture has its stamps, and the first has the preceding report`() throws {
        let stand = try Stand()
        let report = SenderReport(source: 7, ntp: 1 << 40, timestamp: 90_000)
        stand.track.note(report, arrivalNanoseconds: stand.start)
        try stand.send(0..<20)
        let result = try stand.finish(at: 20)
        let stamps = result.video.map(\.camera)
        #expect(stamps.allSatisfy { $0?.clockRate == 90_000 && $0?.stamps.count == 1 })
        #expect(stamps.compactMap { $0?.stamps.first?.timestamp } == (0..<20).map { $0 * 9_000 })
        #expect(
            stamps.compactMap { $0?.stamps.first?.arrivalNanoseconds }
                == (0..<20).map(stand.arrival))
        #expect(stamps.map { $0?.reports.count } == [1] + [Int](repeating: 0, count: 19))
        #expect(
            stamps[0]?.reports == [
                CameraReport(
                    source: 7, ntp: 1 << 40, timestamp: 90_000, arrivalNanoseconds: stand.start)
            ])
    }

    @Test func `the two fields of a frame, each with its timestamp, are one sample`() throws {
        let stream = OddStream.accessUnits[2]
        let format = try VideoFormat(
            .h264, extradata: FLVFile.record(stream.sequenceSets, stream.pictureSets))
        let stand = try Stand(format, stream.packets.map(\.bytes))
        try stand.send(0..<41)
        let result = try stand.finish(at: 41)
        let pairs = stride(from: 0, to: 40, by: 2).map { stand.units[$0] + stand.units[$0 + 1] }
        // The last field is alone.
        #expect(result.video.map(\.data) == pairs + [stand.units[40]])
        #expect(result.losses.isEmpty)
        for (index, sample) in result.video.dropLast().enumerated() {
            #expect(sample.ptsNanoseconds == stand.arrival(2 * index))
            #expect(sample.durationNanoseconds == 2 * Self.interval)
        }
    }

    @Test func `after a loss, pictures up to the next keyframe are dropped and reported`() throws {
        let stand = try Stand()
        try stand.send(0..<12)
        try stand.lose(hole(3))
        try stand.send(13..<30)
        let result = try stand.finish(at: 30)
        // Keyframes are 0, 5, 10, 15, …
        #expect(result.video.map(\.data) == Array(stand.units[..<12]) + stand.units[15..<30])
        let loss = try #require(result.losses.first)
        #expect(result.losses.count == 1)
        #expect(loss.cause == .packetLoss)
        #expect(loss.samples == 3)
        #expect(loss.startNanoseconds == stand.arrival(12))
        #expect(loss.durationNanoseconds == 3 * Self.interval)
        #expect(
            loss.text == "3 packets were lost between camera and agent, from sequence number 7 on")
    }

    @Test func `a loss of a non-reference picture drops only this picture`() throws {
        let stand = try Stand()
        try stand.send(0..<12)
        try stand.lose(hole(1, isHarmless: true))
        try stand.send(13..<20)
        let result = try stand.finish(at: 20)
        #expect(result.video.count == 19)
        #expect(result.losses.map(\.samples) == [1])
    }

    @Test func `an absent camera is one gap, with the reason`() throws {
        let stand = try Stand()
        try stand.send(0..<12)
        try stand.track.interrupt("it is gone", stand.output)
        let media = try SessionDescription(
            parsing: Array("m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000".utf8)
        ).media[0]
        try stand.track.resume(try CameraTrackDescription(media), stand.output)
        #expect(!stand.track.isFlowing)
        try stand.send(32..<50)
        #expect(stand.track.isFlowing)
        let result = try stand.finish(at: 50)
        #expect(result.video.map(\.data) == Array(stand.units[..<12]) + stand.units[35..<50])
        #expect(result.losses.count == 1)
        let loss = try #require(result.losses.first)
        #expect(loss.cause == .deviceLost && loss.text == "it is gone")
        #expect(loss.durationNanoseconds == 23 * Self.interval && loss.samples == 23)
    }

    /// Keyframes that arrive at these times after the start, seconds.
    private func send(_ keyframes: [(key: Int, at: Double)], _ stand: Stand) throws {
        for own in keyframes {
            let arrival = stand.start + Int64(own.at * 1e9)
            stand.output.waitUntil(arrival)
            try stand.track.take(
                [
                    .unit(
                        AccessUnit(
                            timestamp: UInt32((own.at * 90_000).rounded()), firstNumber: 0,
                            lastNumber: 0,
                            firstArrivalNanoseconds: arrival, lastArrivalNanoseconds: arrival,
                            data: stand.units[5 * own.key]))
                ], stand.output)
            try stand.track.tick(stand.output)
        }
    }

    private func reconnect(_ stand: Stand, at seconds: Double) throws {
        try stand.track.interrupt("it is gone", stand.output)
        stand.output.waitUntil(stand.start + Int64(seconds * 1e9))
        let media = try SessionDescription(
            parsing: Array("m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000".utf8)
        ).media[0]
        try stand.track.resume(try CameraTrackDescription(media), stand.output)
    }

    @Test func `the lost pictures of a slow camera are counted at its rate`() throws {
        let stand = try Stand()
        try send((0..<4).map { ($0, Double($0) * 2 + 0.1) }, stand)
        try reconnect(stand, at: 15)
        try send((4..<8).map { ($0, Double($0 - 4) * 2 + 16.1) }, stand)
        // A second outage, of less than a picture.
        try reconnect(stand, at: 23)
        try send((8..<10).map { ($0, Double($0 - 8) * 2 + 24.1) }, stand)
        let result = try stand.finish(at: 270)
        #expect(result.video.count == 10)
        // Those of 8.1 to 14.1 s.
        #expect(result.losses.map(\.samples) == [4, 0])
        func milliseconds(_ time: Int64) -> Int64 { (time + 500_000) / 1_000_000 }
        #expect(result.losses.map { milliseconds($0.durationNanoseconds) } == [8_000, 0])
        #expect(
            result.video.map { milliseconds($0.ptsNanoseconds - stand.start) }
                == [0, 2, 4, 6, 16, 18, 20, 22, 24, 26].map { $0 * 1_000 + 100 })
        #expect(
            result.video.dropFirst().allSatisfy { milliseconds($0.durationNanoseconds) == 2_000 })
    }

    @Test func `lost pictures are not counted while their rate is unknown`() throws {
        let stand = try Stand()
        try send([(0, 0.1)], stand)
        try reconnect(stand, at: 9)
        try send([(1, 10.1)], stand)
        let result = try stand.finish(at: 110)
        #expect(result.video.count == 2)
        #expect(result.losses.map(\.samples) == [0])
        #expect(result.losses.first?.durationNanoseconds ?? 0 > 9_000_000_000)
    }

    @Test func `a loss at the end is reported at the end`() throws {
        let stand = try Stand()
        try stand.send(0..<12)
        try stand.lose(hole(2))
        let result = try stand.finish(at: 20)
        #expect(result.losses.map(\.durationNanoseconds) == [8 * Self.interval])
    }

    @Test func `at the end, no more pictures are lost than are known to be`() throws {
        let stand = try Stand()
        try stand.send(0..<12)
        try stand.lose(hole(0, isHarmless: true))
        let result = try stand.finish(at: 20)
        #expect(result.losses.map(\.samples) == [1])
        #expect(result.losses.map(\.durationNanoseconds) == [Self.interval])
    }

    @Test func `a long loss is reported every minute`() throws {
        let stand = try Stand()
        try stand.send(0..<12)
        try stand.track.interrupt("it is gone", stand.output)
        for index in stride(from: 12, to: 9_012, by: 10) {
            stand.output.waitUntil(stand.arrival(index))
            try stand.track.tick(stand.output)
        }
        let result = try stand.finish(at: 9_012)
        #expect(result.losses.count == 15)
        #expect(result.losses.allSatisfy { $0.durationNanoseconds <= 61_000_000_000 })
        for (loss, next) in zip(result.losses, result.losses.dropFirst()) {
            #expect(loss.startNanoseconds + loss.durationNanoseconds == next.startNanoseconds)
        }
    }

    @Test func `the lost packets of a long gap are reported once`() {
        var gap = NetworkGap(hole(3), startNanoseconds: 0)
        let minute: Int64 = 60_000_000_000
        func text(until end: Int64) -> String {
            gap.loss(of: .video, untilNanoseconds: end, intervalNanoseconds: Self.interval).text
        }
        #expect(text(until: minute).contains("3 packets were lost"))
        gap = gap.continued(fromNanoseconds: minute)
        let rest = text(until: 2 * minute)
        #expect(!rest.contains("3 packets") && !rest.isEmpty)
        gap.add(hole(2))
        #expect(text(until: 2 * minute).contains("2 packets were lost"))
        gap = gap.continued(fromNanoseconds: 2 * minute)
        #expect(text(until: 3 * minute) == rest)
    }

    @Test func `leading pictures of the keyframe after a loss belong to that loss`() throws {
        let stand = try Stand()
        var progress = NetworkProgress(
            .video, durationNanoseconds: nil, intervalNanoseconds: Self.interval)
        progress.limit.begin(startNanoseconds: stand.start)
        progress.reach(stand.arrival(10))
        progress.note(hole(3))
        progress.close(atNanoseconds: stand.arrival(15), stand.output)
        progress.dropUndecodable(atNanoseconds: stand.arrival(13))
        #expect(!progress.isMissing)
        progress.dropUndecodable(atNanoseconds: stand.arrival(16))
        #expect(progress.isMissing)
    }

    @Test func `pictures before the first keyframe are reported as lost`() throws {
        let stand = try Stand()
        try stand.send(2..<20)
        let result = try stand.finish(at: 20)
        #expect(result.video.map(\.data) == Array(stand.units[5..<20]))
        #expect(result.losses.count == 1)
        #expect(result.losses.first?.text.contains("first keyframe") == true)
    }

    @Test func `a picture that cannot be read is a loss, not the end`() throws {
        let stand = try Stand()
        try stand.send(0..<12)
        stand.output.waitUntil(stand.arrival(12))
        try stand.track.take(
            [
                .unit(
                    AccessUnit(
                        timestamp: 12 * 9_000, firstNumber: 0, lastNumber: 0,
                        firstArrivalNanoseconds: stand.arrival(12),
                        lastArrivalNanoseconds: stand.arrival(12), data: [0, 0, 0, 9, 1]))
            ], stand.output)
        try stand.send(13..<20)
        let result = try stand.finish(at: 20)
        #expect(result.video.map(\.data) == Array(stand.units[..<12]) + stand.units[15..<20])
        #expect(result.losses.map(\.cause) == [.damagedInput])
    }

    // MARK: Timestamps

    @Test(arguments: [4_500, 900, 90])
    func `timestamps that run slower than stated invent no loss`(ticks: Int) throws {
        let stand = try Stand()
        try stand.send(0..<60, ticks: ticks)
        let result = try stand.finish(at: 60)
        #expect(result.video.map(\.data) == stand.units)
        #expect(result.losses.allSatisfy { $0.samples == 0 && $0.durationNanoseconds == 0 })
        #expect(result.losses.count == 1)
        let text = try #require(result.losses.first?.text)
        #expect(text.contains("% of the rate that it states"))
        for (index, sample) in result.video.enumerated() {
            #expect((sample.ptsNanoseconds - stand.arrival(index)).magnitude < 5_000_000)
        }
    }

    @Test func `timestamps that stop while the camera pauses are one gap, at its time`() throws {
        let stand = try Stand()
        try stand.send(0..<30)
        try stand.send(30..<60, pause: 35)
        let result = try stand.finish(at: 95)
        #expect(result.video.map(\.data) == stand.units)
        let gaps = result.losses.filter { $0.samples > 0 }
        #expect(gaps.map(\.text) == ["the camera sent no pictures"])
        let gap = try #require(gaps.first)
        #expect((gap.startNanoseconds - stand.arrival(30)).magnitude < 5_000_000)
        #expect((gap.durationNanoseconds - 35 * Self.interval).magnitude < 5_000_000)
        #expect(gap.samples == 35)
        #expect(
            result.losses.filter { $0.samples == 0 }.map(\.text) == [
                "the camera's video timestamps fell behind by 3500 ms; times are taken from arrival"
            ])
        for (index, sample) in result.video.enumerated() {
            let arrival = stand.arrival(index < 30 ? index : index + 35)
            #expect((sample.ptsNanoseconds - arrival).magnitude < 5_000_000)
        }
    }

    @Test func `times that the clock corrects forward are not a loss`() throws {
        let stand = try Stand()
        var progress = NetworkProgress(
            .audio, durationNanoseconds: nil, intervalNanoseconds: Self.interval)
        progress.limit.begin(startNanoseconds: stand.start)
        progress.reach(stand.arrival(10))
        let forward = ArrivalClock.Findings(forwardNanoseconds: 4_000_000_000)
        progress.note(forward, atNanoseconds: stand.arrival(50), stand.output)
        progress.follow(atNanoseconds: stand.arrival(50))
        #expect(!progress.isMissing)
        progress.reach(stand.arrival(50))
        progress.follow(atNanoseconds: stand.arrival(90))
        #expect(progress.isMissing)
    }

    @Test(arguments: [true, false])
    func `units with times far in the past are not silence`(isHeard: Bool) throws {
        let stand = try Stand()
        var progress = NetworkProgress(
            .audio, durationNanoseconds: nil, intervalNanoseconds: Self.interval)
        progress.limit.begin(startNanoseconds: stand.start)
        progress.reach(stand.arrival(10))
        stand.output.waitUntil(stand.arrival(60))
        if isHeard { progress.hear(stand.arrival(59)) }
        progress.tick(stand.output, nowNanoseconds: stand.output.nowNanoseconds)
        #expect(progress.isMissing == !isHeard)
    }

    // MARK: Status

    @Test func `the status of a camera that is away has the reason and the next attempt`() throws {
        let stand = try Stand()
        var trouble = NetworkTrouble()
        func update(_ failure: String?, _ state: CaptureTrouble.State, at index: Int)
            -> CaptureTrouble?
        {
            stand.output.waitUntil(stand.arrival(index))
            trouble.update(
                [stand.track], failure, state, hasReconnected: index > 100,
                now: stand.arrival(index),
                startNanoseconds: stand.start)
            return trouble.present
        }
        #expect(update(nil, .connected, at: 1) == nil)
        let waiting = try #require(update(nil, .connected, at: 40))
        #expect(
            waiting.text(now: stand.start + 4 * 1_000_000_000)
                == "no video for 4 s: the camera has sent no video yet")
        try stand.send(40..<52)
        #expect(update(nil, .connected, at: 52) == nil)
        try stand.track.interrupt("it is gone", stand.output)
        let next = stand.arrival(55)
        // Without samples, a gap is reported in parts.
        for index in stride(from: 53, to: 1_300, by: 10) {
            stand.output.waitUntil(stand.arrival(index))
            try stand.track.tick(stand.output)
            let away = try #require(
                update("refused", .waiting(untilNanoseconds: next), at: index))
            #expect(away.sinceNanoseconds == stand.arrival(52))
        }
        let away = try #require(update("refused", .waiting(untilNanoseconds: next), at: 1_300))
        #expect(
            away.text(now: stand.arrival(53)) == "no video for 0 s: refused")
        #expect(away.retrySeconds(now: stand.arrival(53)) == 1)
        #expect(away.retrySeconds(now: stand.arrival(60)) == 0)
        let connecting = try #require(update("refused", .connecting, at: 1_301))
        #expect(connecting.retrySeconds(now: next) == nil)
        #expect(connecting.text(now: next).hasSuffix("refused; connecting"))
        #expect(update(nil, .connected, at: 1_302)?.reason.hasSuffix("connected again") == true)
        _ = try stand.finish(at: 1_310)
    }

    @Test func `a silence has the reason that the session states`() throws {
        for isKnownBefore in [true, false] {
            let stand = try Stand()
            var progress = NetworkProgress(
                .audio, durationNanoseconds: nil, intervalNanoseconds: Self.interval)
            progress.limit.begin(startNanoseconds: stand.start)
            if isKnownBefore { progress.explainSilence("the camera sent noise") }
            stand.output.waitUntil(stand.arrival(50))
            progress.tick(stand.output, nowNanoseconds: stand.output.nowNanoseconds)
            #expect(progress.isMissing)
            if !isKnownBefore { progress.explainSilence("the camera sent noise") }
            #expect(progress.missing?.text == "the camera sent noise")
        }
    }

    @Test func `the status of a silent camera has the duration of its silence`() throws {
        let stand = try Stand()
        var trouble = NetworkTrouble()
        try stand.send(0..<12)
        stand.output.waitUntil(stand.arrival(80))
        try stand.track.tick(stand.output)
        trouble.update(
            [stand.track], nil, .connected, now: stand.arrival(80), startNanoseconds: stand.start)
        let silent = try #require(trouble.present)
        #expect(
            silent.text(now: stand.arrival(112))
                == "no video for 10 s: the camera sent no pictures")
        _ = try stand.finish(at: 112)
    }

    // MARK: Settings

    private func settings(_ change: (inout CaptureSettings) -> Void) throws -> CaptureSettings {
        var settings = CaptureSettings(sourceName: "camera")
        settings.video = try CaptureInput.parse("rtsp://camera/live?password=geheim", for: .video)
        settings.audio = .none
        change(&settings)
        return settings
    }

    @Test func `a setting that a network camera does not support is refused`() throws {
        for change: (inout CaptureSettings) -> Void in [
            { $0.size = PictureSize(width: 640, height: 360) }, { $0.frameRate = FrameRate(5) },
            { $0.encoder = .named("libx264") }, { $0.videoFormat = "yuyv" },
        ] {
            let wrong = try settings(change)
            #expect(throws: CaptureError.self) { try wrong.check() }
        }
        try settings { $0.encoder = .copy }.check()
        try settings { _ in }.check()
    }

    @Test func `an address with a password is refused and never repeated`() throws {
        for address in ["rtsp://admin:geheim@camera/", "rtsps://admin:geheim@camera/"] {
            let error = #expect(throws: CaptureError.self) {
                try CaptureInput.parse(address, for: .video)
            }
            #expect(error?.description.contains("geheim") == false)
        }
        let shown = try settings { _ in }
        #expect(shown.video.summary == "rtsp://camera/live?…")
        #expect(shown.video.argument == "rtsp://camera/live?password=geheim")
    }

    @Test func `sound of a network camera changes with its pictures`() throws {
        let own = try settings { settings in
            settings.audio = settings.video?.sound
            settings.isAudioOptional = true
        }
        #expect(try own.pipelinePlans().map(\.kinds) == [[.video, .audio]])
        var change = CaptureChange()
        change.video = "rtsp://other/live"
        let other = try own.changed(by: change)
        #expect(other.audio.argument == "rtsp://other/live" && other.isAudioOptional)
        change.video = "test"
        #expect(try own.changed(by: change).audio == nil)
    }
}

extension CaptureOutput {
    /// Has this thread's clock show that time.
    fileprivate func waitUntil(_ time: Int64) { _ = wait(untilNanoseconds: time) }
}

extension NetworkTrack {
    /// Nothing that has arrived is unread.
    func tick(_ output: CaptureOutput) throws(EncodingError) {
        try tick(output, nowNanoseconds: output.nowNanoseconds)
    }
}
