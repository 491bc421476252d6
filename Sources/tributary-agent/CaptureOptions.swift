import AgentCore
import ArgumentParser
import Control
import Media
import Terminal

/// What is captured.
struct CaptureOptions: ParsableArguments {
    @Option(
        help: """
            Where pictures come from: a camera (first for the first there is, /dev/video0, or a name that stays, as \
            tributary-agent devices lists them), test, file:PATH or none.
            """)
    var video: String

    @Option(
        help: """
            Where sound comes from: a sound device of ALSA (default, hw:CARD=NAME,DEV=0, or first for the first there \
            is), test, file:PATH or none. (default: from where the pictures come, if there is sound)
            """)
    var audio: String?

    @Option(
        help: """
            A named picture size: low 640x480, medium 960x540, high 1280x720, 1080p. A camera that does not have it falls \
            back to the next smaller one.
            """)
    var preset: SizePreset?

    @Option(
        help: "The pictures' size, such as 1280x720. (default: 1280x720, or the file's own)")
    var size: PictureSize?

    @Option(help: "Pictures per second. (default: 30, or the file's own)")
    var fps: FrameRate?

    @Option(
        help: """
            How a camera is to deliver its pictures: yuyv, nv12, yu12, mjpeg, h264, or V4L2's four characters. (default: \
            as is least work)
            """)
    var videoFormat: String?

    @Option(help: "Only this part of the pictures, WIDTHxHEIGHT+X+Y, all of them even.")
    var crop: PictureCrop?

    @Option(help: "How players turn the pictures: clockwise by 0, 90, 180 or 270 degrees.")
    var rotate = PictureOrientation.Rotation.none

    @Flag(help: "Players exchange left and right, before they turn.")
    var mirror = false

    @Option(
        help: "End so long after the start, whether or not the capture was stopped meanwhile.")
    var duration: TimeSpan?

    @Flag(help: "Start a file again when it ends.")
    var loop = false

    /// Writes what was asked for into the settings.
    func apply(to settings: inout CaptureSettings) throws {
        if preset != nil, size != nil {
            throw UsageError(
                "both --preset and --size say how large the pictures are: leave one out")
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
