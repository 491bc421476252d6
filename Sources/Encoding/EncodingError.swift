/// Why pictures or sound cannot be encoded, decoded or copied.
package enum EncodingError: Error, Hashable, CustomStringConvertible {
    /// libavcodec has no H.264 encoder of that name.
    case noEncoder(String)
    /// An encoder would not open with these settings.
    case encoderRefused(String, reason: String)
    /// libavcodec has no decoder for what the source delivers.
    case noDecoder(codec: String)
    case decoderRefused(codec: String, reason: String)
    /// An encoder failed at a picture or at sound.
    case encodingFailed(String, atNanoseconds: Int64, reason: String)
    /// A packet cannot be decoded; the ones after it may.
    case damagedPacket(codec: String, atNanoseconds: Int64, reason: String)
    /// What came is raw media in a form that cannot be converted.
    case noConversion(from: String, to: String)
    /// Copying needs another codec than this.
    case notCopied(codec: String, needed: String)
    /// What should be copied is damaged.
    case damagedSample(codec: String, atNanoseconds: Int64, reason: String)
    /// Sound that is copied is coded in another way from there on.
    case formatChanges(codec: String, atNanoseconds: Int64)
    /// Somebody else encodes, and cannot be told to use another bitrate.
    case fixedRate(String)
    /// The source gives no presentation times, and its pictures are not in that order.
    case noPresentationTimes
    /// Neither the container nor the first picture says how the pictures are coded.
    case noParameterSets

    /// The same error of a medium whose zero is that much later on the clock: a place in a file, not a reading of the clock.
    package func earlier(byNanoseconds zero: Int64) -> EncodingError {
        switch self {
        case .encodingFailed(let name, let time, let reason):
            .encodingFailed(name, atNanoseconds: time - zero, reason: reason)
        case .damagedPacket(let codec, let time, let reason):
            .damagedPacket(codec: codec, atNanoseconds: time - zero, reason: reason)
        case .damagedSample(let codec, let time, let reason):
            .damagedSample(codec: codec, atNanoseconds: time - zero, reason: reason)
        case .formatChanges(let codec, let time):
            .formatChanges(codec: codec, atNanoseconds: time - zero)
        case .noEncoder, .encoderRefused, .noDecoder, .decoderRefused, .noConversion, .notCopied,
            .fixedRate, .noPresentationTimes, .noParameterSets:
            self
        }
    }

    package var description: String {
        switch self {
        case .noEncoder(let name):
            "libavcodec has no H.264 encoder \"\(name)\": use libx264"
        case .encoderRefused(let name, let reason):
            "the encoder \(name) does not open with these settings: \(reason)"
        case .noDecoder(let codec):
            "libavcodec has no decoder for \(codec)"
        case .decoderRefused(let codec, let reason):
            "the decoder for \(codec) does not open: \(reason)"
        case .encodingFailed(let name, let time, let reason):
            "the encoder \(name) failed at \(time / 1_000_000) ms: \(reason)"
        case .damagedPacket(let codec, let time, let reason):
            "damaged \(codec) data at \(time / 1_000_000) ms: \(reason)"
        case .noConversion(let from, let to):
            "\(from) cannot be converted to \(to)"
        case .notCopied(let codec, let needed):
            "its codec is \(codec); copying needs \(needed): leave --encoder copy out"
        case .damagedSample(let codec, let time, let reason):
            "damaged \(codec) data at \(time / 1_000_000) ms: \(reason)"
        case .formatChanges(let codec, let time):
            "its \(codec) changes its coding at \(time / 1_000_000) ms: encode it, or cut the file there"
        case .fixedRate(let encoder):
            "\(encoder) encodes at a fixed bitrate: use --encoder libx264 to change it"
        case .noPresentationTimes:
            "it may have B-frames, and has no presentation timestamps: encode it, or encode it again with "
                + "ffmpeg -i FILE -c:v libx264 NEW.mp4"
        case .noParameterSets:
            "its H.264 has no parameter sets, neither in the container nor before its first picture: it cannot be decoded"
        }
    }
}
