import Media

/// An error of encoding, decoding or copying.
package enum EncodingError: Error, Hashable, CustomStringConvertible {
    /// libavcodec has no encoder of that name for a codec of recordings.
    case noEncoder(String)
    /// An encoder could not be opened with these settings.
    case encoderRefused(String, reason: String)
    /// libavcodec has no decoder for the source's codec.
    case noDecoder(codec: String)
    case decoderRefused(codec: String, reason: String)
    /// An encoder failed at a picture or at audio.
    case encodingFailed(String, atNanoseconds: Int64, reason: String)
    /// A packet cannot be decoded; later ones may be.
    case damagedPacket(codec: String, atNanoseconds: Int64, reason: String)
    /// There is no conversion for this raw format.
    case noConversion(from: String, to: String)
    /// Copying needs another codec.
    case notCopied(codec: String, needed: String)
    /// A packet to be copied is damaged.
    case damagedSample(codec: String, atNanoseconds: Int64, reason: String)
    /// The coding of copied audio changes.
    case formatChanges(codec: String, atNanoseconds: Int64)
    /// The stream is encoded by the source, whose bitrate is fixed.
    case fixedRate(String)
    /// The source has no presentation times, and its pictures are reordered.
    case noPresentationTimes
    /// Neither the container nor the first picture has parameter sets.
    case noParameterSets(codec: String)

    /// The same error with its time relative to `zero`: a position in a file.
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
            "libavcodec has no \(VideoCodec.list("or")) encoder \"\(name)\": use libx264"
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
        case .noParameterSets(let codec):
            "its \(codec) has no parameter sets, neither in the container nor before its first picture: it cannot be decoded"
        }
    }
}
