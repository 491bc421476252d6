package import Devices
package import Encoding
package import Media
package import RTSP

/// Where a source's pictures come from.
package enum VideoChoice: Hashable, Sendable {
    case none
    /// The test pattern of the contract.
    case test
    case file(path: String)
    /// A camera, by one of its names; "first" is the first one found.
    case device(String)
    /// A network camera.
    case network(RTSPURL)
    /// For a preview only: the pictures of its source, scaled to fit into a box, at most 15 per second.
    case small(within: PictureSize)
}

/// Where a source's sound comes from.
package enum AudioChoice: Hashable, Sendable {
    case none
    /// The beep of the contract.
    case test
    case file(path: String)
    /// The file's sound, if it has any.
    case fileIfPresent(path: String)
    /// A sound device, by ALSA's name; "first" is the first one found.
    case device(String)
    /// A network camera's sound.
    case network(RTSPURL)
    /// A network camera's sound, if it has any that can be recorded.
    case networkIfPresent(RTSPURL)
}

/// Selection of the encoder.
package enum EncoderChoice: Hashable, Sendable {
    /// The first of ``CaptureSettings/encoderCandidates`` that opens; AAC is libavcodec's.
    case auto
    /// No encoder: media in codecs of recordings is not transcoded.
    case copy
    /// libavcodec's encoder of this name, or the first that opens of a codec of this name (`hevc`).
    case named(String)
}

/// The named sizes of AVFoundation, smallest first.
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
    /// Where pictures come from.
    package var video = VideoChoice.test
    /// Where the pictures of the preview come from; nil: none is recorded.
    package var preview: VideoChoice?
    /// Where sound comes from.
    package var audio = AudioChoice.test
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

    /// Ends after this much captured time.
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
        if video == .none, audio == .none {
            throw .settings(
                "nothing to capture: --video and --audio are both none; set one of them")
        }
        if preview == VideoChoice.none {
            throw .settings("--preview none records nothing: leave --preview out")
        }
        if case .device = preview, preview == video {
            throw .settings(
                "--preview is the camera of --video, which cannot be opened twice: use --preview small, or another camera"
            )
        }
        if case .small = preview, video == .none {
            throw .settings("--preview small needs pictures, but --video is none: leave it out")
        }
        if let duration, duration <= .zero {
            throw .settings("--duration must be more than 0")
        }
        if videoFormat != nil, !isFromCamera {
            throw .settings("--video-format is for cameras; leave it out")
        }
        if cameraDelay != .zero, !isFromNetwork {
            throw .settings("--delay is for network cameras (--video rtsp://…): leave it out")
        }
        if cameraDelay > Self.longestCameraDelay {
            throw .settings("--delay is too long: use at most 10s")
        }
        if case .network(let url) = audio { try validateTransport(url) }
        if case .network(let url) = video {
            try validateTransport(url)
            return try validateNetworkCamera()
        }
        guard encoder == .copy, !isFromCamera else { return }
        if video == .test {
            throw .settings("--encoder copy does not work with the test pattern: leave it out")
        }
        if case .device = audio {
            throw .settings(
                "--encoder copy does not work with an audio device: leave it out, or use --audio none"
            )
        }
        if size != nil || frameRate != nil || crop != nil {
            throw .settings(
                "--encoder copy cannot be combined with --size, --fps or --crop: leave them out")
        }
    }

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
        switch video {
        case .test: _ = try testPicturePlan()
        case .device: _ = try cameraWish()
        case .file, .network, .small, .none: break
        }
    }

    /// Whether pictures are copied with any encoder setting: those of a network camera.
    var isVideoCopied: Bool {
        if case .network = video { return true }
        return false
    }

    /// Datagrams beside an encrypted connection would not be encrypted.
    private func validateTransport(_ url: RTSPURL) throws(CaptureError) {
        if url.isSecure, cameraTransport == .udp {
            throw .settings(
                "--camera-transport udp is not encrypted: use tcp for rtsps://, or rtsp:// in a network that you trust"
            )
        }
        if !url.isSecure, cameraTrust != CameraTrust() {
            throw .settings(
                "--camera-ca and --camera-fingerprint are for rtsps:// addresses: leave them out")
        }
    }

    /// Its pictures are recorded unchanged.
    private func validateNetworkCamera() throws(CaptureError) {
        if size != nil || frameRate != nil || crop != nil {
            throw .settings(
                "the pictures of a network camera are recorded unchanged: leave --preset, --size, --fps and --crop out, and set "
                    + "them at the camera")
        }
        if case .named = encoder {
            throw .settings(
                "the pictures of a network camera are recorded unchanged: leave --encoder out, or use copy"
            )
        }
        if encoder == .copy, case .device = audio {
            throw .settings(
                "--encoder copy does not work with an audio device: leave it out, or use --audio none"
            )
        }
    }

    /// Limit of a plausible camera delay.
    private static let longestCameraDelay = Duration.seconds(10)

    private var isFromNetwork: Bool {
        if case .network = video { return true }
        switch audio {
        case .network, .networkIfPresent: return true
        case .none, .test, .file, .fileIfPresent, .device: return false
        }
    }

    private var isFromCamera: Bool {
        if case .device = video { return true }
        return false
    }
}
