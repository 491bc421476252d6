import Hashing
import Media

/// The codec-specific part of packetizing H.264 and H.265.
protocol VideoWriter: PayloadWriter {
    static var codec: VideoCodec { get }
    /// In `rtpmap`: `H264`.
    static var encodingName: String { get }
    /// The value of `fmtp`.
    static func parameters(of format: VideoFormat) -> String
    /// Size of a NAL unit header.
    static var headerBytes: Int { get }
    /// The header of an aggregation packet.
    static func aggregateHeader(_ headers: [ArraySlice<UInt8>]) -> [UInt8]
    /// The header of a fragmentation unit.
    static func fragmentHeader(
        _ header: ArraySlice<UInt8>, isStart: Bool, isEnd: Bool
    ) -> [UInt8]
}

extension VideoWriter {
    static func attributes(of format: TrackFormat) -> PayloadAttributes? {
        guard case .video(let video) = format, video.codec == codec else { return nil }
        return PayloadAttributes(map: "\(encodingName)/90000", parameters: parameters(of: video))
    }

    static func parts(
        of sample: [UInt8], maximumBytes: Int
    ) throws(BitstreamError) -> [PayloadPart] {
        var parts: [PayloadPart] = []
        var small: [Range<Int>] = []
        var smallBytes = 0
        func flush() {
            if small.count > 1 {
                let headers = small.map { sample[$0.prefix(headerBytes)] }
                parts.append(
                    PayloadPart(
                        header: aggregateHeader(headers), pieces: small, hasSizes: true))
            } else if let only = small.first {
                parts.append(PayloadPart(header: [], pieces: [only]))
            }
            small = []
            smallBytes = 0
        }
        let span = sample.span
        var cursor = NALUnitCursor()
        while let unit = try cursor.next(in: span) {
            let range = unit.range
            // A NAL unit without a payload cannot be fragmented.
            guard range.count > headerBytes else { continue }
            // Parameter sets and SEI messages are aggregated; a slice has its own packet.
            if codec.kind(of: unit) != .slice, headerBytes + 2 + range.count <= maximumBytes {
                if headerBytes + smallBytes + 2 + range.count > maximumBytes { flush() }
                small.append(range)
                smallBytes += 2 + range.count
                continue
            }
            flush()
            guard range.count > maximumBytes else {
                parts.append(PayloadPart(header: [], pieces: [range]))
                continue
            }
            let header = sample[range.prefix(headerBytes)]
            var start = range.lowerBound + headerBytes
            let size = maximumBytes - headerBytes - 1
            while start < range.upperBound {
                let end = min(start + size, range.upperBound)
                parts.append(
                    PayloadPart(
                        header: fragmentHeader(
                            header, isStart: start == range.lowerBound + headerBytes,
                            isEnd: end == range.upperBound), pieces: [start..<end]))
                start = end
            }
        }
        flush()
        return parts
    }
}

extension Range<Int> {
    fileprivate func prefix(_ count: Int) -> Range<Int> {
        lowerBound..<Swift.min(upperBound, lowerBound + count)
    }
}

/// H.264 (RFC 6184, packetization-mode 1): single NAL units, STAP-A, FU-A.
enum H264Writer: VideoWriter {
    static let codec = VideoCodec.h264
    static let encodingName = "H264"
    static let headerBytes = 1

    /// §8.1.
    static func parameters(of format: VideoFormat) -> String {
        let sets = format.parameterSets.map { ByteText.base64($0) }.joined(separator: ",")
        let profile = format.sets(.sequence).first.map { $0.dropFirst().prefix(3) } ?? []
        let level = profile.count == 3 ? "profile-level-id=\(ByteText.hexadecimal(profile));" : ""
        return "packetization-mode=1;\(level)sprop-parameter-sets=\(sets)"
    }

    /// The highest `nal_ref_idc` of all units (§5.7.1).
    static func aggregateHeader(_ headers: [ArraySlice<UInt8>]) -> [UInt8] {
        let bytes = headers.compactMap(\.first)
        let forbidden = bytes.reduce(0) { $0 | $1 & 0x80 }
        let importance = bytes.map { $0 & 0x60 }.max() ?? 0
        return [forbidden | importance | 24]
    }

    /// FU indicator and FU header (§5.8).
    static func fragmentHeader(
        _ header: ArraySlice<UInt8>, isStart: Bool, isEnd: Bool
    ) -> [UInt8] {
        let first = header[header.startIndex]
        return [first & 0xE0 | 28, (isStart ? 0x80 : 0) | (isEnd ? 0x40 : 0) | first & 0x1F]
    }
}

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
