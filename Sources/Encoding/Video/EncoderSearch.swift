import Media

/// Selects the encoder of a box: hardware first, because it does not use the CPU, software last, because it is always
/// available.
package enum EncoderSearch {
    /// An encoder that is not used, and the reason.
    package struct Refusal: Hashable, Sendable, CustomStringConvertible {
        package var encoder: String
        package var reason: String

        package var description: String { "\(encoder): \(reason)" }
    }

    /// The candidates of `auto`, in this order, by libavcodec's names: VAAPI, V4L2 memory-to-memory devices, NVENC,
    /// Quick Sync Video, and software.
    package static let candidates = VideoCodec.all[0].coding.encoders

    /// The encoders for a name: all encoders of a codec (`hevc`, `h265`, `h264`), or one encoder.
    package static func encoders(named name: String) -> [String] {
        let codec = VideoCodec(libraryName: name) ?? VideoCodec(identifier: name)
        return codec?.coding.encoders ?? [name]
    }

    /// Checks that libavcodec has an encoder for a name, without opening it.
    package static func check(named name: String) throws(EncodingError) {
        let names = encoders(named: name)
        guard names.contains(where: { CodecLibrary.codec(ofEncoder: $0) != nil }) else {
            throw .noEncoder(name)
        }
    }

    /// Opens the first usable encoder.
    ///
    /// - Parameters:
    ///   - refusals: receives the unusable ones before it, with their reasons.
    ///   - open: opens an encoder, or throws the reason.
    /// - Throws: the last one's reason if none opens: software should always work.
    package static func first<Opened: ~Copyable>(
        of candidates: [String] = candidates, refusals: inout [Refusal],
        open: (String) throws(EncodingError) -> Opened
    ) throws(EncodingError) -> Opened {
        precondition(!candidates.isEmpty, "something has to be tried")
        for name in candidates.dropLast() {
            do throws(EncodingError) {
                return try open(name)
            } catch {
                refusals.append(Refusal(encoder: name, reason: error.refusal))
            }
        }
        return try open(candidates[candidates.count - 1])
    }

    /// One log line about the refused encoders; nil if none was refused.
    package static func summary(_ refusals: [Refusal], using encoder: String) -> String? {
        guard !refusals.isEmpty else { return nil }
        let tried = refusals.map(\.description).joined(separator: "; ")
        return "encoding with \(encoder); not usable: \(tried)"
    }
}

extension EncodingError {
    /// The reason why an encoder is not used, without its name.
    fileprivate var refusal: String {
        switch self {
        case .noEncoder: "not in this libavcodec"
        case .encoderRefused(_, let reason), .encodingFailed(_, _, let reason): reason
        case .noDecoder, .decoderRefused, .damagedPacket, .noConversion, .notCopied,
            .damagedSample, .formatChanges, .fixedRate, .noPresentationTimes, .noParameterSets:
            description
        }
    }
}
