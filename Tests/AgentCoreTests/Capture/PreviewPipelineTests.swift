import Devices
import Encoding
import Foundation
import Media
import Synchronization
import TestMedia
import Testing
import Wire

@testable import AgentCore

/// A source and the preview of its pictures, on the real clock: short, and nothing depends on how long it lasts.
@Suite(.serialized) struct PreviewPipelineTests {
    private func settings(_ preview: String = "small") throws -> CaptureSettings {
        var settings = quickSettings(audio: .none)
        settings.sourceName = "door"
        settings.preview = try CaptureInput.parse(preview, for: .preview)
        return settings
    }

    /// A source, its preview, and their sinks.
    private final class Pair: Sendable {
        let shared = SharedPictures()
        let main: CaptureSession
        let preview: CaptureSession
        let mainSink = CountingSink()
        let previewSink = CountingSink()

        init(_ settings: CaptureSettings) throws {
            let own = try #require(settings.ownPreview)
            main = CaptureSession(settings: settings, sink: mainSink, shared: shared)
            preview = CaptureSession(settings: own, sink: previewSink, shared: shared)
        }

        /// Starts both: the preview's start waits for the source's pictures.
        func start() throws {
            try main.start()
            try preview.start()
        }

        func stop() -> (main: CollectingSink.Result, preview: CollectingSink.Result) {
            main.stop()
            let main = mainSink.collected.wait()
            preview.stop()
            return (main, previewSink.collected.wait())
        }
    }

    /// The video formats, first to last.
    private func sizes(_ result: CollectingSink.Result) -> [PictureSize] {
        (result.formats + result.changes).compactMap {
            guard case .video(let format) = $0 else { return nil }
            return PictureSize(width: Int(format.width), height: Int(format.height))
        }
    }

    /// Capture times in the pictures of the test pattern.
    private func codes(_ result: CollectingSink.Result) throws -> [(time: Int64, code: Int64?)] {
        guard case .video(let format) = try #require(result.formats.first) else { return [] }
        let decoder = try PreviewDecoder(format, durationNanoseconds: 0)
        var codes: [(Int64, Int64?)] = []
        func add(_ frame: RawFrame) {
            let code = TimeCode(readingLumaOf: frame)
            codes.append(
                (frame.captureNanoseconds, code.map { Int64($0.captureNanoseconds) }))
        }
        for sample in result.video { try decoder.decode(sample) { add($0) } }
        try decoder.finish { add($0) }
        return codes
    }

    @Test func `both renditions show the same pictures, with the same capture times`() throws {
        let pair = try Pair(settings())
        try pair.start()
        pair.previewSink.waitForMore(of: .video, 30)
        let (main, preview) = pair.stop()
        #expect(sizes(main) == [PictureSize(width: 1280, height: 720)])
        #expect(sizes(preview) == [PictureSize(width: 640, height: 360)])
        #expect(main.losses.isEmpty)
        let times = Set(main.video.map(\.ptsNanoseconds))
        #expect(preview.video.allSatisfy { times.contains($0.ptsNanoseconds) })
        // Every second picture of the source, unless this machine is too slow, which is said.
        for (picture, next) in zip(preview.video, preview.video.dropFirst()) {
            let end = picture.ptsNanoseconds + picture.durationNanoseconds
            if abs(next.ptsNanoseconds - end) < 1_000 { continue }
            #expect(
                preview.losses.contains {
                    abs($0.startNanoseconds - end) < 1_000 && $0.cause == .encoderOverload
                })
        }
        let codes = try codes(preview)
        #expect(codes.count == preview.video.count)
        #expect(codes.allSatisfy { $0.code == $0.time })
        let bytes = preview.video.reduce(0) { $0 + $1.data.count }
        #expect(bytes < main.video.reduce(0) { $0 + $1.data.count })
        #expect(pair.preview.descriptions.count == 1)
        #expect(pair.preview.descriptions[0].contains("640×360 at 15 fps, libx264"))
        #expect(pair.preview.descriptions[0].hasSuffix("from the pictures of door"))
    }

    @Test func `a preview ends with its source`() throws {
        var settings = try settings("small:320x320")
        settings.duration = .seconds(1)
        let pair = try Pair(settings)
        try pair.start()
        guard pair.previewSink.collected.waitBriefly() else {
            pair.preview.stop()
            Issue.record("it does not end")
            return
        }
        let preview = pair.previewSink.collected.wait()
        let main = pair.mainSink.collected.wait()
        #expect(preview.ends == [.finished("duration reached")])
        #expect(main.ends == preview.ends)
        #expect(sizes(preview) == [PictureSize(width: 320, height: 180)])
    }

    @Test func `a blocked preview costs its source no picture`() throws {
        var settings = try settings()
        settings.duration = .seconds(10)
        settings.size = PictureSize(width: 320, height: 180)
        let shared = SharedPictures()
        let stuck = shared.subscribe()
        let sink = CollectingSink()
        let main = CaptureSession(
            settings: settings, clock: JumpingClock(), sink: sink, shared: shared)
        try main.start()
        let result = sink.wait()
        #expect(result.video.count == 300 && result.losses.isEmpty)
        // It finds the last pictures, and a gap of all others.
        guard case .dropped(let loss) = stuck.take(milliseconds: 0) else {
            Issue.record("pictures must be dropped")
            return
        }
        #expect(loss.samples == 150 - PictureBacklog.mostPictures)
        #expect(loss.startNanoseconds == JumpingClock.start)
    }

    @Test func `an encoder that fails ends the preview alone, in one line`() throws {
        let settings = try settings()
        let pair = try Pair(settings)
        var own = try #require(settings.ownPreview)
        own.encoder = .named("libnothing")
        let broken = CaptureSession(settings: own, sink: CollectingSink(), shared: pair.shared)
        try pair.main.start()
        let error = #expect(throws: CaptureError.self) { try broken.start() }
        #expect(error?.description.contains("libnothing") == true)
        #expect(error?.description.contains("\n") == false)
        pair.mainSink.waitForMore(of: .video, 10)
        try pair.preview.start()
        let (main, _) = pair.stop()
        #expect(main.losses.isEmpty)
        #expect(main.ends == [.finished("stopped")])
    }

    @Test func `a preview without pictures can be stopped`() throws {
        let own = try #require(try settings().ownPreview)
        let session = CaptureSession(
            settings: own, sink: CollectingSink(), shared: SharedPictures())
        session.stop()
        let error = #expect(throws: CaptureError.self) { try session.start() }
        #expect(error == .stopped)
    }

    @Test func `another shape, and a rotation, of the source are those of the preview`() throws {
        var settings = try settings()
        settings.size = PictureSize(width: 640, height: 480)
        let pair = try Pair(settings)
        try pair.start()
        pair.previewSink.waitForMore(of: .video, 3)
        var change = CaptureChange()
        // The same preview comes of it.
        change.size = .this(PictureSize(width: 1280, height: 960))
        try pair.main.apply(change)
        pair.previewSink.waitForMore(of: .video, 3)
        change.size = .this(PictureSize(width: 480, height: 854))
        try pair.main.apply(change)
        pair.previewSink.waitForMore(of: .video, 3)
        change = CaptureChange()
        change.rotation = .quarter
        try pair.main.apply(change)
        pair.previewSink.waitForMore(of: .video, 4)
        // Its own bitrate changes alone.
        change = CaptureChange()
        change.videoBitrate = 200_000
        try pair.preview.apply(change)
        #expect(pair.preview.descriptions[0].contains("200 kbit/s"))
        pair.previewSink.waitForMore(of: .video, 4)
        change.size = .this(PictureSize(width: 320, height: 180))
        let refusal = #expect(throws: ChangeError.self) { try pair.preview.apply(change) }
        #expect("\(refusal, default: "")".contains("follow its source: change the source"))
        change = CaptureChange()
        change.isCapturing = false
        try pair.main.apply(change)
        Thread.sleep(forTimeInterval: 0.3)
        change.isCapturing = true
        try pair.main.apply(change)
        pair.previewSink.waitForMore(of: .video, 4)
        let (_, preview) = pair.stop()
        #expect(
            sizes(preview) == [
                PictureSize(width: 640, height: 480), PictureSize(width: 360, height: 640),
                PictureSize(width: 360, height: 640),
            ])
        guard case .video(let last) = try #require(preview.changes.last) else { return }
        #expect(last.orientation.rotation == .quarter)
        // A gap of the source is one of the preview.
        let gap = try #require(preview.losses.last { $0.durationNanoseconds > 0 })
        #expect(gap.cause == .command && gap.durationNanoseconds > 100_000_000)
        #expect(gap.samples >= 2)
        for (sample, next) in zip(preview.video, preview.video.dropFirst()) {
            #expect(next.ptsNanoseconds > sample.ptsNanoseconds)
        }
        #expect(preview.ends == [.finished("stopped")])
    }

    @Test func `a source that is started again leaves a gap in its preview`() throws {
        let settings = try settings()
        let pair = try Pair(settings)
        try pair.start()
        pair.previewSink.waitForMore(of: .video, 3)
        pair.main.stop()
        _ = pair.mainSink.collected.wait()
        Thread.sleep(forTimeInterval: 0.3)
        let again = CaptureSession(
            settings: settings, sink: CollectingSink(), shared: pair.shared)
        try again.start()
        pair.previewSink.waitForMore(of: .video, 3)
        again.stop()
        pair.preview.stop()
        let preview = pair.previewSink.collected.wait()
        #expect(preview.formats.count == 1 && preview.changes.isEmpty)
        let gaps = preview.losses.filter { $0.cause == .deviceLost }
        #expect(gaps.count == 1)
        let gap = try #require(gaps.first)
        #expect(gap.text == "the source was stopped")
        let end = gap.startNanoseconds + gap.durationNanoseconds
        #expect(preview.video.contains { $0.ptsNanoseconds == end })
    }

    @Test func `a camera's gaps are those of its preview, and its memory is returned`() throws {
        let clock = JumpingClock()
        let shared = SharedPictures()
        let subscription = shared.subscribe()
        let camera = ScriptedCamera(
            [.pictures(2), .drop(3), .pictures(2), .fail("unplugged")], clock: clock)
        let sink = CollectingSink()
        let hub = CaptureHub(sink: sink, clock: clock, shared: shared)
        var settings = quickSettings(video: .device("scripted"), audio: .none)
        settings.duration = .seconds(2)
        let inputs = Mutex<[any CameraInput]>([camera])
        let pipeline = try CameraPipeline("scripted", settings: settings, clock: clock) {
            () throws(DeviceError) in
            let next = inputs.withLock { $0.popLast() }
            guard let next else { throw .noCamera("scripted", available: []) }
            return next
        }
        _ = hub.adopt(pipeline.formats)
        hub.pipelineBegan(1)
        let end = pipeline.run(
            startNanoseconds: clock.nowNanoseconds, output: CaptureOutput(hub))
        hub.pipelineEnded(1, end, isRetired: false)
        #expect(camera.outstanding.withLock { $0 } == 0)
        var causes: [CaptureLossCause] = []
        while let item = subscription.take(milliseconds: 0) {
            switch item {
            case .lost(let loss), .dropped(let loss): causes.append(loss.cause)
            case .picture: Issue.record("a picture's memory is kept")
            case .sample, .interrupted, .ended: break
            }
        }
        #expect(causes.contains(.driverDrop) && causes.contains(.deviceLost))
    }
}

/// Previews of pictures that are not encoded here.
@Suite(.serialized, .enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct CopiedPreviewTests {
    @Test func `a copied file's pictures are decoded for its preview`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "bframes.mp4",
            "-f lavfi -i testsrc=size=800x450:rate=25:duration=3 -c:v libx264 -bf 2 -g 25 -pix_fmt yuv420p"
        )
        var settings = quickSettings(video: .file(path: path), audio: .none)
        settings.sourceName = "door"
        settings.encoder = .copy
        settings.loop = true
        settings.preview = try CaptureInput.parse("small", for: .preview)
        try settings.check()
        let shared = SharedPictures()
        let (mainSink, sink) = (CountingSink(), CountingSink())
        let main = CaptureSession(settings: settings, sink: mainSink, shared: shared)
        let preview = CaptureSession(
            settings: try #require(settings.ownPreview), sink: sink, shared: shared)
        try main.start()
        try preview.start()
        sink.waitForMore(of: .video, 20)
        main.stop()
        let whole = mainSink.collected.wait()
        preview.stop()
        let small = sink.collected.wait()
        guard case .video(let format) = try #require(small.formats.first) else { return }
        #expect(format.width == 640 && format.height == 360)
        let times = Set(whole.video.map(\.ptsNanoseconds))
        #expect(small.video.allSatisfy { times.contains($0.ptsNanoseconds) })
        #expect(small.video.allSatisfy { $0.durationNanoseconds == 80_000_000 })
        #expect(whole.losses.isEmpty)
    }
}
