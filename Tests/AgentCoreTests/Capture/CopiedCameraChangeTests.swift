import Devices
import Encoding
import Glibc
import Media
import Synchronization
import Testing
import Wire

@testable import AgentCore

/// Requests for pictures that their camera encodes.
@Suite struct CopiedCameraChangeTests {
    /// Captures from a camera that encodes, does something with that, and ends it.
    private func run(
        _ body: (CaptureSession, ScriptedCamera, CountingSink) throws -> Void
    ) throws -> CollectingSink.Result {
        let (_, units) = try ScriptedCamera.accessUnits(40)
        let clock = JumpingClock()
        let camera = ScriptedCamera(
            [.pictures(1_000_000)], clock: clock, choice: .script(.h264)
        ) { number in
            // A few of them suffice.
            usleep(2_000)
            return units[Int(number - 1) % units.count]
        }
        let settings = quickSettings(video: .device("/dev/video7"), audio: .none)
        let pipeline = try CameraPipeline("/dev/video7", settings: settings, clock: clock) {
            () throws(DeviceError) in camera
        }
        let sink = CountingSink()
        let session = CaptureSession(settings: settings, clock: clock, sink: sink)
        session.state.withLock { $0.hasStarted = true }
        session.begin(
            [(PipelinePlan(.device("/dev/video7"), [.video], settings), pipeline)], notBefore: 0)
        sink.waitForMore(of: .video, 3)
        do {
            try body(session, camera, sink)
        } catch {
            session.stop()
            _ = sink.collected.wait()
            throw error
        }
        session.stop()
        return sink.collected.wait()
    }

    private func expectNothingLost(_ result: CollectingSink.Result) {
        // The recording begins between two keyframes.
        #expect(result.losses.allSatisfy { $0.text.contains("before the camera's first keyframe") })
    }

    private func refusal(_ body: () throws -> Void) -> String {
        let error = #expect(throws: ChangeError.self, performing: body)
        guard case .refused(let text) = error else { return "\(String(describing: error))" }
        return text
    }

    @Test func `a change of its bitrate is refused, with all other parts of the change`() throws {
        let result = try run { session, _, sink in
            var change = CaptureChange()
            change.videoBitrate = 200_000
            change.rotation = .quarter
            let reason = refusal { try session.apply(change) }
            #expect(
                reason
                    == "the camera encodes at a fixed bitrate: use --encoder libx264 to change it"
            )
            sink.waitForMore(of: .video, 8)
            let status = session.status()
            #expect(status.videoBitrate == 500_000)
            #expect(status.orientation == .upright)
        }
        #expect(result.changes.isEmpty)
        expectNothingLost(result)
    }

    @Test func `a cropped picture is never copied from the camera's H264`() throws {
        var settings = quickSettings(video: .device("/dev/video7"), audio: .none)
        settings.crop = PictureCrop("80x60+0+0")
        guard case .never = try settings.cameraRequest().ownH264 else {
            Issue.record("what the camera encodes cannot be cut")
            return
        }
        settings.videoFormat = "h264"
        #expect(throws: CaptureError.self) { _ = try settings.cameraRequest() }
        settings.videoFormat = nil
        settings.encoder = .copy
        #expect(throws: CaptureError.self) { _ = try settings.cameraRequest() }
    }

    @Test func `a snapshot is refused with advice`() throws {
        _ = try run { session, _, _ in
            let reason = refusal { _ = try session.snapshot(maximumBytes: 1 << 20) }
            #expect(reason.contains("no snapshot is possible: use --encoder libx264"))
        }
    }

    @Test func `a keyframe is asked of the camera`() throws {
        _ = try run { session, camera, sink in
            let before = camera.keyframeRequests
            try session.requestKeyframe()
            sink.waitForMore(of: .video, 3)
            #expect(camera.keyframeRequests == before + 1)
        }
    }

    @Test func `a camera that cannot be reopened after a change fails the capture`() throws {
        let result = try run { session, _, _ in
            // There is no such camera: neither the new pipeline nor the old one can have it.
            var change = CaptureChange()
            change.size = .this(PictureSize(width: 640, height: 360))
            let error = #expect(throws: ChangeError.self) { try session.apply(change) }
            guard case .notRestored(let text) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(text.contains("cannot be opened again") && !text.contains("\n"))
        }
        guard case .failed(let line)? = result.ends.first, result.ends.count == 1 else {
            Issue.record("\(result.ends)")
            return
        }
        #expect(line.contains("cannot be opened again"))
    }

    @Test func `its orientation changes without reopening it, at a keyframe`() throws {
        let result = try run { session, _, sink in
            var change = CaptureChange()
            change.rotation = .quarter
            try session.apply(change)
            sink.waitForMore(of: .video, 8)
            #expect(session.status().orientation.rotation == .quarter)
        }
        #expect(
            result.changes.map { format -> PictureOrientation.Rotation? in
                if case .video(let format) = format { format.orientation.rotation } else { nil }
            } == [.quarter])
        expectNothingLost(result)
    }
}
