/// An RTP packet (RFC 3550 §5.1).
package struct RTPPacket: Hashable, Sendable {
    package var payloadType: UInt8
    package var marker: Bool
    package var sequence: UInt16
    /// Ticks of the clock rate; wraps.
    package var timestamp: UInt32
    /// SSRC.
    package var source: UInt32
    package var payload: [UInt8]

    package init(
        payloadType: UInt8, marker: Bool, sequence: UInt16, timestamp: UInt32, source: UInt32,
        payload: [UInt8]
    ) {
        self.payloadType = payloadType
        self.marker = marker
        self.sequence = sequence
        self.timestamp = timestamp
        self.source = source
        self.payload = payload
    }

    private static let headerBytes = 12

    package init(parsing bytes: [UInt8]) throws(RTSPError) {
        guard bytes.count >= Self.headerBytes else {
            throw .malformedPacket("\(bytes.count) bytes are less than RTP's header")
        }
        guard bytes[0] >> 6 == 2 else {
            throw .malformedPacket("RTP version \(bytes[0] >> 6)")
        }
        marker = bytes[1] & 0x80 != 0
        payloadType = bytes[1] & 0x7F
        sequence = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        timestamp = bigEndian(bytes, at: 4)
        source = bigEndian(bytes, at: 8)
        var start = Self.headerBytes + 4 * Int(bytes[0] & 0x0F)
        if bytes[0] & 0x10 != 0 {
            guard bytes.count >= start + 4 else {
                throw .malformedPacket("its header extension is cut off")
            }
            start += 4 + 4 * (Int(bytes[start + 2]) << 8 | Int(bytes[start + 3]))
        }
        var end = bytes.count
        if bytes[0] & 0x20 != 0 { end -= Int(bytes[bytes.count - 1]) }
        guard start <= end else {
            throw .malformedPacket("header and padding are longer than the packet")
        }
        payload = Array(bytes[start..<end])
    }

    /// Serialised without extension and padding.
    package var bytes: [UInt8] {
        [
            0x80, (marker ? 0x80 : 0) | payloadType & 0x7F, UInt8(sequence >> 8),
            UInt8(sequence & 0xFF),
        ] + bigEndian(timestamp) + bigEndian(source) + payload
    }
}

/// A 32-bit big-endian integer.
func bigEndian(_ bytes: [UInt8], at offset: Int) -> UInt32 {
    bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
}

/// In big-endian order.
func bigEndian(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
}
