import CFFmpeg
package import Media

/// Makes a JPEG of a raw picture (ITU-T T.81, JFIF's colours), through libswscale and libavcodec.
package enum StillPicture {
    /// The best and the worst that libavcodec's quantiser scale is used for.
    private static let scales = (best: 2, worst: 31)

    /// A JPEG of the picture as it is to be shown.
    ///
    /// - Parameters:
    ///   - maximumBytes: past that it is made again, coarser.
    /// - Throws: when the picture cannot be converted, or does not fit however coarse.
    package static func jpeg(
        _ picture: RawFrame, orientation: PictureOrientation = .upright, maximumBytes: Int
    ) throws(EncodingError) -> [UInt8] {
        let upright = try fullRange(picture).turned(orientation)
        var scale = scales.best
        while true {
            let bytes = try encode(upright, scale: scale)
            if bytes.count <= maximumBytes { return bytes }
            guard scale < scales.worst else {
                throw .encodingFailed(
                    "mjpeg", atNanoseconds: picture.captureNanoseconds,
                    reason: "the picture takes more than \(maximumBytes) bytes")
            }
            scale = min(2 * scale, scales.worst)
        }
    }

    /// The picture in what JPEG files have: 4:2:0, BT.601's matrix, all 256 levels.
    private static func fullRange(_ picture: RawFrame) throws(EncodingError) -> RawFrame {
        let size = PictureSize(width: picture.width & ~1, height: picture.height & ~1)
        let format = av_get_pix_fmt(picture.format.name)
        guard size.width > 0, size.height > 0,
            let description = av_pix_fmt_desc_get(format),
            let context = sws_getContext(
                Int32(picture.width), Int32(picture.height), format, Int32(size.width),
                Int32(size.height), AV_PIX_FMT_YUV420P, SWS_BICUBIC | SWS_ACCURATE_RND, nil, nil,
                nil)
        else {
            throw .noConversion(
                from: "\(picture.format.name) \(picture.width)×\(picture.height)", to: "JPEG")
        }
        defer { sws_freeContext(context) }
        let isRGB = description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
        let matrix = picture.colour?.matrixCoefficients
        // BT.709 has the number 1; the others that cameras use are BT.601's.
        let source = sws_getCoefficients(matrix == 1 ? SWS_CS_ITU709 : SWS_CS_ITU601)
        let range: Int32 = isRGB || picture.colour?.isFullRange == true ? 1 : 0
        sws_setColorspaceDetails(
            context, source, range, sws_getCoefficients(SWS_CS_ITU601), 1, 0, 1 << 16, 1 << 16)
        let buffer = PictureBuffer(width: size.width, height: size.height)
        let target = buffer.frame(
            captureNanoseconds: picture.captureNanoseconds,
            durationNanoseconds: picture.durationNanoseconds, colour: nil)
        Scaler.run(context, from: picture, to: target)
        return target
    }

    private static func encode(
        _ picture: RawFrame, scale: Int
    ) throws(EncodingError) -> [UInt8] {
        let name = "mjpeg"
        guard let codec = avcodec_find_encoder_by_name(name) else { throw .noEncoder(name) }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.width = Int32(picture.width)
        context.pointee.height = Int32(picture.height)
        context.pointee.pix_fmt = AV_PIX_FMT_YUVJ420P
        context.pointee.color_range = AVCOL_RANGE_JPEG
        context.pointee.time_base = AVRational(num: 1, den: 25)
        context.pointee.flags |= AV_CODEC_FLAG_QSCALE
        context.pointee.global_quality = Int32(scale) * FF_QP2LAMBDA
        context.pointee.thread_count = 1
        var result = avcodec_open2(context, codec, nil)
        guard result >= 0 else {
            throw .encoderRefused(name, reason: CodecLibrary.reason(result))
        }
        let input = FrameBox()
        let frame = input.frame
        frame.pointee.format = AV_PIX_FMT_YUVJ420P.rawValue
        frame.pointee.width = Int32(picture.width)
        frame.pointee.height = Int32(picture.height)
        frame.pointee.quality = Int32(scale) * FF_QP2LAMBDA
        frame.pointee.pts = 0
        let planes = picture.planes.map {
            (
                $0.baseAddress.assumingMemoryBound(to: UInt8.self) as UnsafeMutablePointer<UInt8>?,
                Int32($0.bytesPerRow)
            )
        }
        frame.pointee.data = (planes[0].0, planes[1].0, planes[2].0, nil, nil, nil, nil, nil)
        frame.pointee.linesize = (planes[0].1, planes[1].1, planes[2].1, 0, 0, 0, 0, 0)
        frame.pointee.buf.0 = CodecLibrary.buffer(
            over: picture.planes[0].baseAddress,
            count: picture.planes[0].bytesPerRow * picture.height, owner: picture.owner)
        let packet = PacketHandle()
        result = avcodec_send_frame(context, frame)
        if result >= 0 { result = avcodec_send_frame(context, nil) }
        if result >= 0 { result = avcodec_receive_packet(context, packet.packet) }
        guard result >= 0 else {
            throw .encodingFailed(
                name, atNanoseconds: picture.captureNanoseconds,
                reason: CodecLibrary.reason(result))
        }
        return Array(
            UnsafeBufferPointer(
                start: packet.packet.pointee.data, count: Int(packet.packet.pointee.size)))
    }
}

extension RawFrame {
    /// The same picture, mirrored and rotated in memory of its own.
    ///
    /// - Precondition: planar YUV 4:2:0.
    fileprivate func turned(_ orientation: PictureOrientation) -> RawFrame {
        precondition(format == .yuv420p)
        guard orientation != .upright else { return self }
        let isOnItsSide = orientation.rotation == .quarter || orientation.rotation == .threeQuarters
        let buffer = PictureBuffer(
            width: isOnItsSide ? height : width, height: isOnItsSide ? width : height)
        for (index, (from, to)) in zip(planes, buffer.planes).enumerated() {
            let columns = index == 0 ? buffer.width : buffer.width / 2
            let rows = index == 0 ? buffer.height : buffer.height / 2
            for row in 0..<rows {
                for column in 0..<columns {
                    // Where the pixel was before it was turned, then before it was mirrored.
                    var (x, y) =
                        switch orientation.rotation {
                        case .none: (column, row)
                        case .quarter: (row, columns - 1 - column)
                        case .half: (columns - 1 - column, rows - 1 - row)
                        case .threeQuarters: (rows - 1 - row, column)
                        }
                    if orientation.isMirrored {
                        x = (isOnItsSide ? rows : columns) - 1 - x
                    }
                    let value = from.baseAddress.load(
                        fromByteOffset: y * from.bytesPerRow + x, as: UInt8.self)
                    to.baseAddress.storeBytes(
                        of: value, toByteOffset: row * to.bytesPerRow + column, as: UInt8.self)
                }
            }
        }
        return withExtendedLifetime(owner) {
            buffer.frame(
                captureNanoseconds: captureNanoseconds, durationNanoseconds: durationNanoseconds,
                colour: colour)
        }
    }
}
