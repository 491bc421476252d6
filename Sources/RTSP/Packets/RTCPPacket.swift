/// The times of a sender report (RFC 3550 §6.4.1): one instant on the camera's wallclock and on the media clock.
package struct SenderReport: Hashable, Sendable {
    package var source: UInt32
    /// NTP timestamp: seconds since 1900 in 32.32 fixed point. The camera's clock may never have been set.
    package var ntp: UInt64
    /// The same instant as RTP timestamp.
    package var timestamp: UInt32

    package init(source: UInt32, ntp: UInt64, timestamp: UInt32) {
        self.source = source
        self.ntp = ntp
        self.timestamp = timestamp
    }
}

/// RTCP packets (RFC 3550 §6), as far as recording needs them.
package enum RTCPPacket: Hashable, Sendable {
    case senderReport(SenderReport)
    /// BYE with its sources.
    case goodbye([UInt32])

    /// The known packets of a compound packet, up to the first malformed one.
    package static func packets(in bytes: [UInt8]) -> [RTCPPacket] {
        var packets: [RTCPPacket] = []
        var start = 0
        while bytes.count - start >= 4, bytes[start] >> 6 == 2 {
            let size = 4 + 4 * (Int(bytes[start + 2]) << 8 | Int(bytes[start + 3]))
            guard size <= bytes.count - start else { break }
            let count = Int(bytes[start] & 0x1F)
            switch bytes[start + 1] {
            case 200 where size >= 28:
                let high = UInt64(bigEndian(bytes, at: start + 8))
                packets.append(
                    .senderReport(
                        SenderReport(
                            source: bigEndian(bytes, at: start + 4),
                            ntp: high << 32 | UInt64(bigEndian(bytes, at: start + 12)),
                            timestamp: bigEndian(bytes, at: start + 16))))
            case 203:
                let sources = min(count, (size - 4) / 4)
                packets.append(
                    .goodbye((0..<sources).map { bigEndian(bytes, at: start + 4 + 4 * $0) }))
            default: break
            }
            start += size
        }
        return packets
    }

    /// Whether a packet is RTCP, where RTP has the same port or channel (RFC 5761 §4).
    static func isControl(_ bytes: [UInt8]) -> Bool {
        bytes.count > 1 && (192...223).contains(bytes[1])
    }

    /// The SSRC of the first packet's sender; nil if it is cut off.
    static func source(_ bytes: [UInt8]) -> UInt32? {
        bytes.count >= 8 ? bigEndian(bytes, at: 4) : nil
    }

    /// A receiver report with CNAME (RFC 3550 §6.4.2, §6.5), without which some cameras stop sending.
    /// - Parameters:
    ///   - reporter: our SSRC.
    ///   - block: reception statistics; nil before the first packet.
    ///   - name: `CNAME`, at most 255 bytes.
    static func receiverReport(from reporter: UInt32, _ block: ReportBlock?, name: String)
        -> [UInt8]
    {
        let blocks = block?.bytes ?? []
        var bytes: [UInt8] = [0x80 | (block == nil ? 0 : 1), 201, 0, UInt8(1 + blocks.count / 4)]
        bytes += bigEndian(reporter) + blocks
        let text = Array(name.utf8.prefix(255))
        var chunk = bigEndian(reporter) + [1, UInt8(text.count)] + text
        // The item list ends with a zero byte, and the chunk at a 32-bit boundary.
        chunk += [UInt8](repeating: 0, count: 4 - chunk.count % 4)
        bytes += [0x81, 202, 0, UInt8(chunk.count / 4)] + chunk
        return bytes
    }
}

/// A report block (RFC 3550 §6.4.1).
struct ReportBlock: Hashable {
    var source: UInt32
    /// Fraction lost since the last report, in 1/256.
    var fractionLost: UInt8
    /// Cumulative loss; negative with duplicates.
    var totalLost: Int
    /// Extended highest sequence number.
    var highestSequence: UInt32
    /// Interarrival jitter, ticks.
    var jitter: UInt32
    /// Middle 32 bits of the last sender report's NTP timestamp; 0 before the first one.
    var lastReport: UInt32
    /// Delay since that report, 1/65536 s.
    var delay: UInt32

    var bytes: [UInt8] {
        let lost = UInt32(bitPattern: Int32(max(-0x80_0000, min(0x7F_FFFF, totalLost)))) & 0xFF_FFFF
        return [
            source, UInt32(fractionLost) << 24 | lost, highestSequence, jitter, lastReport, delay,
        ]
        .flatMap { bigEndian($0) }
    }
}
