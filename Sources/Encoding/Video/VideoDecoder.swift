import CFFmpeg
package import Media

/// Decodes pictures of any codec that libavcodec supports, in the decoder's memory.
///
/// Belongs to one thread.
package struct VideoDecoder: ~Copyable {
    private let track: CodedTrack
    private var decoder: Decoder
    private var lastEndNanoseconds: Int64?
    private let isStrict: Bool

    /// Opens a decoder for the track.
    ///
    /// - Parameters:
    ///   - threads: 0 for an automatic number; each buffers pictures.
    ///   - isStrict: whether pictures with errors are dropped instead of concealed, and all times are the packets' own.
    package init(
        _ track: CodedTrack, threads: Int = 1, isStrict: Bool = false
    ) throws(EncodingError) {
        self.track = track
        self.isStrict = isStrict
        decoder = try Decoder(track, threads: threads, isStrict: isStrict)
    }

    /// Decodes a packet; `emit` receives pictures in presentation order.
    package mutating func decode(
        _ packet: CodedPacket, emit: (RawFrame) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        try run(packet, emit: emit)
    }

    /// Returns the pictures that the decoder still holds.
    package mutating func finish(
        emit: (RawFrame) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        try run(nil, emit: emit)
    }

    private mutating func run(
        _ packet: CodedPacket?, emit: (RawFrame) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        var lastEnd = lastEndNanoseconds
        defer { lastEndNanoseconds = lastEnd }
        let (rate, isStrict) = (nominalRate, isStrict)
        let shape = containerShape
        try decoder.decode(packet) { (box) throws(EncodingError) in
            var picture = try Self.picture(
                in: box, notBefore: lastEnd, rate: rate, hasOwnTime: isStrict)
            // The container's shape is preferred.
            if let shape { picture.sampleAspectRatio = shape }
            lastEnd = picture.captureNanoseconds + picture.durationNanoseconds
            try emit(picture)
        }
    }

    private static func picture(
        in box: FrameBox, notBefore lastEnd: Int64?, rate: FrameRate?, hasOwnTime: Bool
    ) throws(EncodingError) -> RawFrame {
        let frame = box.frame.pointee
        guard let name = av_get_pix_fmt_name(AVPixelFormat(frame.format)) else {
            throw .noConversion(from: "pixel format \(frame.format)", to: "YUV 4:2:0")
        }
        var format = PixelFormat(name: String(cString: name))
        var isFullRange = frame.color_range == AVCOL_RANGE_JPEG
        // FFmpeg's deprecated formats for full range.
        if format.name.hasPrefix("yuvj") {
            format = PixelFormat(name: "yuv" + format.name.dropFirst(4))
            isFullRange = true
        }
        let data = frame.data
        let rows = frame.linesize
        let bases = [data.0, data.1, data.2, data.3]
        let strides = [rows.0, rows.1, rows.2, rows.3]
        let planes = zip(bases, strides).compactMap { base, stride in
            base.map { RawFrame.Plane(baseAddress: $0, bytesPerRow: Int(stride)) }
        }
        // If presentation times do not increase, `best_effort_timestamp` is the decoding time: `pts` is preferred.
        let time =
            hasOwnTime && frame.pts != CFFmpeg_NOPTS_VALUE
            ? frame.pts : frame.best_effort_timestamp
        return RawFrame(
            format: format, width: Int(frame.width), height: Int(frame.height), planes: planes,
            colour: ColourDescription(
                primaries: UInt8(truncatingIfNeeded: frame.color_primaries.rawValue),
                transfer: UInt8(truncatingIfNeeded: frame.color_trc.rawValue),
                matrix: UInt8(truncatingIfNeeded: frame.colorspace.rawValue),
                isFullRange: isFullRange),
            sampleAspectRatio: SampleAspectRatio(
                reducing: Int64(frame.sample_aspect_ratio.num),
                Int64(frame.sample_aspect_ratio.den)),
            captureNanoseconds: time == CFFmpeg_NOPTS_VALUE ? lastEnd ?? 0 : time,
            durationNanoseconds: frame.pkt_duration > 0
                ? frame.pkt_duration : rate?.nanoseconds(ofPicture: 1) ?? 0, owner: box)
    }

    private var containerShape: SampleAspectRatio? {
        guard case .picture(let picture) = track.content else { return nil }
        return picture.sampleAspectRatio
    }

    private var nominalRate: FrameRate? {
        guard case .picture(let picture) = track.content else { return nil }
        return picture.rate
    }
}
