package import Devices
package import Encoding
package import Media
package import RTSP

/// Selection of the encoder.
package enum EncoderChoice: Hashable, Sendable {
    /// The first of ``CaptureSettings/encoderCandidates`` that opens; AAC is libavcodec's.
    case auto
    /// No encoder: media in codecs of recordings is not transcoded.
    case copy
    /// libavcodec's encoder of this name, or the first that opens of a codec of this name (`hevc`).
    case named(String)

    /// Reads `auto`, `copy` or the name of an encoder.
    package init(argument: String) {
        switch argument {
        case "auto": self = .auto
        case "copy": self = .copy
        default: self = .named(argument)
        }
    }
}

/// Named picture sizes, smallest first. `low`, `medium` and `high` are also session presets of AVFoundation, whose sizes
/// depend on the device.
package enum SizePreset: String, CaseIterable, Hashable, Sendable {
    case low, medium, high
    case fullHD = "1080p"

    package var size: PictureSize {
        switch self {
        case .low: PictureSize(width: 640, height: 480)
        case .medium: PictureSize(width: 960, height: 540)
        case .high: PictureSize(width: 1280, height: 720)
        case .fullHD: PictureSize(width: 1920, height: 1080)
        }
    }
}

/// Capture and encoder settings of one source.
package struct CaptureSettings: Hashable, Sendable {
    /// Where pictures come from; nil: none are recorded.
    package var video: CaptureInput? = .test
    /// Where the pictures of the preview come from; nil: none is recorded.
    package var preview: CaptureInput?
    /// Where sound comes from; nil: none is recorded.
    package var audio: CaptureInput? = .test
    /// Sound is recorded if the input has any (that can be recorded).
    package var isAudioOptional = false
    /// Written into the test pattern.
    package var sourceName: String

    /// Nil: 1280×720 for the test pattern and for cameras, a file's own size for a file.
    package var size: PictureSize?
    /// The name of ``size``, if it has one: a camera that does not have it falls back to the next smaller one.
    package var preset: SizePreset?
    /// Format of a camera's pictures; nil: the one with the least work.
    package var videoFormat: String?
    /// Nil: 30 for the test pattern and for cameras, a file's own rate for a file. A lower rate than a file's or a camera's drops
    /// pictures; a higher one never repeats any.
    package var frameRate: FrameRate?

    /// Crop rectangle; nil for whole pictures.
    package var crop: PictureCrop?
    /// Orientation for players.
    package var orientation = PictureOrientation.upright

    /// Selection of the video encoder.
    package var encoder = EncoderChoice.auto
    /// Candidates for `auto`, by libavcodec's names.
    package var encoderCandidates = EncoderSearch.candidates
    /// Behaviour if the encoder is too slow.
    package var late = LatePolicy.drop
    /// Bits per second on average.
    package var videoBitrate = 4_000_000
    /// Maximum bitrate (VBV), bits per second; nil: 1.5 × the average.
    package var videoBitrateCap: Int?
    /// VBV buffer size, as time at the maximum bitrate.
    package var videoBuffer = Duration.seconds(1)
    /// Maximum time between two keyframes.
    package var keyframeInterval = Duration.seconds(2)
    /// Consecutive B-frames.
    package var bFrames = 0
    package var profile = VideoProfile.high
    /// The preset of libx264 and libx265: encoding effort for quality.
    package var encoderPreset = "veryfast"
    /// Nil: zero latency without B-frames, none with them.
    package var tune: VideoTune?
    /// 0: the encoder's choice for this machine.
    package var encoderThreads = 0

    /// Bits per second.
    package var audioBitrate = 96_000
    /// Hz. Nil: 48000 for the test sound, a device's or a file's own for those.
    package var sampleRate: Int?
    /// Nil: 2 for the test sound, a device's (2 at most) or a file's own for those.
    package var channels: Int?

    /// The capture ends after this much captured time; nil: no limit.
    package var duration: Duration?
    /// A file starts again when it ends.
    package var loop = false

    /// Credentials for network cameras; nil: none.
    package var cameraLogin: CameraLogin?
    /// Transport of their packets.
    package var cameraTransport = CameraSession.Transport.tcp
    /// Known delay from capture to arrival of a network camera, subtracted from the times.
    package var cameraDelay = Duration.zero
    /// Certificate check of a network camera with TLS.
    package var cameraTrust = CameraTrust()

    package init(sourceName: String) {
        self.sourceName = sourceName
    }
}

extension CaptureSettings {
    /// Checks for contradictions, before anything is opened.
    func validate() throws(CaptureError) {
        if video == nil, audio == nil {
            throw .settings(
                "nothing to capture: --video and --audio are both none; set one of them")
        }
        try preview?.kind.validate(self, .preview)
        if let duration, duration <= .zero {
            throw .settings("--duration must be more than 0")
        }
        if videoFormat != nil, video?.isCamera != true {
            throw .settings("--video-format is for cameras; leave it out")
        }
        if cameraDelay != .zero, video?.isNetworkCamera != true, audio?.isNetworkCamera != true {
            throw .settings("--delay is for network cameras (--video rtsp://…): leave it out")
        }
        if cameraDelay > Self.longestCameraDelay {
            throw .settings("--delay is too long: use at most 10s")
        }
        try video?.kind.validate(self, .video)
        try audio?.kind.validate(self, .audio)
        if encoder == .copy, video?.isCamera != true, changesPictures {
            throw .settings(
                "--encoder copy cannot be combined with --size, --fps or --crop: leave them out")
        }
    }

    /// Whether settings require pictures other than those of the input.
    var changesPictures: Bool { size != nil || frameRate != nil || crop != nil }

    /// Checks a configuration that is not in use, as far as possible without opening anything.
    package func check() throws(CaptureError) {
        try validate()
        do throws(CaptureError) {
            try ownPreview?.check()
        } catch {
            guard case .settings(let text) = error else { throw error }
            throw .settings("--preview: \(text)")
        }
        _ = try videoRate()
        try video?.kind.checkPlan(self)
        if case .named(let name) = encoder {
            do throws(EncodingError) {
                try EncoderSearch.check(named: name)
            } catch {
                throw .settings("--encoder: \(error)")
            }
        }
    }

    /// Limits of the average video bitrate, bits per second.
    package static let videoBitrates = 1_000...1_000_000_000

    /// Whether pictures are copied with any encoder setting.
    var isVideoCopied: Bool { video?.kind.isCopied ?? false }

    /// Limit of a plausible camera delay.
    private static let longestCameraDelay = Duration.seconds(10)
}
