import CFFmpeg
import FFmpegSupport
package import Media

/// File formats of single pictures.
package enum StillFormat: String, CaseIterable, Hashable, Sendable {
    /// ITU-T T.81 with JFIF's colours: 4:2:0, BT.601, full range.
    case jpeg
    /// ISO/IEC 15948, RGB with eight bits each.
    case png

    /// libavcodec's encoder, and its pixel format.
    fileprivate var library: (encoder: String, pixels: AVPixelFormat) {
        switch self {
        case .jpeg: ("mjpeg", AV_PIX_FMT_YUVJ420P)
        case .png: ("png", AV_PIX_FMT_RGB24)
        }
    }
}

/// Encodes a single raw picture, through libswscale and libavcodec.
package enum StillPicture {
    /// libavcodec's quantiser scale for JPEG: visually lossless, and the coarsest.
    private static let scales = (best: Int32(2), worst: Int32(31))

    /// Maximum side after conversion to square pixels.
    private static let longestSide = 16_384

    /// The encoded file, with the picture in display orientation and square pixels.
    ///
    /// Colours are those of the picture's description; without one, those of HDTV from 720 lines on, as in players.
    ///
    /// - Parameters:
    ///   - maximumWidth: a wider picture is scaled down, in proportion.
    ///   - maximumBytes: a larger JPEG is encoded again with a coarser quantiser.
    /// - Throws: when the picture cannot be converted, or exceeds the limit at the coarsest quantiser.
    package static func encode(
        _ picture: RawFrame, as format: StillFormat, orientation: PictureOrientation = .upright,
        maximumWidth: Int = .max, maximumBytes: Int = .max
    ) throws(EncodingError) -> [UInt8] {
        let (name, pixels) = format.library
        let converted = FrameBox()
        let turned = try picture.turned(orientation)
        try convert(
            turned, to: pixels, size: size(of: turned, maximumWidth: maximumWidth),
            in: converted.frame)
        var scale = scales.best
        while true {
            let bytes = try encode(converted.frame, with: name, scale: scale)
            if bytes.count <= maximumBytes { return bytes }
            guard format == .jpeg, scale < scales.worst else {
                throw .encodingFailed(
                    name, atNanoseconds: picture.captureNanoseconds,
                    reason: "the picture takes more than \(maximumBytes) bytes")
            }
            scale = min(2 * scale, scales.worst)
        }
    }

    private static func encode(
        _ frame: UnsafeMutablePointer<AVFrame>, with name: String, scale: Int32
    ) throws(EncodingError) -> [UInt8] {
        guard let codec = avcodec_find_encoder_by_name(name) else { throw .noEncoder(name) }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.width = frame.pointee.width
        context.pointee.height = frame.pointee.height
        context.pointee.pix_fmt = AVPixelFormat(frame.pointee.format)
        context.pointee.time_base = AVRational(num: 1, den: 25)
        context.pointee.thread_count = 1
        if context.pointee.pix_fmt == AV_PIX_FMT_YUVJ420P {
            context.pointee.flags |= AV_CODEC_FLAG_QSCALE
            context.pointee.global_quality = scale * FF_QP2LAMBDA
            context.pointee.color_range = AVCOL_RANGE_JPEG
        }
        var result = avcodec_open2(context, codec, nil)
        guard result >= 0 else {
            throw .encoderRefused(name, reason: libraryErrorText(result))
        }
        frame.pointee.quality = context.pointee.global_quality
        frame.pointee.pts = 0
        let packet = PacketHandle()
        defer { withExtendedLifetime(packet) {} }
        result = avcodec_send_frame(context, frame)
        if result >= 0 { result = avcodec_receive_packet(context, packet.packet) }
        guard result >= 0 else {
            throw .encodingFailed(name, atNanoseconds: 0, reason: libraryErrorText(result))
        }
        return Array(
            UnsafeBufferPointer(
                start: packet.packet.pointee.data, count: Int(packet.packet.pointee.size)))
    }

    /// Even numbers, for the chroma of a JPEG.
    private static func size(
        of picture: RawFrame, maximumWidth: Int
    ) -> (width: Int32, height: Int32) {
        var size = PictureSize(width: picture.width, height: picture.height)
        if let ratio = picture.sampleAspectRatio, ratio != .square {
            size = ratio.squared(size, longest: longestSide)
        }
        guard size.width > maximumWidth else {
            return (Int32(size.width), Int32(size.height))
        }
        let width = max(2, maximumWidth / 2 * 2)
        let height = max(2, (size.height * width / size.width + 1) / 2 * 2)
        return (Int32(width), Int32(height))
    }

    /// The picture in another pixel format, in memory that the frame owns.
    private static func convert(
        _ picture: RawFrame, to pixels: AVPixelFormat, size: (width: Int32, height: Int32),
        in frame: UnsafeMutablePointer<AVFrame>
    ) throws(EncodingError) {
        let source = av_get_pix_fmt(picture.format.name)
        guard let description = av_pix_fmt_desc_get(source),
            let scaler = sws_getContext(
                Int32(picture.width), Int32(picture.height), source, size.width, size.height,
                pixels,
                SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nil, nil, nil)
        else {
            throw .noConversion(
                from: "\(picture.format.name) \(picture.width)×\(picture.height)",
                to: "a still picture")
        }
        defer { sws_freeContext(scaler) }
        frame.pointee.format = pixels.rawValue
        frame.pointee.width = size.width
        frame.pointee.height = size.height
        guard av_frame_get_buffer(frame, 0) >= 0 else { preconditionFailure("out of memory") }
        let isRGB = description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
        let isFullRange = isRGB || picture.colour?.isFullRange == true
        // Matrix of the source; JFIF's is fixed.
        sws_setColorspaceDetails(
            scaler, sws_getCoefficients(matrix(of: picture)), isFullRange ? 1 : 0,
            sws_getCoefficients(SWS_CS_ITU601), 1, 0, 1 << 16, 1 << 16)
        let data = frame.pointee.data
        let rows = frame.pointee.linesize
        let target = [(data.0, rows.0), (data.1, rows.1), (data.2, rows.2)].compactMap {
            (plane, row) -> RawFrame.Plane? in
            plane.map { RawFrame.Plane(baseAddress: $0, bytesPerRow: Int(row)) }
        }
        Scaler.run(
            scaler, from: picture,
            to: RawFrame(
                format: picture.format, width: picture.width, height: picture.height,
                planes: target, colour: nil, captureNanoseconds: 0, durationNanoseconds: 0,
                owner: picture.owner))
    }

    /// libswscale's number of the picture's matrix, equal to that of ISO/IEC 23091-2 §8.3; 2 is "unspecified" there.
    private static func matrix(of picture: RawFrame) -> Int32 {
        let matrix = Int32(picture.colour?.matrixCoefficients ?? 2)
        guard matrix == 2 else { return matrix }
        return picture.height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601
    }
}
