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

/// Packetizes samples of a codec.
protocol PayloadWriter: Sendable {
    /// The payloads of one sample, in order. The last packet has the marker.
    static func parts(of sample: [UInt8], maximumBytes: Int) throws(BitstreamError) -> [PayloadPart]
}

/// The packetizer for a format; nil if its codec is not supported.
func payloadWriter(for format: TrackFormat) -> (any PayloadWriter.Type)? {
    switch format {
    case .video(let video): video.codec == .h264 ? H264Writer.self : H265Writer.self
    case .audio(let audio): audio.codec.libraryName == "aac" ? AACWriter.self : nil
    }
}
