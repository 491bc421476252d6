import AgentCore
import ArgumentParser
import Encoding
import Media
import Terminal

struct EncodingOptions: ParsableArguments {
    @Option(
        help: """
            Video encoder: auto (the first that opens of h264_vaapi, h264_v4l2m2m, h264_nvenc, h264_qsv and libx264; the \
            log lists the ones tried), hevc (H.265: the first that opens of hevc_vaapi, hevc_v4l2m2m, hevc_nvenc, hevc_qsv \
            and libx265), copy (\(recordableCodecs) of the camera or file, unchanged), or the name of an H.264 or H.265 \
            encoder of libavcodec. Video and \(AudioCodec.list) of network cameras are never transcoded.
            """)
    var encoder = "auto"

    @Option(
        help: """
            What to do when the encoder is slower than the camera. drop: drop frames that are more than half a second late. \
            keep: queue up to five seconds of frames in memory, at most 256 MB, and drop frames while the queue is full. \
            Every dropped frame is recorded as a gap.
            """)
    var late = LatePolicy.drop

    @Option(help: "Average video bitrate.")
    var videoBitrate = Bitrate(bitsPerSecond: 4_000_000)

    @Option(help: "Maximum video bitrate (VBV). (default: 1.5 times the average)")
    var videoMaxBitrate: Bitrate?

    @Option(help: "VBV buffer size, as time at the maximum bitrate.")
    var videoBuffer = TimeSpan(nanoseconds: 1_000_000_000)

    @Option(
        help:
            "Maximum interval between keyframes. Players seek to keyframes, and files are cut there."
    )
    var keyframeInterval = TimeSpan(nanoseconds: 2_000_000_000)

    @Option(help: "H.264 profile: baseline, main or high. H.265 is always main.")
    var profile = VideoProfile.high

    @Option(help: "Preset of libx264 and libx265: ultrafast … veryslow.")
    var encoderPreset = "veryfast"

    @Option(
        help:
            "Tuning of libx264 and libx265: zerolatency or none. (default: zerolatency without B-frames)"
    )
    var tune: VideoTune?

    @Option(
        help:
            "Maximum number of consecutive B-frames. More give smaller files and a higher latency.")
    var bFrames = 0

    @Option(help: "Number of encoder threads; 0 for automatic.")
    var encoderThreads = 0

    @Option(help: "Audio bitrate.")
    var audioBitrate = Bitrate(bitsPerSecond: 96_000)

    @Option(help: "Audio sample rate in Hz. (default: 48000, or the rate of the file or device)")
    var sampleRate: Int?

    @Option(help: "Number of audio channels. (default: 2, or as in the file or device)")
    var channels: Int?

    func validate() throws {
        guard keyframeInterval.nanoseconds >= 100_000_000,
            keyframeInterval.nanoseconds <= 60_000_000_000
        else { throw ValidationError("--keyframe-interval must be from 100ms to 60s") }
        guard (0...16).contains(bFrames) else {
            throw ValidationError("--b-frames must be from 0 to 16")
        }
        guard (0...64).contains(encoderThreads) else {
            throw ValidationError("--encoder-threads must be from 0 to 64")
        }
        guard videoBuffer.nanoseconds >= 10_000_000, videoBuffer.nanoseconds <= 60_000_000_000
        else {
            throw ValidationError("--video-buffer must be from 10ms to 60s")
        }
        let video = CaptureSettings.videoBitrates
        for (name, rate, limits, range) in [
            ("--video-bitrate", videoBitrate, video, "1k to 1G"),
            ("--video-max-bitrate", videoMaxBitrate ?? videoBitrate, video, "1k to 1G"),
            ("--audio-bitrate", audioBitrate, 1_000...1_000_000, "1k to 1M"),
        ] where !limits.contains(Int(clamping: rate.bitsPerSecond)) {
            throw ValidationError("\(name) must be from \(range)")
        }
        if let videoMaxBitrate, videoMaxBitrate.bitsPerSecond < videoBitrate.bitsPerSecond {
            throw ValidationError("--video-max-bitrate must not be less than --video-bitrate")
        }
        if let channels, !(1...8).contains(channels) {
            throw ValidationError("--channels must be from 1 to 8")
        }
        if let sampleRate, !(8_000...96_000).contains(sampleRate) {
            throw ValidationError("--sample-rate must be from 8000 to 96000")
        }
        if !VideoEncoderSettings.x264Presets.contains(encoderPreset) {
            throw ValidationError(
                "--encoder-preset '\(encoderPreset)' is unknown: use one of "
                    + VideoEncoderSettings.x264Presets.joined(separator: ", "))
        }
    }

    /// Applies the options to the settings.
    func apply(to settings: inout CaptureSettings) throws {
        settings.encoder = EncoderChoice(argument: encoder)
        settings.late = late
        settings.videoBitrate = Int(videoBitrate.bitsPerSecond)
        settings.videoBitrateCap = videoMaxBitrate.map { Int($0.bitsPerSecond) }
        settings.videoBuffer = videoBuffer.duration
        settings.keyframeInterval = keyframeInterval.duration
        settings.bFrames = bFrames
        settings.profile = profile
        settings.encoderPreset = encoderPreset
        settings.tune = tune
        settings.encoderThreads = encoderThreads
        settings.audioBitrate = Int(audioBitrate.bitsPerSecond)
        settings.sampleRate = sampleRate
        settings.channels = channels
    }
}

extension VideoProfile: ExpressibleByArgument {}
extension VideoTune: ExpressibleByArgument {}
extension LatePolicy: ExpressibleByArgument {}
