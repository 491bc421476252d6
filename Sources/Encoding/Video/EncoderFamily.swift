import CFFmpeg
import Media

/// The vendor interface of an encoder, which determines its options.
enum EncoderFamily: Hashable {
    /// libx264, in software.
    case x264
    /// libx265, in software.
    case x265
    /// Graphics drivers of the kernel, through libva.
    case vaapi
    /// A memory-to-memory device of the kernel (V4L2), as on small boards.
    case v4l2
    /// NVIDIA's.
    case nvenc
    /// Intel's Quick Sync Video.
    case quickSync
    /// Any other encoder of libavcodec, with generic options.
    case other

    /// The family of a libavcodec encoder.
    init(_ name: String) {
        switch name {
        case VideoEncoderSettings.x264: self = .x264
        case "libx265": self = .x265
        default:
            // libavcodec's names: `h264_vaapi`, `hevc_vaapi`.
            switch name.split(separator: "_").last {
            case "vaapi": self = .vaapi
            case "v4l2m2m": self = .v4l2
            case "nvenc": self = .nvenc
            case "qsv": self = .quickSync
            default: self = .other
            }
        }
    }

    /// The encoder's input format for pictures in `format`.
    func inputFormat(for format: PixelFormat) -> PixelFormat {
        switch self {
        case .vaapi, .quickSync: .nv12
        case .x264, .v4l2, .nvenc, .other: format
        case .x265: .yuv420p
        }
    }

    /// Whether a test picture has to be encoded first: drivers may open encoders that do not work.
    var needsProof: Bool { !isSoftware }

    /// Whether it is one of the software encoders, which have presets and tunings.
    var isSoftware: Bool { self == .x264 || self == .x265 }

    /// libavcodec options by name; an encoder ignores unknown ones.
    func options(for settings: VideoEncoderSettings) -> [(String, String)] {
        switch self {
        case .x264:
            var options = [("preset", settings.preset), ("profile", settings.profile.rawValue)]
            if settings.tune != .none { options.append(("tune", settings.tune.rawValue)) }
            // zerolatency assumes a constant rate; this makes the rate control use the pictures' times.
            options.append(
                ("x264-params", settings.hasConstantRate ? "force-cfr=1" : "force-cfr=0"))
            return options
        case .x265:
            var options = [("preset", settings.preset), ("forced-idr", "1")]
            if settings.tune != .none { options.append(("tune", settings.tune.rawValue)) }
            // Closed groups of pictures, the threads of --encoder-threads, no lines on the terminal.
            var parameters = ["log-level=none", "open-gop=0", "scenecut=0"]
            if settings.threads > 0 { parameters.append("pools=\(settings.threads)") }
            options.append(("x265-params", parameters.joined(separator: ":")))
            return options
        case .vaapi:
            return [("async_depth", "1")]
        case .nvenc:
            // H.265 has one profile for 8-bit pictures.
            let profile = settings.codec == .h264 ? settings.profile.rawValue : "main"
            return [
                ("profile", profile), ("rc", "vbr"), ("forced-idr", "1"),
                ("delay", "0"), ("zerolatency", settings.tune == .zeroLatency ? "1" : "0"),
            ]
        case .quickSync:
            return [("forced_idr", "1"), ("async_depth", "1")]
        case .v4l2, .other:
            return []
        }
    }

    /// `profile_idc` with libavcodec's constraint flags, for encoders without a profile option.
    func profileNumber(for settings: VideoEncoderSettings) -> Int32? {
        guard settings.codec == .h264 else { return nil }
        return switch self {
        case .x264, .x265, .nvenc: nil
        case .vaapi, .v4l2, .quickSync, .other:
            switch settings.profile {
            case .baseline: FF_PROFILE_H264_CONSTRAINED_BASELINE
            case .main: FF_PROFILE_H264_MAIN
            case .high: FF_PROFILE_H264_HIGH
            }
        }
    }
}
