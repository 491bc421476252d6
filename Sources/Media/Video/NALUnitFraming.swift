/// The framing of NAL units in a container's packets.
package enum NALUnitFraming: Hashable, Sendable {
    /// Each after its length (ISO/IEC 14496-15 §5.3.3).
    case lengthPrefixed(size: Int)
    /// Each after a start code (ISO/IEC 14496-10 Annex B).
    case annexB

    /// The framing of a track with this configuration: a record means lengths.
    package init(_ codec: VideoCodec, configuration: [UInt8]) throws(BitstreamError) {
        guard configuration.first == 1 else {
            self = .annexB
            return
        }
        self = .lengthPrefixed(
            size: try codec.coding.configuration(parsing: configuration).lengthSize)
    }

    /// The NAL units of a packet.
    package func units(in packet: Span<UInt8>) throws(BitstreamError) -> [NALUnit] {
        switch self {
        case .annexB:
            return try AnnexB.nalUnits(in: packet)
        case .lengthPrefixed(let size):
            var cursor = NALUnitCursor(lengthSize: size)
            var units: [NALUnit] = []
            while let unit = try cursor.next(in: packet) { units.append(unit) }
            return units
        }
    }

    /// Appends a NAL unit of a packet in the same framing.
    /// - Precondition: it came from a packet of this framing, so that its length fits.
    package func append(_ nalUnit: Span<UInt8>, to output: inout [UInt8]) {
        switch self {
        case .annexB:
            output += [0, 0, 0, 1]
        case .lengthPrefixed(let size):
            for byte in (0..<size).reversed() {
                output.append(UInt8(truncatingIfNeeded: nalUnit.count >> (8 * byte)))
            }
        }
        nalUnit.withUnsafeBufferPointer { output.append(contentsOf: $0) }
    }
}
