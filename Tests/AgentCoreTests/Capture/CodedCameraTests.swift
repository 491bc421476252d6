import Devices
import Encoding
import Foundation
import Media
import TestMedia
import Testing

@testable import AgentCore

/// Cameras whose pictures come encoded.
@Suite struct CodedCameraTests {
    private func run(
        _ camera: ScriptedCamera, clock: JumpingClock, seconds: Int = 2
    ) throws -> (formats: [TrackFormat], result: CollectingSink.Result) {
        var settings = quickSettings(seconds: seconds)
        settings.encoder = camera.choice.code == .h264 ? .copy : .auto
        var isFirst = true
        let pipeline = try CameraPipeline("/dev/video7", settings: settings, clock: clock) {
            () throws(DeviceError) in
            defer { isFirst = false }
            guard isFirst else { throw .noCamera("/dev/video7", available: []) }
            return camera
        }
        let sink = CollectingSink()
        capture(pipeline, into: sink, clock: clock)
        return (pipeline.formats, sink.wait())
    }

    @Test func `a camera's own H264 is recorded bit for bit, from its first keyframe on`() throws {
        let (format, units) = try ScriptedCamera.accessUnits(40)
        let clock = JumpingClock()
        let camera = ScriptedCamera(
            [.pictures(60)], clock: clock, choice: .script(.h264)
        ) { units[Int($0 + 1) % units.count] }  // begins between two keyframes
        let (formats, result) = try run(camera, clock: clock, seconds: 3)
        #expect(formats == [.video(format)])
        let first = try #require(result.video.first)
        #expect(first.flags.contains(.keyframe))
        for (sample, next) in zip(result.video, result.video.dropFirst()) {
            #expect(next.ptsNanoseconds - sample.ptsNanoseconds == 100_000_000)
            #expect(next.dtsNanoseconds == next.ptsNanoseconds)
        }
        let stream = try AnnexB.stream(fromLengthPrefixed: first.data.span)
        let isWhole = units.contains(stream)
        #expect(isWhole)
        // Pictures before the keyframe are reported if the recording had begun.
        #expect(result.losses.allSatisfy { $0.text.contains("before the camera's first keyframe") })
        #expect(camera.keyframeRequests >= 1)
    }

    @Test func `parameter sets in a separate buffer belong to the next picture`() throws {
        let (format, units) = try ScriptedCamera.accessUnits(40)
        var buffers: [[UInt8]] = []
        for unit in units {
            let parts = try CameraAccessUnit(bytes: unit)
            guard parts.hasParameterSets else {
                buffers.append(unit)
                continue
            }
            buffers.append(parts.parameterSets)
            buffers.append(Array(unit.dropFirst(parts.parameterSets.count)))
        }
        let clock = JumpingClock()
        let camera = ScriptedCamera(
            [.pictures(60)], clock: clock, choice: .script(.h264)
        ) { buffers[Int($0 - 1) % buffers.count] }
        let (formats, result) = try run(camera, clock: clock, seconds: 3)
        #expect(formats == [.video(format)])
        let keyframe = try #require(result.video.last { $0.flags.contains(.keyframe) })
        let stream = try AnnexB.stream(fromLengthPrefixed: keyframe.data.span)
        let isWhole = units.contains(stream)
        #expect(isWhole)
    }

    @Test func `a damaged access unit is a loss, not the end`() throws {
        let (_, units) = try ScriptedCamera.accessUnits(40)
        let clock = JumpingClock()
        let camera = ScriptedCamera(
            [.pictures(60)], clock: clock, choice: .script(.h264)
        ) { $0 == 20 ? [1, 2, 3, 4, 5] : units[Int($0 - 1) % units.count] }
        let (_, result) = try run(camera, clock: clock, seconds: 3)
        #expect(result.losses.contains { $0.cause == .damagedInput && $0.samples == 1 })
        #expect(result.video.count >= 20)
    }

    @Test func `a camera without a keyframe is refused with advice`() throws {
        let clock = JumpingClock()
        let (_, units) = try ScriptedCamera.accessUnits(4)
        let camera = ScriptedCamera(
            [.pictures(500)], clock: clock, choice: .script(.h264)
        ) { _ in units[2] }
        #expect {
            _ = try run(camera, clock: clock)
        } throws: {
            "\($0)".contains("no keyframe within 10 s; use --encoder libx264")
        }
    }

    @Test(.enabled(if: MediaFiles.canBeMade, "needs the ffmpeg program"))
    func `a camera's JPEG pictures are decoded, and a broken one is a loss`() throws {
        let media = try MediaFiles()
        let path = try media.make(
            "picture.jpg",
            "-f lavfi -i testsrc2=s=160x90:r=10:d=1 -frames:v 1 -pix_fmt yuvj422p -c:v mjpeg")
        let jpeg = [UInt8](try Data(contentsOf: URL(filePath: path)))
        let clock = JumpingClock()
        let camera = ScriptedCamera(
            [.pictures(60)], clock: clock, choice: .script(.mjpeg)
        ) { $0 == 7 ? [0xFF, 0xD8, 0, 0] : jpeg }
        let (_, result) = try run(camera, clock: clock)
        #expect(result.ends == [.finished("duration reached")])
        #expect(result.losses.map(\.cause) == [.damagedInput])
        #expect(result.video.count == 18)
        // All pictures are the same: after the first there is next to nothing to say.
        let sizes = result.video.map(\.data.count)
        #expect(sizes[0] > 1000 && sizes[1] < sizes[0] / 4)
    }

    @Test func `every raw format can be converted`() throws {
        for code in RawLayout.codes {
            let layout = try #require(RawLayout(code))
            let rowBytes = 160 * 4
            let size = layout.sizeBytes(bytesPerRow: rowBytes, height: 90)
            let clock = JumpingClock()
            var choice = CameraChoice.script(code)
            choice.reason = "\(code)"
            let stage = try EncodedCameraPictures(
                try quickSettings().cameraPlan(
                    choice,
                    CameraPictureLayout(
                        coding: .raw(layout), size: choice.size, bytesPerRow: rowBytes,
                        colour: nil)),
                CameraPictureLayout(
                    coding: .raw(layout), size: choice.size, bytesPerRow: rowBytes, colour: nil),
                for: quickSettings())
            let sink = CollectingSink()
            let hub = CaptureHub(sink: sink, clock: clock)
            _ = hub.adopt([stage.format])
            hub.pipelineBegan(1)
            let output = CaptureOutput(hub)
            let memory = Bytes(size)
            let picture = CameraPicture(
                sequence: 0, stampNanoseconds: 0, isMonotonic: true, takenNanoseconds: 0,
                isDamaged: false, bytes: memory.bytes, spareBytes: 0, owner: memory)
            try stage.take(
                picture,
                PictureTime(captureNanoseconds: clock.nowNanoseconds, durationNanoseconds: 1_000),
                output)
            try stage.finish(output)
            hub.pipelineEnded(1, .stopped, isRetired: false)
            let result = sink.wait()
            #expect(result.video.count == 1 && result.losses.isEmpty, "\(code)")
        }
    }

    private final class Bytes: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
        init(_ count: Int) {
            bytes = .allocate(byteCount: count, alignment: 64)
            bytes.initializeMemory(as: UInt8.self, repeating: 0x50)
        }
        deinit { bytes.deallocate() }
    }
}

extension CameraAccessUnit {
    init(bytes: [UInt8]) throws(BitstreamError) {
        var result: Result<CameraAccessUnit, BitstreamError> = .success(CameraAccessUnit())
        bytes.withUnsafeBytes { raw in
            do throws(BitstreamError) {
                result = .success(try CameraAccessUnit(raw))
            } catch {
                result = .failure(error)
            }
        }
        self = try result.get()
    }
}
