/// Packets sent together, each with its interleaving header for a control connection (RFC 2326 §10.12).
///
/// All readers of a source that use the default channels share ``bytes``. Other readers are sent the packets individually.
package struct PacketBatch: Sendable {
    package struct Packet: Hashable, Sendable {
        /// Index of the track.
        package var track: Int
        /// Whether it is RTCP.
        package var isControl: Bool
        /// Range in ``PacketBatch/bytes``, without the interleaving header.
        package var range: Range<Int>
    }

    /// Size of the interleaving header: a dollar sign, the channel, and two bytes of length.
    package static let frameBytes = 4

    package private(set) var bytes: [UInt8] = []
    package private(set) var packets: [Packet] = []
    /// Decoding can start with this batch.
    package var beginsDecodable = false

    package init() {}

    package var isEmpty: Bool { packets.isEmpty }

    /// Appends a packet that `write` serialises.
    mutating func append(
        track: Int, isControl: Bool, sizeBytes: Int, _ write: (inout [UInt8]) -> Void
    ) {
        bytes.append(UInt8(ascii: "$"))
        bytes.append(UInt8(2 * track + (isControl ? 1 : 0)))
        bytes.append(UInt8(truncatingIfNeeded: sizeBytes >> 8))
        bytes.append(UInt8(truncatingIfNeeded: sizeBytes))
        let start = bytes.count
        write(&bytes)
        precondition(bytes.count - start == sizeBytes, "a packet has the size that it says")
        packets.append(Packet(track: track, isControl: isControl, range: start..<bytes.count))
    }

    mutating func reserve(_ count: Int) { bytes.reserveCapacity(bytes.count + count) }

    /// The batch with the channels of these transports; tracks without a transport are omitted.
    package func interleaved(_ transports: [Int: ClientTransport]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for packet in packets {
            guard case .interleaved(let rtp, let rtcp)? = transports[packet.track] else { continue }
            result.append(UInt8(ascii: "$"))
            result.append(packet.isControl ? rtcp : rtp)
            result += bytes[(packet.range.lowerBound - 2)..<packet.range.upperBound]
        }
        return result
    }

    /// Whether these transports use the default channels, for which ``bytes`` is written.
    package func isUsual(_ transports: [Int: ClientTransport]) -> Bool {
        packets.allSatisfy { packet in
            transports[packet.track]
                == .interleaved(rtp: UInt8(2 * packet.track), rtcp: UInt8(2 * packet.track + 1))
        }
    }
}
