import AgentCore
import ArgumentParser
import Encoding
import Terminal

/// How pictures and sound are encoded.
struct EncodingOptions: ParsableArguments {
    @Option(
        help: """
            Who encodes the pictures: auto (the first that opens of h264_vaapi, h264_v4l2m2m, h264_nvenc, h264_qsv and \
            libx264; the log says what was tried), copy (a file's own H.264 and AAC, bit for bit), or the name of one of \
            libavcodec's H.264 encoders.
            """)
    var encoder = "auto"

    @Option(
        help: """
            What becomes of pictures when the encoder is slower than the camera: drop leaves out what is more than half a \
            second late, keep lets five seconds of pictures wait in memory, or 256 MB of them if that is less, and leaves out \
            what comes while those wait. The recording says what is missing.
            """)
    var late = LatePolicy.drop

    @Option(help: "Bits per second of the pictures, on average.")
    var videoBitrate = Bitrate(bitsPerSecond: 4_000_000)

    @Option(help: "The most bits per second (VBV). (default: 1.5 times the average)")
    var videoMaxBitrate: Bitrate?

    @Option(help: "How much time of the most the decoder's buffer holds (VBV).")
    var videoBuffer = TimeSpan(nanoseconds: 1_000_000_000)

    @Option(
        help:
            "The longest time between two keyframes: where players can seek, and files can be cut.")
    var keyframeInterval = TimeSpan(nanoseconds: 2_000_000_000)

    @Option(help: "H.264 profile: baseline, main or high.")
    var profile = VideoProfile.high

    @Option(help: "How hard libx264 works: ultrafast … veryslow.")
    var encoderPreset = "veryfast"

    @Option(help: "libx264's tuning: zerolatency or none. (default: zerolatency without B-frames)")
    var tune: VideoTune?

    @Option(help: "B-frames in a row: smaller recordings, later pictures.")
    var bFrames = 0

    @Option(help: "Threads of the encoder; 0: as many as are of use.")
    var encoderThreads = 0

    @Option(help: "Bits per second of the sound.")
    var audioBitrate = Bitrate(bitsPerSecond: 96_000)

    @Option(help: "Sound samples per second. (default: 48000, or the file's or device's own)")
    var sampleRate: Int?

    @Option(help: "Sound channels. (default: 2, or the file's or device's own)")
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
        for (name, rate, limit) in [
            ("--video-bitrate", videoBitrate, Int64(1_000_000_000)),
            ("--video-max-bitrate", videoMaxBitrate ?? videoBitrate, 1_000_000_000),
            ("--audio-bitrate", audioBitrate, 1_000_000),
        ] where rate.bitsPerSecond > limit || rate.bitsPerSecond < 1_000 {
            throw ValidationError("\(name) must be from 1k to \(Bitrate(bitsPerSecond: limit))")
        }
        if let videoMaxBitrate, videoMaxBitrate.bitsPerSecond < videoBitrate.bitsPerSecond {
            throw ValidationError("--video-max-bitrate is below the average, --video-bitrate")
        }
        if let channels, !(1...8).contains(channels) {
            throw ValidationError("--channels must be from 1 to 8")
        }
        if let sampleRate, !(8_000...96_000).contains(sampleRate) {
            throw ValidationError("--sample-rate must be from 8000 to 96000")
        }
        if !VideoEncoderSettings.x264Presets.contains(encoderPreset) {
            throw ValidationError(
                "--encoder-preset '\(encoderPreset)' is none of "
                    + VideoEncoderSettings.x264Presets.joined(separator: ", "))
        }
    }

    /// Writes what was asked for into the settings.
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
