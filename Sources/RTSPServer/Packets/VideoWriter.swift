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
