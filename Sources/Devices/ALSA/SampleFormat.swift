import CALSA
import Media

/// The supported sample formats, in descending order of resolution.
enum SampleFormat: CaseIterable {
    case signed32
    case float
    /// Three bytes, little-endian: the only format of many USB devices.
    case packed24
    case signed16

    var libraryFormat: snd_pcm_format_t {
        switch self {
        case .signed32: SND_PCM_FORMAT_S32
        case .float: SND_PCM_FORMAT_FLOAT
        case .packed24: SND_PCM_FORMAT_S24_3LE
        case .signed16: SND_PCM_FORMAT_S16
        }
    }

    var name: String {
        switch self {
        case .signed32: "S32"
        case .float: "FLOAT"
        case .packed24: "S24_3LE"
        case .signed16: "S16"
        }
    }

    /// The type after conversion: three bytes are widened to four.
    var sampleType: AudioSampleType {
        switch self {
        case .signed32, .packed24: .signed32
        case .float: .float
        case .signed16: .signed16
        }
    }

    /// Widens `count` three-byte samples at the start of `memory` to four bytes each, in place.
    static func widen(_ memory: UnsafeMutableRawPointer, count: Int) {
        // From the last to the first: no sample is overwritten before it is read.
        for index in stride(from: count - 1, through: 0, by: -1) {
            let source = memory + 3 * index
            let low = UInt32(source.load(as: UInt8.self))
            let middle = UInt32((source + 1).load(as: UInt8.self))
            let high = UInt32((source + 2).load(as: UInt8.self))
            (memory + 4 * index).storeBytes(
                of: high << 24 | middle << 16 | low << 8, as: UInt32.self)
        }
    }
}
