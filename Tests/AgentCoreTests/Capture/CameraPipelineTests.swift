import Devices
import Encoding
import Media
import Synchronization
import Testing

@testable import AgentCore

/// An agent whose camera is unplugged and returns.
@Suite struct CameraPipelineTests {
    private let second: Int64 = 1_000_000_000

    /// Runs a pipeline to its end; each opening takes the next of `cameras`, and nil is a camera that is not there.
    private func run(
        seconds: Int, clock: JumpingClock = JumpingClock(), _ cameras: [ScriptedCamera?],
        encoder: EncoderChoice = .auto
    ) throws -> CollectingSink.Result {
        var left = cameras.makeIterator()
        var settings = quickSettings(seconds: seconds)
        settings.encoder = encoder
        let pipeline = try CameraPipeline("/dev/video7", settings: settings, clock: clock) {
            () throws(DeviceError) in
            guard let camera = left.next() ?? nil else {
                throw .noCamera("/dev/video7", available: [])
            }
            return camera
        }
        let sink = CollectingSink()
        capture(pipeline, into: sink, clock: clock)
        let result = sink.wait()
        #expect(!result.isOutOfOrder)
        for camera in cameras { #expect(camera?.outstanding.withLock { $0 } ?? 0 == 0) }
        return result
    }

    /// Every place of the camera's rate has a picture or a loss that counts it.
    private func accountedFor(_ result: CollectingSink.Result) -> Int {
        result.video.count + result.losses.reduce(0) { $0 + $1.samples }
    }

    @Test func `every picture is recorded at the driver's time`() throws {
        let clock = JumpingClock()
        let result = try run(
            seconds: 3, clock: clock, [ScriptedCamera([.pictures(60)], clock: clock)])
        #expect(result.ends == [.finished("duration reached")])
        #expect(result.losses.isEmpty && result.notes.isEmpty)
        #expect(result.video.count == 29)  // the first comes an interval after the start
        for (place, sample) in result.video.enumerated() {
            let due = JumpingClock.start + FrameRate(10).nanoseconds(ofPicture: Int64(place) + 1)
            #expect(sample.ptsNanoseconds == due)
        }
    }

    @Test func `pictures that the driver left out are losses with their count`() throws {
        let clock = JumpingClock()
        let camera = ScriptedCamera(
            [.pictures(5), .drop(3), .pictures(5), .drop(1), .pictures(20)], clock: clock)
        let result = try run(seconds: 2, clock: clock, [camera])
        #expect(result.losses.map(\.cause) == [.driverDrop, .driverDrop])
        #expect(result.losses.map(\.samples) == [3, 1])
        #expect(result.losses[0].startNanoseconds == JumpingClock.start + 600_000_000)
        #expect(result.losses[0].durationNanoseconds == 300_000_000)
        #expect(accountedFor(result) == 19)
        #expect(camera.keyframeRequests == 2)
    }

    @Test func `a count that wraps is not a loss`() throws {
        let clock = JumpingClock()
        let camera = ScriptedCamera([.pictures(60)], clock: clock, firstSequence: .max - 7)
        let result = try run(seconds: 3, clock: clock, [camera])
        #expect(result.losses.isEmpty && result.video.count == 29)
    }

    @Test func `damaged and cut pictures are left out and counted`() throws {
        let clock = JumpingClock()
        let result = try run(
            seconds: 2, clock: clock,
            [
                ScriptedCamera(
                    [.pictures(5), .damage, .pictures(5), .cut, .pictures(20)], clock: clock)
            ])
        #expect(result.losses.map(\.cause) == [.damagedInput, .damagedInput])
        #expect(result.losses.map(\.samples) == [1, 1])
        #expect(accountedFor(result) == 19)
    }

    @Test func `timestamps of another clock are replaced, with one report`() throws {
        let clock = JumpingClock()
        let result = try run(
            seconds: 3, clock: clock,
            [
                ScriptedCamera(
                    [.pictures(5), .foreignStamps, .pictures(10), .goodStamps, .pictures(30)],
                    clock: clock)
            ])
        #expect(result.video.count == 29)
        let loss = try #require(result.losses.first)
        #expect(result.losses.count == 1)
        #expect(loss.samples == 0 && loss.durationNanoseconds == 0)
        #expect(loss.text.contains("10 pictures got their arrival time instead"))
        for (sample, next) in zip(result.video, result.video.dropFirst()) {
            #expect(abs(next.ptsNanoseconds - sample.ptsNanoseconds - 100_000_000) < 1_000_000)
        }
    }

    @Test func `an unplugged camera is waited for`() throws {
        let clock = JumpingClock()
        let first = ScriptedCamera([.pictures(30), .fail("No such device")], clock: clock)
        var later: ScriptedCamera?
        var tries = 0
        var output: CaptureOutput?
        var troubles: [String?] = []
        let pipeline = try CameraPipeline(
            "/dev/video7", settings: quickSettings(seconds: 10), clock: clock
        ) { () throws(DeviceError) in
            tries += 1
            troubles.append(output?.trouble?.summary)
            if tries == 1 { return first }
            guard tries > 4 else { throw .noCamera("/dev/video7", available: []) }
            later = ScriptedCamera([.pictures(200)], clock: clock)
            return later ?? first
        }
        let sink = CollectingSink()
        capture(pipeline, into: sink, clock: clock) { output = $0 }
        let result = sink.wait()
        #expect(result.ends == [.finished("duration reached")])
        // It is reported from the first failed attempt on, and until the next picture.
        let missing = try #require(troubles.last ?? nil)
        #expect(missing.hasPrefix("no video: ") && missing.contains("No such device"))
        #expect(troubles == [nil, nil, missing, missing, missing])
        #expect(output?.trouble == nil)
        #expect(result.losses.map(\.cause) == [.deviceLost])
        let loss = try #require(result.losses.first)
        #expect(loss.startNanoseconds == JumpingClock.start + 3_100_000_000)
        #expect((1_400_000_000...1_700_000_000).contains(loss.durationNanoseconds))
        #expect((14...16).contains(loss.samples))
        #expect(result.notes.count == 2)
        #expect(result.notes.first?.contains("waiting for it") == true)
        #expect(result.notes.last?.contains("is back") == true)
        // One timeline: no picture overlaps a gap.
        let end = loss.startNanoseconds + loss.durationNanoseconds
        #expect(
            result.video.allSatisfy {
                $0.ptsNanoseconds < loss.startNanoseconds || $0.ptsNanoseconds >= end
            })
    }

    @Test func `a frozen camera is opened again after two seconds`() throws {
        let clock = JumpingClock()
        let pipeline = try CameraPipeline(
            "/dev/video7", settings: quickSettings(seconds: 10), clock: clock
        ) { () throws(DeviceError) in
            ScriptedCamera([.pictures(30), .freeze], clock: clock)
        }
        let sink = CollectingSink()
        capture(pipeline, into: sink, clock: clock)
        let result = sink.wait()
        #expect(result.losses.map(\.cause) == [.deviceLost, .deviceLost])
        #expect(result.losses.first?.text.contains("stopped delivering pictures") == true)
        let duration = try #require(result.losses.first).durationNanoseconds
        #expect((2_000_000_000...2_800_000_000).contains(duration))
    }

    @Test func `a camera that fails whenever it is opened is tried less and less often`() throws {
        let clock = JumpingClock()
        var openings: [Int64] = []
        let pipeline = try CameraPipeline(
            "/dev/video7", settings: quickSettings(seconds: 60), clock: clock
        ) { () throws(DeviceError) in
            openings.append(clock.nowNanoseconds)
            return ScriptedCamera(
                openings.count == 1 ? [.pictures(5), .fail("x")] : [.fail("Input/output error")],
                clock: clock)
        }
        let sink = CollectingSink()
        capture(pipeline, into: sink, clock: clock)
        let result = sink.wait()
        #expect(result.ends == [.finished("duration reached")])
        #expect((8...14).contains(openings.count), "\(openings.count)")
        #expect(openings[2] - openings[1] <= second)
        #expect(result.losses.count == 1)
        #expect((593...595).contains(result.losses.first?.samples ?? 0))
    }

    @Test func `a camera that does not return is a loss until the end`() throws {
        let clock = JumpingClock()
        let result = try run(
            seconds: 8, clock: clock,
            [ScriptedCamera([.pictures(30), .fail("No such device")], clock: clock)])
        #expect(result.ends == [.finished("duration reached")])
        let loss = try #require(result.losses.first)
        #expect(result.losses.count == 1 && loss.samples == 49)
        #expect(
            loss.startNanoseconds + loss.durationNanoseconds == JumpingClock.start + 8 * second)
    }

    @Test func `skipped pictures of a camera with a higher rate are not losses`() throws {
        let clock = JumpingClock()
        var choice = CameraChoice.script(.yuyv, camera: 30)
        choice.recordedRate = FrameRate(30)
        let camera = ScriptedCamera(
            [.pictures(20), .drop(1), .pictures(20), .drop(6), .pictures(60)], clock: clock,
            choice: choice)
        var thinned = choice
        thinned.recordedRate = FrameRate(10)
        let wrapped = Rechosen(camera, thinned)
        let pipeline = try CameraPipeline(
            "/dev/video7", settings: quickSettings(seconds: 3), clock: clock
        ) { () throws(DeviceError) in wrapped }
        let sink = CollectingSink()
        capture(pipeline, into: sink, clock: clock)
        let result = sink.wait()
        // One missing of three is no loss; six missing are two periods without any.
        #expect(result.losses.allSatisfy { $0.cause == .driverDrop })
        #expect((1...2).contains(result.losses.reduce(0) { $0 + $1.samples }))
        #expect((28...30).contains(accountedFor(result)))
    }

    @Test func `a camera that cannot be opened ends the start with the reason`() {
        #expect(
            throws: CaptureError.source(
                "the camera /dev/video7 is busy: ffmpeg (process 812) uses it; stop that program, or use another "
                    + "camera")
        ) {
            _ = try CameraPipeline(
                "/dev/video7", settings: quickSettings(), clock: JumpingClock()
            ) { () throws(DeviceError) in
                throw .cameraBusy("/dev/video7", holder: "ffmpeg (process 812)")
            }
        }
    }

    /// The same camera, of which other pictures are kept.
    private final class Rechosen: CameraInput {
        private let camera: ScriptedCamera
        let choice: CameraChoice
        var layout: CameraPictureLayout { camera.layout }
        var summary: String { camera.summary }

        init(_ camera: ScriptedCamera, _ choice: CameraChoice) {
            self.camera = camera
            self.choice = choice
        }

        func start() throws(DeviceError) { try camera.start() }
        func requestKeyframe() {}
        func read(timeoutMilliseconds: Int) throws(DeviceError) -> CameraEvent {
            try camera.read(timeoutMilliseconds: timeoutMilliseconds)
        }
    }
}
