/// A codec of recorded audio: a folder of this module, and an entry of ``all``.
package struct AudioCodec: Hashable, Sendable, CustomStringConvertible {
    /// All codecs of recordings; the first is the default of encoders.
    package static let all: [AudioCodec] = [.aac]

    /// Description of the codec.
    package let coding: any AudioCoding.Type

    init(_ coding: any AudioCoding.Type) {
        self.coding = coding
    }

    /// - Parameter libraryName: FFmpeg's name: `aac`.
    package init?(libraryName: String) {
        guard let codec = Self.all.first(where: { $0.libraryName == libraryName }) else {
            return nil
        }
        self = codec
    }

    /// The codecs of an MP4 file's sample entry: several may share one (`mp4a`).
    package static func all(sampleEntry type: String) -> [AudioCodec] {
        all.filter { $0.coding.entry == type }
    }

    package var libraryName: String { coding.libraryName }

    /// Display name: `AAC`.
    package var description: String { coding.name }

    /// Display names of all codecs, for messages: `AAC`.
    package static let list = all.map(\.description).joined(separator: " or ")

    package static func == (left: AudioCodec, right: AudioCodec) -> Bool {
        left.libraryName == right.libraryName
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(libraryName) }
}

/// The box of a sample entry that contains the decoder's configuration.
package enum AudioConfigurationBox: Hashable, Sendable {
    /// `esds`, with these `objectTypeIndication`s (ISO/IEC 14496-1 §7.2.6.6); the first one is written.
    case elementaryStream(objectTypes: [UInt8])
    /// A box of the codec's own: `dOps`.
    case own(ConfigurationBox)
}

/// The properties of an audio codec that the whole project uses. RTP payloads, messages of tracks and encoders are in
/// their modules.
package protocol AudioCoding: Sendable {
    /// Display name: `AAC`.
    static var name: String { get }
    /// FFmpeg's name of the codec.
    static var libraryName: String { get }
    /// Suffixes of elementary stream files, without a dot; the first is the usual one.
    static var fileSuffixes: [String] { get }
    /// The type of the sample entry: `mp4a`.
    static var entry: String { get }
    static var configurationBox: AudioConfigurationBox { get }
    /// Delay of libavcodec's encoder: frames before the first one of the input.
    static var encoderDelayFrames: Int64 { get }
    /// Maximum delay of the encoders of cameras and boxes.
    static var maximumEncoderDelayFrames: Int64 { get }
    /// The format with a decoder's configuration.
    static func format(parsing configuration: [UInt8]) throws(BitstreamError) -> AudioFormat
    /// The configuration's fields by the standard's names, for display.
    static func fields(
        _ configuration: [UInt8]
    ) throws(BitstreamError) -> [(name: String, value: UInt64)]
    /// Frames per packet.
    static func packetFrames(_ format: AudioFormat) throws(BitstreamError) -> UInt32
    /// The codec in `CODECS` and MIME types (RFC 6381 §3.3): `mp4a.40.2`.
    static func codecText(_ format: AudioFormat) -> String
    /// A self-contained packet, of an elementary stream file.
    static func describing(
        _ packet: [UInt8], _ format: AudioFormat
    ) throws(BitstreamError) -> [UInt8]
    /// The framing of a stream of self-contained packets, by its first one.
    static func framing(of packet: [UInt8]) throws(BitstreamError) -> any AudioFraming
}

/// Headers of self-contained packets.
package protocol AudioFraming: Sendable {
    /// The decoder's configuration, which the headers repeat.
    var configuration: [UInt8] { get }
    /// A packet without its header; nil: its format is another one.
    func payload(of packet: [UInt8]) throws(BitstreamError) -> [UInt8]?
}

/// A track of audio: its codec and the decoder's configuration.
package struct AudioFormat: Hashable, Sendable {
    package var codec: AudioCodec
    /// AAC: AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1), as in `esds`.
    package var configuration: [UInt8]
    /// Sampling frequency in Hz.
    package var sampleRate: UInt32
    /// Number of channels, at least 1.
    package var channels: UInt32

    package init(
        _ codec: AudioCodec, configuration: [UInt8], sampleRate: UInt32, channels: UInt32
    ) {
        self.codec = codec
        self.configuration = configuration
        self.sampleRate = sampleRate
        self.channels = channels
    }

    /// Frames per packet.
    ///
    /// - Precondition: the configuration is valid.
    package var packetFrames: UInt32 {
        do throws(BitstreamError) {
            return try codec.coding.packetFrames(self)
        } catch {
            preconditionFailure("a format is made from its configuration: \(error)")
        }
    }
}
