import AgentCore
import ArgumentParser
import Control
import Media
import Terminal

/// What is captured.
struct CaptureOptions: ParsableArguments {
    @Option(
        help: """
            Video source: a camera (first for the first one found, /dev/video0, or a stable name as listed by \
            'tributary-agent devices'), test, file:PATH or none.
            """)
    var video: String

    @Option(
        help: """
            Audio source: an ALSA device (default, hw:CARD=NAME,DEV=0, or first for the first one found), test, file:PATH \
            or none. (default: the audio of the file or test pattern; none for a camera)
            """)
    var audio: String?

    @Option(
        help: """
            Named frame size: low 640x480, medium 960x540, high 1280x720, 1080p. If the camera does not support it, the \
            next smaller preset is used.
            """)
    var preset: SizePreset?

    @Option(
        help: "Frame size, such as 1280x720. (default: 1280x720, or the size of the file)")
    var size: PictureSize?

    @Option(help: "Frame rate in frames per second. (default: 30, or the rate of the file)")
    var fps: FrameRate?

    @Option(
        help: """
            Pixel format that the camera delivers: yuyv, nv12, yu12, mjpeg, h264, or a V4L2 FourCC. (default: the format \
            with the lowest CPU load)
            """)
    var videoFormat: String?

    @Option(help: "Crop rectangle, WIDTHxHEIGHT+X+Y; all numbers must be even.")
    var crop: PictureCrop?

    @Option(help: "Display rotation, clockwise: 0, 90, 180 or 270 degrees.")
    var rotate = PictureOrientation.Rotation.none

    @Flag(help: "Mirror the display horizontally, before rotation.")
    var mirror = false

    @Option(
        help: "Stop this long after the start. Time while the capture is paused counts.")
    var duration: TimeSpan?

    @Flag(help: "Loop an input file.")
    var loop = false

    /// Writes what was asked for into the settings.
    func apply(to settings: inout CaptureSettings) throws {
        if preset != nil, size != nil {
            throw UsageError(
                "--preset and --size cannot be combined: leave one out")
        }
        settings.video = try VideoChoice(argument: video)
        settings.audio =
            try audio.map(AudioChoice.init(argument:)) ?? followingVideo(settings.video)
        settings.size = preset?.size ?? size
        settings.preset = preset
        settings.videoFormat = videoFormat
        settings.frameRate = fps
        settings.crop = crop
        settings.orientation = PictureOrientation(rotation: rotate, isMirrored: mirror)
        settings.duration = duration?.duration
        settings.loop = loop
    }

    /// Sound from where the pictures come.
    private func followingVideo(_ video: VideoChoice) -> AudioChoice {
        switch video {
        case .none: .none
        case .test: .test
        case .file(let path): .fileIfPresent(path: path)
        // Whoever wants a microphone says which.
        case .device: .none
        }
    }
}

extension SizePreset: ExpressibleByArgument {}
