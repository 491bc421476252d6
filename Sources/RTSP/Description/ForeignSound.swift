/// Audio in a codec that recordings do not support: the receiver transcodes it to AAC.
package struct ForeignSound: Hashable, Sendable {
    package enum Codec: Hashable, Sendable {
        /// ITU-T G.711 (RFC 3551 §4.5.14).
        case muLaw, aLaw
        /// Signed 16-bit samples, big-endian, interleaved (RFC 3551 §4.5.11).
        case linear16
        /// RFC 6716, RFC 7587.
        case opus
    }

    /// Plausible sample rates, Hz.
    private static let sampleRates: ClosedRange<UInt32> = 8_000...192_000
    private static let maximumChannels = 8
    /// The RTP clock rate of Opus (RFC 7587 §4.1).
    private static let opusRate: UInt32 = 48_000
    private static let telephoneRate: UInt32 = 8_000

    package let codec: Codec
    /// Hz; also the RTP clock rate.
    package let sampleRate: UInt32
    package let channels: Int

    /// - Returns: nil for another encoding.
    /// - Throws: if the rate or the number of channels is not supported.
    init?(_ media: MediaDescription) throws(RTSPError) {
        guard let named = Codec.allCases.first(where: { $0.row.encoding == media.encoding }) else {
            return nil
        }
        codec = named
        if codec == .opus {
            sampleRate = Self.opusRate
            // `rtpmap` always has 2 channels (RFC 7587 §7).
            channels = media.parameters["sprop-stereo"] == "1" ? 2 : 1
            return
        }
        sampleRate = media.clockRate ?? Self.telephoneRate
        channels = media.channels ?? 1
        guard Self.sampleRates.contains(sampleRate), (1...Self.maximumChannels).contains(channels)
        else {
            throw .unusableDescription(
                "its \(codec) cannot have \(channels) channels at \(sampleRate) Hz")
        }
    }

    /// Bytes per audio frame of all channels; nil if packets have a variable size.
    package var frameBytes: Int? { codec.row.sampleBytes.map { $0 * channels } }
}

extension ForeignSound.Codec: CaseIterable, CustomStringConvertible {
    /// All that distinguishes the codecs: the encoding's name in SDP, upper case; the name in texts; libavcodec's name; bytes per
    /// sample of a channel, nil if that varies.
    fileprivate var row:
        (encoding: String, family: String, variant: String?, libraryName: String, sampleBytes: Int?)
    {
        switch self {
        case .muLaw: ("PCMU", "G.711", "µ-law", "pcm_mulaw", 1)
        case .aLaw: ("PCMA", "G.711", "A-law", "pcm_alaw", 1)
        case .linear16: ("L16", "L16", nil, "pcm_s16be", 2)
        case .opus: ("OPUS", "Opus", nil, "opus", nil)
        }
    }

    package var description: String {
        row.variant.map { "\(row.family) \($0)" } ?? row.family
    }

    /// libavcodec's name.
    package var libraryName: String { row.libraryName }

    /// For texts: `G.711, L16 and Opus`.
    /// - Parameter word: before the last one.
    package static func list(_ word: String) -> String {
        var names: [String] = []
        for codec in allCases where !names.contains(codec.row.family) {
            names.append(codec.row.family)
        }
        let last = names.removeLast()
        return "\(names.joined(separator: ", ")) \(word) \(last)"
    }
}
