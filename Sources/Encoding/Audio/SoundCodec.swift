import CFFmpeg
import Media

/// Codecs for encoded audio.
package enum SoundCodec: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
    /// AAC-LC (ISO/IEC 14496-3), the codec of recordings.
    case aac
    /// RFC 6716, for exported files.
    case opus

    /// Name for messages: `AAC`.
    package var description: String { recorded?.description ?? rawValue.uppercased() }

    /// libavcodec's name of the encoder.
    var encoder: String {
        switch self {
        case .aac: "aac"
        case .opus: "libopus"
        }
    }

    /// Frames per packet: fixed for AAC, 20 ms at 48 kHz for Opus.
    package var packetFrames: Int {
        switch self {
        case .aac: 1024
        case .opus: 960
        }
    }

    /// Whether packets of equal silence are equal, so that one can be repeated.
    var repeatsSilence: Bool { self == .aac }

    /// Supported rates.
    private var sampleRates: [UInt32] {
        switch self {
        case .aac: AudioSpecificConfig.indexedSampleRates
        case .opus: [48_000]
        }
    }

    /// Whether a rate, in Hz, is supported.
    package func supports(sampleRate: Int) -> Bool {
        UInt32(exactly: sampleRate).map(sampleRates.contains) == true
    }

    /// The nearest supported rate that loses nothing audible: the rate itself, or 48,000 Hz, which all support.
    package func rate(for sampleRate: Int) -> Int {
        supports(sampleRate: sampleRate) ? sampleRate : 48_000
    }

    /// Whether a number of channels is supported.
    package func supports(channels: Int) -> Bool { (1...6).contains(channels) || channels == 8 }

    /// The codec in recordings; nil: they do not have it.
    var recorded: AudioCodec? { AudioCodec(libraryName: rawValue) }

    /// The floats that the encoder accepts: planar or interleaved.
    var sampleFormat: AVSampleFormat {
        switch self {
        case .aac: AV_SAMPLE_FMT_FLTP
        case .opus: AV_SAMPLE_FMT_FLT
        }
    }
}
