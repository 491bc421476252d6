import AgentCore
import Encoding
import Media
import Synchronization
import Testing

@Suite struct CaptureTestPatternTests {
    private let start = JumpingClock.start

    @Test func `ten seconds are 300 pictures and 480000 frames of sound, both from one time on`()
        throws
    {
        var settings = quickSettings(seconds: 10)
        settings.size = PictureSize(width: 320, height: 180)
        let result = try capture(settings)
        #expect(result.ends == [.finished("duration reached")])
        #expect(!result.isOutOfOrder)
        #expect(result.losses.isEmpty)
        #expect(result.formats.map(\.kind) == [.video, .audio])

        #expect(result.video.count == 300)
        let times = (0..<300).map { start + FrameRate(30).nanoseconds(ofPicture: Int64($0)) }
        #expect(result.video.map(\.ptsNanoseconds) == times)
        #expect(result.video.reduce(0) { $0 + $1.durationNanoseconds } == 10_000_000_000)
        let keyframes = result.video.filter { $0.flags.contains(.keyframe) }
        #expect(keyframes.count == 5)

        let captured = result.audio.filter { !$0.flags.contains(.priming) }
        #expect(result.audio.count == captured.count + 1)
        #expect(captured.first?.ptsNanoseconds == start)
        #expect(captured.reduce(0) { $0 + $1.durationNanoseconds } == 10_000_000_000)
    }

    @Test func `a painter that falls behind skips pictures and counts them`() throws {
        var settings = quickSettings(audio: .none, seconds: 10)
        settings.size = PictureSize(width: 320, height: 180)
        // Every look at the clock costs 50 ms: far too slow for 30 pictures per second.
        let result = try capture(settings, clock: JumpingClock(drag: 50_000_000))
        let lost = result.losses.reduce(0) { $0 + $1.samples }
        #expect(lost > 0)
        #expect(result.video.count + lost == 300)
        #expect(result.losses.allSatisfy { $0.cause == .encoderOverload && $0.track == .video })
        let held = result.video.reduce(0) { $0 + $1.durationNanoseconds }
        let missing = result.losses.reduce(0) { $0 + $1.durationNanoseconds }
        #expect(held + missing == 10_000_000_000)
        for loss in result.losses {
            let end = loss.startNanoseconds + loss.durationNanoseconds
            #expect(
                !result.video.contains {
                    (loss.startNanoseconds..<end).contains($0.ptsNanoseconds)
                })
        }
    }

    @Test func `a capture without end ends when it is stopped`() throws {
        var settings = quickSettings()
        settings.size = PictureSize(width: 320, height: 180)
        let session = Mutex<CaptureSession?>(nil)
        let sink = CollectingSink { count in
            if count == 100 { session.withLock { $0 }?.stop() }
        }
        let capture = CaptureSession(settings: settings, clock: JumpingClock(), sink: sink)
        session.withLock { $0 = capture }
        try capture.start()
        let result = sink.wait()
        session.withLock { $0 = nil }
        #expect(result.ends == [.finished("stopped")])
        #expect(result.samples.count >= 100)
    }

    @Test func `one line per track describes the chosen settings`() throws {
        let sink = CollectingSink()
        let session = CaptureSession(
            settings: {
                var settings = CaptureSettings(sourceName: "a")
                settings.duration = .milliseconds(100)
                return settings
            }(), clock: JumpingClock(), sink: sink)
        try session.start()
        _ = sink.wait()
        #expect(
            session.descriptions == [
                "video 1280×720 at 30 fps, libx264 high, 4 Mbit/s (maximum 6 Mbit/s), "
                    + "keyframe every 2 s from test pattern",
                "audio 48 kHz, 2 channels, AAC 96 kbit/s from test sound",
            ])
    }

    @Test func `the test sound is metered once a second`() throws {
        let result = try capture(quickSettings(video: .none, seconds: 5))
        #expect(result.reports.count == 4)
        for report in result.reports {
            #expect(report.levels.count == 2 && report.skewPPM == nil)
            #expect(abs(AudioLevel.millibels(try #require(report.levels.first).peak) - -600) < 5)
        }
    }

    @Test(arguments: [
        ("", "is empty"), ("file:", "needs a path"),
    ])
    func `an invalid input is refused with the alternatives`(argument: String, words: String) {
        let error = #expect(throws: CaptureError.self) {
            _ = try CaptureInput.parse(argument, for: .video)
        }
        #expect(error?.description.contains(words) == true)
        #expect(error?.description.contains("--video") == true)
    }

    @Test func `settings that contradict each other are refused before anything starts`() {
        func refused(_ change: (inout CaptureSettings) -> Void) -> Bool {
            var settings = quickSettings(seconds: 1)
            change(&settings)
            do {
                _ = try capture(settings)
                return false
            } catch {
                return !"\(error)".contains("\n")
            }
        }
        #expect(refused { $0.encoder = .copy })
        #expect(refused { $0.encoder = .named("libnothing") })
        #expect(refused { ($0.video, $0.audio) = (.none, .none) })
        #expect(refused { $0.size = PictureSize(width: 321, height: 180) })
        #expect(refused { $0.size = PictureSize(width: 64, height: 48) })
        #expect(refused { $0.size = PictureSize(width: 20_000, height: 180) })
        #expect(refused { $0.frameRate = FrameRate(5000) })
        #expect(refused { $0.videoBitrateCap = 1000 })
        #expect(refused { $0.bFrames = 17 })
        #expect(refused { $0.channels = 7 })
        #expect(refused { $0.sampleRate = 12_345 })
        #expect(refused { $0.encoderPreset = "silly" })
        #expect(refused { $0.duration = .zero })
        #expect(!refused { _ in })
    }
}
