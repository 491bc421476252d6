import Devices
import Encoding
import Media

/// Human-readable lines about the selected input and encoder, one per track.
enum CaptureDescription {
    /// "video 1280×720 at 30 fps, libx264 high, 4 Mbit/s (cap 6 Mbit/s), keyframe every 2 s".
    static func video(_ plan: VideoEncoderSettings) -> String {
        let seconds = decimal(plan.keyframeInterval.nanoseconds, per: 1_000_000_000)
        var text = "video \(plan.size) at \(plan.frameRate) fps, \(plan.encoder)"
        // H.265 has one profile for 8-bit pictures.
        if plan.codec == .h264 { text += " \(plan.profile.rawValue)" }
        text += ", \(bitrate(plan.bitrate))"
        text += " (maximum \(bitrate(plan.maximumBitrate))), keyframe every \(seconds) s"
        if plan.bFrames > 0 { text += ", \(plan.bFrames) B-frames" }
        return text
    }

    static func video(_ plan: VideoEncoderSettings, from source: String) -> String {
        "\(video(plan)) from \(source)"
    }

    /// "audio 48 kHz, 2 channels, AAC 96 kbit/s".
    static func sound(_ plan: AudioEncoderSettings) -> String {
        "audio \(sound(rate: plan.sampleRate, channels: plan.channels)), "
            + "\(plan.codec) \(bitrate(plan.bitrate))"
    }

    static func sound(_ plan: AudioEncoderSettings, from source: String) -> String {
        "\(sound(plan)) from \(source)"
    }

    /// "audio 48 kHz, 2 channels, AAC 96 kbit/s from hw:CARD=Device,DEV=0 (S16), 44.1 kHz, 1 channel".
    static func sound(_ plan: AudioEncoderSettings, from input: any AudioInput) -> String {
        let own = sound(rate: input.layout.sampleRate, channels: input.layout.channels)
        return "\(sound(plan)) from \(input.summary), \(own)"
    }

    /// "video 768×432 at 12.5 fps, H.264 copied".
    static func copiedVideo(_ track: CodedTrack, _ format: VideoFormat) -> String {
        var text = "video \(format.width)×\(format.height)"
        if case .picture(let picture) = track.content, let rate = picture.rate {
            text += " at \(rate) fps"
        }
        return text + ", \(format.codec) copied"
    }

    /// "audio 48 kHz, 2 channels, AAC copied".
    static func copiedAudio(_ format: AudioFormat) -> String {
        "audio \(sound(rate: Int(format.sampleRate), channels: Int(format.channels))), \(format.codec) copied"
    }

    private static func sound(rate: Int, channels: Int) -> String {
        let kilohertz = decimal(Int64(rate), per: 1000)
        return "\(kilohertz) kHz, \(channels == 1 ? "1 channel" : "\(channels) channels")"
    }

    private static func bitrate(_ bits: Int) -> String {
        bits >= 1_000_000
            ? "\(decimal(Int64(bits), per: 1_000_000)) Mbit/s"
            : "\(decimal(Int64(bits), per: 1000)) kbit/s"
    }

    /// With at most two decimals, and none that are zero.
    private static func decimal(_ value: Int64, per unit: Int64) -> String {
        let hundredths = (value / unit) * 100 + (value % unit * 100 + unit / 2) / unit
        let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
        if rest == 0 { return "\(whole)" }
        return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest / 10)\(rest % 10)"
    }
}
