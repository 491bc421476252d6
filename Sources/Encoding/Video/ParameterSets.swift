import CFFmpeg
import FFmpegSupport
import Media

/// Determines an encoder's parameter sets before its first picture: a recording needs them first.
enum ParameterSets {
    /// The format of the encoder's output.
    ///
    /// An encoder that needs a test, or has no global header, encodes a grey picture in a separate instance, so that
    /// the first one is unaffected.
    static func format(
        of handle: borrowing CodecHandle, _ settings: VideoEncoderSettings, _ family: EncoderFamily
    ) throws(EncodingError) -> VideoFormat {
        let name = settings.encoder
        let size = Int(handle.context.pointee.extradata_size)
        var extradata: [UInt8] = []
        if let bytes = handle.context.pointee.extradata, size > 0 {
            extradata = Array(UnsafeBufferPointer(start: bytes, count: size))
        }
        if extradata.isEmpty || family.needsProof {
            let picture = try firstPicture(settings, family)
            if extradata.isEmpty { extradata = picture }
        }
        do {
            return try VideoFormat(settings.codec, extradata: extradata)
        } catch {
            throw .encoderRefused(name, reason: "it outputs no parameter sets: \(error)")
        }
    }

    /// The first coded picture (Annex B).
    static func firstPicture(
        _ settings: VideoEncoderSettings, _ family: EncoderFamily
    ) throws(EncodingError) -> [UInt8] {
        let name = settings.encoder
        let surfaces = try HardwareSurfaces(for: settings, family)
        let handle = try CodecHandle.openEncoder(settings, family, surfaces: surfaces)
        let input = FrameBox()
        let frame = input.frame
        frame.pointee.format =
            av_get_pix_fmt(family.inputFormat(for: settings.pixelFormat).name).rawValue
        frame.pointee.width = Int32(settings.size.width)
        frame.pointee.height = Int32(settings.size.height)
        precondition(av_frame_get_buffer(frame, 0) >= 0, "out of memory")
        for plane in 0..<Int(AV_NUM_DATA_POINTERS) {
            // Grey in every Y′CbCr format.
            withUnsafePointer(to: frame.pointee.buf) { buffers in
                buffers.withMemoryRebound(
                    to: UnsafeMutablePointer<AVBufferRef>?.self,
                    capacity: Int(AV_NUM_DATA_POINTERS)
                ) { buffers in
                    guard let buffer = buffers[plane] else { return }
                    buffer.pointee.data.update(repeating: 0x80, count: Int(buffer.pointee.size))
                }
            }
        }
        frame.pointee.pts = 0
        frame.pointee.pict_type = AV_PICTURE_TYPE_I
        var result: Int32 = 0
        var coded: [UInt8] = []
        try surfaces?.upload(frame)
        let complaint = LibraryLog.complaint {
            result = avcodec_send_frame(handle.context, frame)
            if result >= 0 { result = avcodec_send_frame(handle.context, nil) }
            let packet = PacketHandle()
            defer { withExtendedLifetime(packet) {} }
            while result >= 0 {
                result = avcodec_receive_packet(handle.context, packet.packet)
                guard result >= 0 else { break }
                if coded.isEmpty {
                    coded = Array(
                        UnsafeBufferPointer(
                            start: packet.packet.pointee.data,
                            count: Int(packet.packet.pointee.size)))
                }
                av_packet_unref(packet.packet)
            }
        }
        guard !coded.isEmpty else {
            let reason =
                result == CFFmpeg_ERROR_EOF ? "it outputs no picture" : libraryErrorText(result)
            throw .encoderRefused(name, reason: complaint ?? reason)
        }
        return coded
    }
}
