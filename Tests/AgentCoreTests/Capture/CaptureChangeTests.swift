import Devices
import Encoding
import Foundation
import Media
import Synchronization
import TestMedia
import Testing
import Wire

@testable import AgentCore

/// A capture that is changed while it runs, on the real clock: short, and nothing depends on how long it takes.
@Suite(.serialized) struct CaptureChangeTests {
    private func settings() -> CaptureSettings {
        var settings = quickSettings()
        settings.size = PictureSize(width: 320, height: 180)
        // A busy machine may delay the encoder.
        settings.late = .keep
        return settings
    }

    /// Runs a capture, does something with it, and ends it.
    private func run(
        _ settings: CaptureSettings,
        _ body: (CaptureSession, CountingSink) throws -> Void
    ) throws -> CollectingSink.Result {
        let sink = CountingSink()
        let session = CaptureSession(settings: settings, sink: sink)
        try session.start()
        sink.waitForMore(of: .video, 3)
        do {
            try body(session, sink)
        } catch {
            session.stop()
            _ = sink.collected.wait()
            throw error
        }
        session.stop()
        let result = sink.collected.wait()
        #expect(!result.isOutOfOrder)
        #expect(result.ends == [.finished("stopped")])
        expectGrowing(result)
        return result
    }

    @Test(arguments: [(EncoderChoice.copy, 0), (.auto, 4_000_000)] as [(EncoderChoice, UInt64)])
    func `the status of copied video has no bitrate`(encoder: EncoderChoice, bitrate: UInt64) {
        var settings = settings()
        settings.encoder = encoder
        settings.videoBitrate = 4_000_000
        let session = CaptureSession(settings: settings, sink: CollectingSink())
        #expect(session.status().videoBitrate == bitrate)
    }

    private func expectGrowing(_ result: CollectingSink.Result) {
        for samples in [result.video, result.audio] {
            for (sample, next) in zip(samples, samples.dropFirst()) {
                #expect(next.dtsNanoseconds > sample.dtsNanoseconds)
                #expect(next.ptsNanoseconds >= sample.ptsNanoseconds)
            }
        }
        for (sample, next) in zip(result.audio, result.audio.dropFirst()) {
            #expect(
                next.ptsNanoseconds >= sample.ptsNanoseconds + sample.durationNanoseconds - 1)
        }
    }

    private func change(_ edit: (inout CaptureChange) -> Void) -> CaptureChange {
        var change = CaptureChange()
        edit(&change)
        return change
    }

    @Test func `another size is a new format, whose first picture is a keyframe`() throws {
        let result = try run(settings()) { session, sink in
            for size in [(640, 360), (320, 180), (480, 270)] {
                try session.apply(
                    change { $0.size = .this(PictureSize(width: size.0, height: size.1)) })
                sink.waitForMore(of: .video, 3)
            }
        }
        let widths = result.changes.map { format -> UInt32 in
            if case .video(let format) = format { format.width } else { 0 }
        }
        #expect(widths == [640, 320, 480])
        let keyframes = result.video.count { $0.flags.contains(.keyframe) }
        #expect(keyframes >= 4)
        #expect(result.losses.map(\.cause) == [.command, .command, .command])
        #expect(result.losses.allSatisfy { $0.track == .video && $0.durationNanoseconds >= 0 })
        // Sound was not touched.
        let audio = result.audio
        for (sample, next) in zip(audio, audio.dropFirst()) {
            let end = sample.ptsNanoseconds + sample.durationNanoseconds
            #expect(abs(next.ptsNanoseconds - end) <= 1)
        }
    }

    @Test func `new audio begins its file with a keyframe`() throws {
        var before = settings()
        before.audio = .none
        before.keyframeInterval = .seconds(600)
        let result = try run(before) { session, sink in
            try session.apply(change { $0.audio = "test" })
            sink.waitForMore(of: .audio, 3)
            sink.waitForMore(of: .video, 3)
        }
        #expect(result.changes.count == 1)
        #expect(result.video.count { $0.flags.contains(.keyframe) } == 2)
    }

    @Test func `bitrate, keyframe and orientation change within the pipeline`() throws {
        let result = try run(settings()) { session, sink in
            try session.apply(change { $0.videoBitrate = 200_000 })
            #expect(session.status().videoBitrate == 200_000)
            try session.requestKeyframe()
            sink.waitForMore(of: .video, 3)
            try session.apply(
                change {
                    $0.rotation = .quarter
                    $0.isMirrored = true
                })
            sink.waitForMore(of: .video, 5)
        }
        #expect(result.losses.isEmpty)
        #expect(
            result.changes.map { format -> PictureOrientation? in
                if case .video(let format) = format { format.orientation } else { nil }
            } == [PictureOrientation(rotation: .quarter, isMirrored: true)])
        let keyframes = result.video.count { $0.flags.contains(.keyframe) }
        #expect(keyframes >= 3)
    }

    @Test func `a change with one invalid part changes nothing`() throws {
        let before = settings()
        let result = try run(before) { session, sink in
            let status = session.status()
            for bad in [
                change {
                    $0.videoBitrate = 200_000
                    $0.size = .this(PictureSize(width: 640, height: 360))
                    $0.audio = "file:/nowhere/at/all.mp4"
                },
                change {
                    $0.video = "file:/nowhere/at/all.mp4"
                    $0.rotation = .half
                },
                change {
                    $0.controls = [.init(name: "brightness", value: 3)]
                    $0.videoBitrate = 200_000
                },
                change {
                    $0.crop = PictureCrop("640x360+0+0").map { .this($0) }
                    $0.videoBitrate = 200_000
                },
                change { $0.size = .this(PictureSize(width: 321, height: 180)) },
                change {
                    $0.video = "none"
                    $0.audio = "none"
                },
            ] {
                let error = #expect(throws: ChangeError.self) { try session.apply(bad) }
                guard case .refused(let text) = error else {
                    Issue.record("not refused: \(String(describing: error))")
                    continue
                }
                #expect(!text.isEmpty && !text.contains("\n"))
                sink.waitForMore(of: .video, 2)
                let after = session.status()
                #expect(after.video == status.video && after.audio == status.audio)
                #expect(after.size == status.size && after.videoBitrate == status.videoBitrate)
                #expect(after.orientation == status.orientation && after.crop == status.crop)
            }
        }
        #expect(result.changes.isEmpty)
        #expect(result.losses.isEmpty)
    }

    @Test func `a stopped capture continues in the same tracks when it is started`() throws {
        let result = try run(settings()) { session, sink in
            try session.apply(change { $0.isCapturing = false })
            #expect(!session.status().isCapturing)
            #expect(session.status().size == nil)
            #expect(throws: ChangeError.self) { try session.requestKeyframe() }
            #expect(throws: ChangeError.self) { _ = try session.snapshot(maximumBytes: 1 << 20) }
            // Changes in the meantime apply from the start.
            try session.apply(change { $0.rotation = .half })
            try session.apply(change { $0.isCapturing = true })
            #expect(session.status().isCapturing)
            sink.waitForMore(of: .video, 3)
        }
        #expect(result.changes.count == 1)
        // One gap of each track, as long as the pause.
        #expect(result.losses.count == 2)
        #expect(Set(result.losses.map(\.track)) == [.video, .audio])
        #expect(result.losses.allSatisfy { $0.cause == .command && $0.durationNanoseconds > 0 })
        #expect(result.losses.allSatisfy { $0.text == "stopped by a command" })
    }

    @Test func `a stopped capture can be ended, and its last gap has the reason`() throws {
        let result = try run(settings()) { session, _ in
            try session.apply(change { $0.isCapturing = false })
        }
        #expect(Set(result.losses.map(\.track)) == [.video, .audio])
        #expect(result.losses.count == 2)
        #expect(result.losses.allSatisfy { $0.text == "stopped by a command" })
    }

    @Test func `a capture that has ended is not reported as capturing, and cannot be changed`()
        throws
    {
        let sink = CollectingSink()
        var settings = settings()
        settings.duration = .milliseconds(200)
        let session = CaptureSession(settings: settings, sink: sink)
        try session.start()
        _ = sink.wait()
        let status = session.status()
        #expect(!status.isCapturing && !session.isPaused)
        #expect(status.trouble.hasPrefix("the capture has ended"))
        #expect(throws: ChangeError.refused("the capture is stopping")) {
            try session.apply(change { $0.videoBitrate = 1_000_000 })
        }
    }

    @Test func `a bitrate beyond the limits of the options is refused`() throws {
        for bitrate: UInt64 in [1, 999, 1_000_000_001, .max] {
            #expect(throws: CaptureError.self, "\(bitrate)") {
                try settings().changed(by: change { $0.videoBitrate = bitrate })
            }
        }
        for bitrate: UInt64 in [1_000, 1_000_000_000] {
            let changed = try settings().changed(by: change { $0.videoBitrate = bitrate })
            #expect(changed.videoBitrate == Int(bitrate))
        }
    }

    @Test func `a configuration is compared with the settings in force`() throws {
        var new = settings()
        new.isAudioOptional = true
        let old = try new.changed(
            by: change {
                $0.videoBitrate = 1_000_000
                $0.rotation = .half
                $0.audio = "none"
            })
        #expect(new.change(to: new).isEmpty)
        #expect(
            old.change(to: new)
                == change {
                    $0.videoBitrate = UInt64(new.videoBitrate)
                    $0.rotation = PictureOrientation.Rotation.none
                    $0.audio = "test"
                })
        #expect(old.change(to: new).changedOptions == ["video-bitrate", "rotate", "audio"])
        #expect(old.isChangeable(to: new))
        // Default sound follows the pictures by itself.
        var other = new
        other.video = try CaptureInput.parse("file:a.mp4", for: .video)
        other.audio = other.video
        other.size = nil
        #expect(
            new.change(to: other)
                == change {
                    $0.video = "file:a.mp4"
                    $0.size = .own
                })
        new.keyframeInterval = .seconds(9)
        #expect(!old.isChangeable(to: new))
        // These follow the source.
        var preview = settings()
        preview.video = try CaptureInput.parse("small", for: .preview)
        var turned = preview
        turned.orientation.rotation = .half
        #expect(preview.change(to: turned).isEmpty && preview.isChangeable(to: turned))
    }

    @Test func `an unknown encoder is refused without opening it`() throws {
        for name in ["bogus", "mjpeg", "aac"] {
            var settings = settings()
            settings.encoder = EncoderChoice(argument: name)
            #expect(throws: CaptureError.self, "\(name)") { try settings.check() }
        }
        for name in ["auto", "libx264", "hevc", "h264"] {
            var settings = settings()
            settings.encoder = EncoderChoice(argument: name)
            try settings.check()
        }
    }

    @Test func `a snapshot is the next picture`() throws {
        _ = try run(settings()) { session, sink in
            let (description, jpeg) = try session.snapshot(maximumBytes: 1 << 20)
            #expect(description.width == 320 && description.height == 180)
            #expect(description.sizeBytes == jpeg.count)
            #expect(jpeg.prefix(2) == [0xFF, 0xD8])
            try session.apply(change { $0.rotation = .quarter })
            sink.waitForMore(of: .video, 3)
            let turned = try session.snapshot(maximumBytes: 1 << 20).description
            #expect(turned.width == 180 && turned.height == 320)
        }
    }

    /// A capture of that length that has begun.
    private func begin(
        lasting duration: Duration
    ) throws -> (session: CaptureSession, sink: CountingSink) {
        var settings = settings()
        settings.duration = duration
        let sink = CountingSink()
        let session = CaptureSession(settings: settings, sink: sink)
        try session.start()
        sink.waitForMore(of: .video, 3)
        return (session, sink)
    }

    @Test func `a capture's duration does not depend on changes`() throws {
        let (session, sink) = try begin(lasting: .seconds(2))
        try session.apply(
            change { $0.size = .this(PictureSize(width: 640, height: 360)) })
        let result = sink.collected.wait()
        #expect(result.ends == [.finished("duration reached")])
        let first = try #require(result.video.first)
        let last = try #require(result.video.last)
        let length =
            last.ptsNanoseconds + last.durationNanoseconds - first.ptsNanoseconds
        // Pictures that a busy machine does not capture are losses, also at the end.
        let lost = result.losses.reduce(Int64(0)) { $0 + Int64($1.durationNanoseconds) }
        #expect(abs(length - 2_000_000_000) < 40_000_000 + lost)
    }

    @Test func `a capture that is stopped past the end of its time ends, and is not started again`()
        throws
    {
        let (session, sink) = try begin(lasting: .seconds(1))
        try session.apply(change { $0.isCapturing = false })
        guard sink.collected.waitBriefly() else {
            session.stop()
            Issue.record("it does not end")
            return
        }
        let result = sink.collected.wait()
        #expect(result.ends == [.finished("duration reached")])
        #expect(throws: ChangeError.self) {
            try session.apply(change { $0.isCapturing = true })
        }
    }
}

/// Collects a capture's output, and lets a test wait for more.
final class CountingSink: CaptureSink {
    let collected = CollectingSink()
    private let counts = Mutex<[TrackKind: Int]>([:])

    private func count(of kind: TrackKind) -> Int { counts.withLock { $0[kind] ?? 0 } }

    func waitForMore(of kind: TrackKind, _ more: Int) {
        let target = count(of: kind) + more
        // A capture that gives nothing must not hang the tests.
        for _ in 0..<6_000 where count(of: kind) < target { Thread.sleep(forTimeInterval: 0.005) }
        #expect(count(of: kind) >= target, "the capture gives nothing any more")
    }

    func formats(_ formats: [TrackFormat]) { collected.formats(formats) }
    func formatChanged(_ format: TrackFormat) { collected.formatChanged(format) }

    func sample(_ sample: EncodedSample) {
        collected.sample(sample)
        counts.withLock { $0[sample.track, default: 0] += 1 }
    }

    func lost(_ loss: CaptureLoss) { collected.lost(loss) }
    func noted(_ line: String) { collected.noted(line) }
    func heard(_ report: AudioReport) { collected.heard(report) }
    func ended(_ end: CaptureEnd) { collected.ended(end) }
}
