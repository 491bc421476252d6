import Media

/// The payload of one packet: bytes in front, and pieces of the sample, each of which may have its size of two bytes in front.
struct PayloadPart: Hashable {
    var header: [UInt8]
    var pieces: [Range<Int>]
    var hasSizes = false

    var sizeBytes: Int {
        header.count + pieces.reduce(0) { $0 + $1.count + (hasSizes ? 2 : 0) }
    }
}

/// How a codec's samples are put into packets of RTP.
protocol PayloadWriter: Sendable {
    /// The payloads of one sample, in order. The last one gets the marker.
    static func parts(of sample: [UInt8], maximumBytes: Int) throws(BitstreamError) -> [PayloadPart]
}

/// The writer for a codec; nil: its tracks are not served.
func payloadWriter(for format: TrackFormat) -> (any PayloadWriter.Type)? {
    switch format {
    case .video(let video): video.codec == .h264 ? H264Writer.self : H265Writer.self
    case .audio(let audio): audio.codec.libraryName == "aac" ? AACWriter.self : nil
    }
}
