import Hashing
import Media

/// Packetizes AAC (RFC 3640, mode AAC-hbr): one AAC packet in one RTP packet or in fragments.
enum AACWriter: PayloadWriter {
    /// The AU-size field has 13 bits.
    private static let maximumSampleBytes = 8_191

    /// §4.1.
    static func attributes(of format: TrackFormat) -> PayloadAttributes? {
        guard case .audio(let audio) = format, audio.codec == .aac else { return nil }
        return PayloadAttributes(
            map: "MPEG4-GENERIC/\(audio.sampleRate)/\(audio.channels)",
            parameters:
                "streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;"
                + "config=\(ByteText.hexadecimal(audio.configuration))")
    }

    static func parts(
        of sample: [UInt8], maximumBytes: Int
    ) throws(BitstreamError) -> [PayloadPart] {
        // A valid packet is shorter: at most 6,144 bits per channel (ISO/IEC 14496-3 §4.5.3).
        guard (1...maximumSampleBytes).contains(sample.count) else { return [] }
        let size = sample.count << 3
        // AU header section of 16 bits: the size, and index 0. A fragment states the size of the whole packet.
        let header = [0, 16, UInt8(truncatingIfNeeded: size >> 8), UInt8(truncatingIfNeeded: size)]
        let content = maximumBytes - header.count
        return stride(from: 0, to: sample.count, by: content).map { start in
            PayloadPart(
                header: header, pieces: [start..<min(start + content, sample.count)])
        }
    }
}
