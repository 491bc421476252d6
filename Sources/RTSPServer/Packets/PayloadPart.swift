import Media

/// One packet's payload: a header, and ranges of the sample, each optionally preceded by a 2-byte size.
struct PayloadPart: Hashable {
    var header: [UInt8]
    var pieces: [Range<Int>]
    var hasSizes = false

    var sizeBytes: Int {
        header.count + pieces.reduce(0) { $0 + $1.count + (hasSizes ? 2 : 0) }
    }
}

/// A codec's RTP payload format: its entry in a session description, and its packets.
protocol PayloadWriter: Sendable {
    /// Values of `rtpmap` and `fmtp` (RFC 8866 §6.6, §6.15); nil: a format of another codec.
    static func attributes(of format: TrackFormat) -> PayloadAttributes?
    /// The payloads of one sample, in order. The last packet has the marker.
    static func parts(of sample: [UInt8], maximumBytes: Int) throws(BitstreamError) -> [PayloadPart]
}

/// Values of a track's attributes in a session description.
struct PayloadAttributes: Hashable {
    /// `H264/90000`.
    var map: String
    var parameters: String
}

/// All payload formats that are served.
private let payloadWriters: [any PayloadWriter.Type] = [
    H264Writer.self, H265Writer.self, AACWriter.self,
]

/// The payload format of a track; nil: its codec has none here, and the track is not offered.
func payloadWriter(for format: TrackFormat) -> (any PayloadWriter.Type)? {
    payloadWriters.first { $0.attributes(of: format) != nil }
}
