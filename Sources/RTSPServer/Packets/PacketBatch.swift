/// Packets that are sent together, in order, each with its frame for a control connection (RFC 2326 §10.12).
///
/// ``bytes`` is what a reader gets who took the usual channels; others get the packets alone. So one batch serves all readers of a source.
package struct PacketBatch: Sendable {
    package struct Packet: Hashable, Sendable {
        /// Index of the track.
        package var track: Int
        /// RTCP; else RTP.
        package var isControl: Bool
        /// Of the packet in ``PacketBatch/bytes``, without the frame of four bytes in front.
        package var range: Range<Int>
    }

    /// A dollar sign, the channel, and two bytes of size.
    package static let frameBytes = 4

    package private(set) var bytes: [UInt8] = []
    package private(set) var packets: [Packet] = []
    /// Decoding can begin with it.
    package var beginsDecodable = false

    package init() {}

    package var isEmpty: Bool { packets.isEmpty }

    /// Writes a packet whose bytes `write` appends.
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

    /// The batch as a connection with these transports gets it. Tracks without one are left out.
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

    /// Whether ``bytes`` is what a connection with these transports gets.
    package func isUsual(_ transports: [Int: ClientTransport]) -> Bool {
        packets.allSatisfy { packet in
            transports[packet.track]
                == .interleaved(rtp: UInt8(2 * packet.track), rtcp: UInt8(2 * packet.track + 1))
        }
    }
}
