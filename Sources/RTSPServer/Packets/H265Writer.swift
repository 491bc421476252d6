import Hashing
import Media

/// H.265 (RFC 7798, without `DONL`): single NAL units, aggregation packets, fragmentation units.
enum H265Writer: VideoWriter {
    static let codec = VideoCodec.h265
    static let encodingName = "H265"
    static let headerBytes = 2

    /// §7.1.
    static func parameters(of format: VideoFormat) -> String {
        func sets(_ kind: ParameterSetKind) -> String {
            format.sets(kind).map { ByteText.base64($0) }.joined(separator: ",")
        }
        return "sprop-vps=\(sets(.video));sprop-sps=\(sets(.sequence));sprop-pps=\(sets(.picture))"
    }

    /// The lowest layer and temporal identifiers of all units (§4.4.2).
    static func aggregateHeader(_ headers: [ArraySlice<UInt8>]) -> [UInt8] {
        let words = headers.map { header in
            UInt16(header[header.startIndex]) << 8 | UInt16(header[header.startIndex + 1])
        }
        let forbidden = words.reduce(0) { $0 | $1 & 0x8000 }
        let layer = words.map { $0 & 0x01F8 }.min() ?? 0
        let temporal = words.map { $0 & 0x0007 }.min() ?? 1
        let word = forbidden | 48 << 9 | layer | temporal
        return [UInt8(word >> 8), UInt8(word & 0xFF)]
    }

    /// Payload header and FU header (§4.4.3).
    static func fragmentHeader(
        _ header: ArraySlice<UInt8>, isStart: Bool, isEnd: Bool
    ) -> [UInt8] {
        let (first, second) = (header[header.startIndex], header[header.startIndex + 1])
        return [
            first & 0x81 | 49 << 1, second,
            (isStart ? 0x80 : 0) | (isEnd ? 0x40 : 0) | first >> 1 & 0x3F,
        ]
    }
}
