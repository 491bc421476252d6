import Devices
import Encoding
import Media
import Testing

@testable import AgentCore

/// Settings of a recording with `--preview`.
@Suite struct PreviewSettingsTests {
    private func settings(video: String = "test", preview: String) throws -> CaptureSettings {
        var settings = CaptureSettings(sourceName: "door")
        settings.video = try CaptureInput.parse(video, for: .video)
        settings.audio = .none
        settings.preview = try CaptureInput.parse(preview, for: .preview)
        return settings
    }

    @Test func `a preview is a separate source, small and without audio`() throws {
        var settings = try settings(preview: "test")
        #expect(try #require(settings.ownPreview).sourceName == "door.preview")
        settings.audio = .test
        settings.size = PictureSize(width: 3_840, height: 2_160)
        settings.crop = PictureCrop(x: 0, y: 0, size: PictureSize(width: 640, height: 360))
        settings.encoder = .named("hevc")
        settings.videoBitrate = 12_000_000
        settings.duration = .seconds(5)
        settings.frameRate = FrameRate(15)
        let preview = try #require(settings.ownPreview)
        #expect(preview.video == .test)
        #expect(preview.audio == nil)
        #expect(preview.size == CaptureSettings.previewSize)
        #expect(preview.videoBitrate == CaptureSettings.previewBitrate)
        #expect(preview.crop == nil)
        // H.264, also of a source with H.265: every browser decodes it.
        #expect(preview.encoder == .auto)
        #expect(preview.duration == .seconds(5))
        #expect(preview.frameRate == FrameRate(15))
        #expect(preview.preview == nil)
        try settings.check()
    }

    @Test func `a camera's second stream has the log-in of the first`() throws {
        var settings = try settings(
            video: "rtsps://camera/main", preview: "rtsp://camera/sub")
        settings.cameraDelay = .milliseconds(120)
        settings.cameraTrust = CameraTrust(authorities: "/etc/ca.pem")
        let preview = try #require(settings.ownPreview)
        #expect(try preview.video == CaptureInput.parse("rtsp://camera/sub", for: .video))
        #expect(preview.cameraDelay == .milliseconds(120))
        // There is no certificate to check.
        #expect(preview.cameraTrust == CameraTrust())
        #expect(preview.size == nil)
        try settings.check()
    }

    @Test func `a file is copied where the source is`() throws {
        var settings = try settings(video: "file:/main.mp4", preview: "file:/small.mp4")
        #expect(try #require(settings.ownPreview).encoder == .auto)
        settings.encoder = .copy
        let preview = try #require(settings.ownPreview)
        #expect(preview.encoder == .copy)
        #expect(preview.size == nil)
    }

    @Test(arguments: [
        ("test", "none", "--preview none"),
        ("/dev/video0", "/dev/video0", "cannot be opened twice"),
        ("test", "http://camera/sub", "--preview: of URLs, only rtsp"),
    ])
    func `a preview that cannot be recorded is refused`(
        _ video: String, _ preview: String, _ flaw: String
    ) {
        #expect {
            try settings(video: video, preview: preview).check()
        } throws: {
            "\($0)".contains(flaw)
        }
    }
}
