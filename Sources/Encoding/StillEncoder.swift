import CFFmpeg
package import Media

/// How a single picture is kept.
package enum StillFormat: String, CaseIterable, Hashable, Sendable {
    case jpeg
    case png

    /// libavcodec's name of the encoder, and the pixels that it takes.
    fileprivate var library: (encoder: String, pixels: AVPixelFormat) {
        switch self {
        case .jpeg: ("mjpeg", AV_PIX_FMT_YUVJ420P)
        case .png: ("png", AV_PIX_FMT_RGB24)
        }
    }
}

/// Encodes single pictures.
package enum StillEncoder {
    /// libavcodec's scale for JPEG, from 1 (best) to 31: no loss that people see.
    private static let jpegQuality: Int32 = 2

    /// The picture as a file's bytes. Colours are what the picture says of them; where it says nothing, those of HDTV from 720 lines on.
    package static func encode(
        _ picture: RawFrame, as format: StillFormat
    ) throws(EncodingError) -> [UInt8] {
        let (name, pixels) = format.library
        guard let codec = avcodec_find_encoder_by_name(name) else { throw .noEncoder(name) }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.width = Int32(picture.width)
        context.pointee.height = Int32(picture.height)
        context.pointee.pix_fmt = pixels
        context.pointee.time_base = AVRational(num: 1, den: 25)
        context.pointee.thread_count = 1
        if format == .jpeg {
            context.pointee.flags |= AV_CODEC_FLAG_QSCALE
            context.pointee.global_quality = jpegQuality * FF_QP2LAMBDA
            context.pointee.color_range = AVCOL_RANGE_JPEG
        }
        try check(avcodec_open2(context, codec, nil), name)
        let box = FrameBox()
        try convert(picture, to: pixels, in: box.frame)
        if format == .jpeg { box.frame.pointee.quality = context.pointee.global_quality }
        try check(avcodec_send_frame(context, box.frame), name)
        let packet = PacketHandle()
        try check(avcodec_receive_packet(context, packet.packet), name)
        return Array(
            UnsafeBufferPointer(
                start: packet.packet.pointee.data, count: Int(packet.packet.pointee.size)))
    }

    /// The picture in other pixels, in a frame of its own.
    private static func convert(
        _ picture: RawFrame, to pixels: AVPixelFormat, in frame: UnsafeMutablePointer<AVFrame>
    ) throws(EncodingError) {
        frame.pointee.format = pixels.rawValue
        frame.pointee.width = Int32(picture.width)
        frame.pointee.height = Int32(picture.height)
        guard av_frame_get_buffer(frame, 0) >= 0 else { preconditionFailure("out of memory") }
        let source = av_get_pix_fmt(picture.format.name)
        guard
            let scaler = sws_getContext(
                Int32(picture.width), Int32(picture.height), source, Int32(picture.width),
                Int32(picture.height), pixels, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT,
                nil, nil, nil)
        else {
            throw .noConversion(from: picture.format.name, to: "a still picture")
        }
        defer { sws_freeContext(scaler) }
        let isHD = picture.height >= 720
        let matrix = Int32(picture.colour?.matrixCoefficients ?? 2)
        // 2 is "unspecified" (ISO/IEC 23091-2 §8.3).
        let from = sws_getCoefficients(
            matrix == 2 ? (isHD ? SWS_CS_ITU709 : SWS_CS_ITU601) : matrix)
        // JFIF knows one matrix only.
        let to = sws_getCoefficients(SWS_CS_ITU601)
        sws_setColorspaceDetails(
            scaler, from, picture.colour?.isFullRange == true ? 1 : 0, to, 1, 0, 1 << 16, 1 << 16)
        withExtendedLifetime(picture.owner) {
            let sources = picture.planes.map {
                Optional(UnsafePointer($0.baseAddress.assumingMemoryBound(to: UInt8.self)))
            }
            let padding = [Int32](repeating: 0, count: 4)
            let rows = picture.planes.map { Int32($0.bytesPerRow) } + padding
            let data = frame.pointee.data
            let strides = frame.pointee.linesize
            _ = sws_scale(
                scaler, sources + [nil, nil, nil], rows, 0, Int32(picture.height),
                [data.0, data.1, data.2, data.3], [strides.0, strides.1, strides.2, strides.3])
        }
    }

    private static func check(_ result: Int32, _ name: String) throws(EncodingError) {
        if result < 0 {
            throw .encodingFailed(name, atNanoseconds: 0, reason: CodecLibrary.reason(result))
        }
    }
}
