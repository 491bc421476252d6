import CFFmpeg
import Media

/// The vendor interface of an encoder, which determines its options.
enum EncoderFamily: Hashable {
    /// libx264, in software.
    case x264
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
        case "h264_vaapi": self = .vaapi
        case "h264_v4l2m2m": self = .v4l2
        case "h264_nvenc": self = .nvenc
        case "h264_qsv": self = .quickSync
        default: self = .other
        }
    }

    /// The encoder's input format for pictures in `format`.
    func inputFormat(for format: PixelFormat) -> PixelFormat {
        switch self {
        case .vaapi, .quickSync: .nv12
        case .x264, .v4l2, .nvenc, .other: format
        }
    }

    /// Whether a test picture has to be encoded first: drivers may open encoders that do not work.
    var needsProof: Bool { self != .x264 }

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
        case .vaapi:
            return [("async_depth", "1")]
        case .nvenc:
            return [
                ("profile", settings.profile.rawValue), ("rc", "vbr"), ("forced-idr", "1"),
                ("delay", "0"), ("zerolatency", settings.tune == .zeroLatency ? "1" : "0"),
            ]
        case .quickSync:
            return [("forced_idr", "1"), ("async_depth", "1")]
        case .v4l2, .other:
            return []
        }
    }

    /// `profile_idc` with libavcodec's constraint flags, for encoders without a profile option.
    func profileNumber(of profile: VideoProfile) -> Int32? {
        switch self {
        case .x264, .nvenc: nil
        case .vaapi, .v4l2, .quickSync, .other:
            switch profile {
            case .baseline: FF_PROFILE_H264_CONSTRAINED_BASELINE
            case .main: FF_PROFILE_H264_MAIN
            case .high: FF_PROFILE_H264_HIGH
            }
        }
    }
}
