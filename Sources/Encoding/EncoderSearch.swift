/// Finds the encoder that a box has: hardware first, because it leaves the processor alone, libx264 last, because it
/// is always there.
package enum EncoderSearch {
    /// One that was tried, and why it is not used.
    package struct Refusal: Hashable, Sendable, CustomStringConvertible {
        package var encoder: String
        package var reason: String

        package var description: String { "\(encoder): \(reason)" }
    }

    /// What `auto` tries, in this order, by libavcodec's names: VAAPI, V4L2's memory-to-memory devices, NVENC, Quick Sync
    /// Video, and software.
    package static let candidates = [
        "h264_vaapi", "h264_v4l2m2m", "h264_nvenc", "h264_qsv", VideoEncoderSettings.x264,
    ]

    /// Opens the first that opens.
    ///
    /// - Parameters:
    ///   - refusals: gets those before it, with their reasons.
    ///   - open: opens one for real, or throws why not.
    /// - Throws: the last one's reason when none opens: it is the one that was expected to.
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

    /// One line on what was tried, for the log; nil where nothing was refused.
    package static func summary(_ refusals: [Refusal], using encoder: String) -> String? {
        guard !refusals.isEmpty else { return nil }
        let tried = refusals.map(\.description).joined(separator: "; ")
        return "encoding with \(encoder); not usable: \(tried)"
    }
}

extension EncodingError {
    /// Why an encoder is not used, without its name.
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
