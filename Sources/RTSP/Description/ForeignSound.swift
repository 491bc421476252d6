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
        switch media.encoding {
        case "PCMU": codec = .muLaw
        case "PCMA": codec = .aLaw
        case "L16": codec = .linear16
        case "OPUS": codec = .opus
        default: return nil
        }
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
    package var frameBytes: Int? {
        switch codec {
        case .muLaw, .aLaw: channels
        case .linear16: 2 * channels
        case .opus: nil
        }
    }
}

extension ForeignSound.Codec: CaseIterable, CustomStringConvertible {
    package var description: String {
        switch self {
        case .muLaw: "G.711 µ-law"
        case .aLaw: "G.711 A-law"
        case .linear16: "L16"
        case .opus: "Opus"
        }
    }
}
