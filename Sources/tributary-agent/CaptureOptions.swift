import AgentCore
import ArgumentParser
import Control
import Devices
import Media
import RTSP
import Terminal

struct CaptureOptions: ParsableArguments {
    @Option(
        help: """
            Video source: a camera (first for the first one found, /dev/video0, or a stable name as listed by \
            'tributary-agent devices'), rtsp://HOST/PATH for a network camera (rtsps:// by TLS), test, file:PATH \
            or none.
            """)
    var video: String

    @Option(
        help: ArgumentHelp(
            """
            Record a preview too, as a source NAME.preview without sound: small for the source's own pictures, encoded a second \
            time to fit into 640x640 (small:WIDTHxHEIGHT for another box), at most 15 a second and 400 kbit/s; or a network \
            camera's second stream (rtsp://HOST/PATH), which is recorded unchanged; or any other input of --video, encoded at \
            640x360 and 500 kbit/s. Walls, thumbnails and small tiles show it, exports take the main pictures. With \
            --encoder copy and network cameras, small has to decode their pictures.
            """, valueName: "small|video"))
    var preview: String?

    @Option(
        help: """
            Audio source: an ALSA device (default, hw:CARD=NAME,DEV=0, or first for the first one found), rtsp://HOST/PATH, \
            test, file:PATH or none. (default: the audio of the file or test pattern; that of a network camera, if it sends \
            any in \(AudioCodec.list), \(ForeignSound.Codec.list("or")); none for other cameras)
            """)
    var audio: String?

    @Option(
        help: ArgumentHelp(
            """
            File with USER:PASSWORD of the network camera, readable only by its owner. The password is sent as a digest, \
            MD5 or SHA-256.
            """, valueName: "file"))
    var cameraLogin: String?

    @Option(
        help: ArgumentHelp(
            """
            PEM file with the authorities that have signed the network camera's certificate, for rtsps://. (default: those of \
            the system)
            """, valueName: "file"))
    var cameraCa: String?

    @Option(
        help: ArgumentHelp(
            """
            SHA-256 fingerprint of the network camera's certificate, for rtsps://, instead of an authority: 64 hexadecimal digits. \
            A camera with another certificate is refused.
            """, valueName: "sha256"))
    var cameraFingerprint: CertificateFingerprint?

    @Option(
        help: ArgumentHelp(
            """
            Transport of a network camera's packets: tcp (on the control connection) or udp. Over UDP, packets may be lost, and \
            reordered packets are waited for up to 100 ms.
            """, valueName: "tcp|udp"))
    var cameraTransport = CameraTransport.tcp

    @Option(
        help: """
            Known delay of a network camera from capture to arrival, such as 120ms: subtracted from the recorded times. (default: 0)
            """)
    var delay: TimeSpan?

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

    /// Applies the options to the settings.
    func apply(to settings: inout CaptureSettings) throws {
        if preset != nil, size != nil {
            throw UsageError(
                "--preset and --size cannot be combined: leave one out")
        }
        settings.video = try CaptureInput.parse(video, for: .video)
        settings.preview = try preview.flatMap {
            try CaptureInput.parse($0, for: .preview)
        }
        settings.isAudioOptional = audio == nil
        settings.audio =
            if let audio {
                try CaptureInput.parse(audio, for: .audio)
            } else {
                settings.video?.sound
            }
        settings.size = preset?.size ?? size
        settings.preset = preset
        settings.videoFormat = videoFormat
        settings.frameRate = fps
        settings.crop = crop
        settings.orientation = PictureOrientation(rotation: rotate, isMirrored: mirror)
        settings.duration = duration?.duration
        settings.loop = loop
        settings.cameraTransport = cameraTransport.own
        settings.cameraDelay = delay?.duration ?? .zero
        if cameraCa != nil, cameraFingerprint != nil {
            throw UsageError(
                "--camera-ca and --camera-fingerprint cannot be combined: leave one out")
        }
        settings.cameraTrust = CameraTrust(
            authorities: cameraCa, fingerprints: cameraFingerprint.map { [$0] } ?? [])
        if let cameraLogin {
            let inputs = [settings.video, settings.audio, settings.preview]
            guard inputs.contains(where: { $0?.isNetworkCamera == true }) else {
                throw UsageError(
                    "--camera-login is for network cameras (--video rtsp://…): leave it out")
            }
            settings.cameraLogin = try CameraLoginFile.read(cameraLogin)
        }
    }

}

/// The words of `--camera-transport`.
enum CameraTransport: String, ExpressibleByArgument, CaseIterable {
    case tcp, udp

    var own: CameraSession.Transport {
        switch self {
        case .tcp: .tcp
        case .udp: .udp
        }
    }
}

extension CertificateFingerprint: ExpressibleByArgument {
    /// Reads 64 hexadecimal digits, with or without colons.
    public init?(argument: String) { self.init(parsing: argument) }
}

extension SizePreset: ExpressibleByArgument {}
