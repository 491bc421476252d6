import CFFmpeg
package import Media

/// An H.264 encoder of libavcodec: raw pictures in, access units with their exact times out.
///
/// Pictures in ``pixelFormat`` and of the settings' size are encoded where they lie; others are converted first.
/// Owns the handle; belongs to one thread.
package struct VideoEncoder: ~Copyable {
    /// Parameter sets and size of what comes out.
    package let format: H264Format
    package let settings: VideoEncoderSettings

    private let handle: CodecHandle
    private let packet = PacketHandle()
    private let input = FrameBox()
    private var converter: PictureConverter
    private var times = PictureTimes()
    private var keyframes: KeyframeSchedule

    /// Opens the encoder.
    package init(_ settings: VideoEncoderSettings) throws(EncodingError) {
        let handle = try CodecHandle.openEncoder(settings)
        let name = settings.encoder
        let size = Int(handle.context.pointee.extradata_size)
        guard let extradata = handle.context.pointee.extradata, size > 0 else {
            throw .encoderRefused(name, reason: "it gives no parameter sets in advance")
        }
        do {
            format = try H264Format(
                extradata: Array(UnsafeBufferPointer(start: extradata, count: size)))
        } catch {
            throw .encoderRefused(name, reason: error.description)
        }
        self.settings = settings
        converter = PictureConverter(size: settings.size)
        keyframes = KeyframeSchedule(intervalNanoseconds: settings.keyframeInterval.nanoseconds)
        self.handle = handle
    }

    /// Makes the next picture a keyframe.
    package mutating func requestKeyframe() { keyframes.request() }

    /// Encodes a picture, later than the one before it; `emit` gets what is ready, in decoding order.
    package mutating func encode(
        _ picture: RawFrame, emit: (EncodedSample) -> Void
    ) throws(EncodingError) {
        let time = picture.captureNanoseconds
        let source = try converted(picture)
        input.refer(to: source, format: handle.context.pointee.pix_fmt)
        input.frame.pointee.pts = times.add(
            nanoseconds: time, durationNanoseconds: picture.durationNanoseconds)
        let isKeyframe = keyframes.isDue(
            atNanoseconds: time,
            toleranceNanoseconds: settings.frameRate.nanoseconds(ofPicture: 1) / 2)
        input.frame.pointee.pict_type = isKeyframe ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        let result = avcodec_send_frame(handle.context, input.frame)
        av_frame_unref(input.frame)
        try check(result, atNanoseconds: time)
        try drain(atNanoseconds: time, emit: emit)
    }

    /// Ends the stream; `emit` gets what was still on its way.
    package mutating func finish(emit: (EncodedSample) -> Void) throws(EncodingError) {
        try check(avcodec_send_frame(handle.context, nil), atNanoseconds: 0)
        try drain(atNanoseconds: 0, emit: emit)
    }

    private mutating func converted(_ picture: RawFrame) throws(EncodingError) -> RawFrame {
        let isRightSize =
            picture.width == settings.size.width && picture.height == settings.size.height
        if isRightSize, picture.format == settings.pixelFormat { return picture }
        return try converter.convert(picture)
    }

    private mutating func drain(
        atNanoseconds time: Int64, emit: (EncodedSample) -> Void
    ) throws(EncodingError) {
        while true {
            let result = avcodec_receive_packet(handle.context, packet.packet)
            if result == CFFmpeg_ERROR_EAGAIN || result == CFFmpeg_ERROR_EOF { return }
            try check(result, atNanoseconds: time)
            let sample = try sample(packet.packet.pointee)
            av_packet_unref(packet.packet)
            emit(sample)
        }
    }

    private mutating func sample(_ packet: AVPacket) throws(EncodingError) -> EncodedSample {
        guard let entry = times.entry(tick: packet.pts) else {
            throw .encodingFailed(
                settings.encoder, atNanoseconds: 0,
                reason: "a picture came out that did not go in")
        }
        let isKeyframe = packet.flags & AV_PKT_FLAG_KEY != 0
        if isKeyframe { keyframes.made(atNanoseconds: entry.nanoseconds) }
        let bytes = UnsafeBufferPointer(start: packet.data, count: Int(packet.size))
        return EncodedSample(
            track: .video, ptsNanoseconds: entry.nanoseconds,
            dtsNanoseconds: min(entry.nanoseconds, times.decodingTime(tick: packet.dts)),
            durationNanoseconds: entry.durationNanoseconds,
            flags: isKeyframe ? .keyframe : [],
            data: try accessUnit(bytes.span, atNanoseconds: entry.nanoseconds))
    }

    /// Annex B to 4-byte lengths, without delimiters and without the parameter sets that the track has anyway.
    private func accessUnit(
        _ stream: Span<UInt8>, atNanoseconds time: Int64
    ) throws(EncodingError) -> [UInt8] {
        do {
            var result: [UInt8] = []
            result.reserveCapacity(stream.count + 64)
            for unit in try AnnexB.nalUnits(in: stream) {
                let bytes = stream.extracting(unit.range)
                if unit.type == .accessUnitDelimiter { continue }
                if format.hasParameterSet(bytes) { continue }
                appendLengthPrefixed(bytes, to: &result)
            }
            return result
        } catch {
            throw .encodingFailed(
                settings.encoder, atNanoseconds: time, reason: error.description)
        }
    }

    private func check(_ result: Int32, atNanoseconds time: Int64) throws(EncodingError) {
        if result < 0 {
            throw .encodingFailed(
                settings.encoder, atNanoseconds: time, reason: CodecLibrary.reason(result))
        }
    }
}

extension H264Format {
    /// Whether the NAL unit is one of the parameter sets.
    fileprivate func hasParameterSet(_ unit: Span<UInt8>) -> Bool {
        for set in sequenceParameterSets + pictureParameterSets where set.count == unit.count {
            var index = 0
            while index < set.count, set[index] == unit[index] { index += 1 }
            if index == set.count { return true }
        }
        return false
    }
}

extension CodecHandle {
    /// An encoder that is ready for pictures.
    fileprivate static func openEncoder(
        _ settings: VideoEncoderSettings
    ) throws(EncodingError) -> CodecHandle {
        let name = settings.encoder
        guard let codec = avcodec_find_encoder_by_name(name),
            codec.pointee.id == AV_CODEC_ID_H264
        else { throw .noEncoder(name) }
        // libx264 itself would complain on the terminal.
        let presets = VideoEncoderSettings.x264Presets
        guard name != VideoEncoderSettings.x264 || presets.contains(settings.preset) else {
            throw .encoderRefused(
                name, reason: "its presets are \(presets.joined(separator: ", "))")
        }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.width = Int32(settings.size.width)
        context.pointee.height = Int32(settings.size.height)
        context.pointee.pix_fmt = av_get_pix_fmt(settings.pixelFormat.name)
        context.pointee.time_base = AVRational(num: 1, den: PictureTimes.ticksPerSecond)
        context.pointee.framerate = AVRational(
            num: settings.frameRate.numerator, den: settings.frameRate.denominator)
        context.pointee.sample_aspect_ratio = AVRational(
            num: Int32(settings.sampleAspectRatio?.horizontal ?? 1),
            den: Int32(settings.sampleAspectRatio?.vertical ?? 1))
        if let colour = settings.colour { handle.describe(colour) }
        context.pointee.bit_rate = Int64(settings.bitrate)
        context.pointee.rc_max_rate = Int64(settings.maximumBitrate)
        context.pointee.rc_buffer_size = Int32(clamping: settings.bufferBits)
        context.pointee.gop_size = Int32(
            clamping: max(
                1,
                settings.frameRate.pictures(
                    inNanoseconds: settings.keyframeInterval.nanoseconds)))
        context.pointee.max_b_frames = Int32(clamping: settings.bFrames)
        context.pointee.thread_count = Int32(clamping: settings.threads)
        context.pointee.flags |= CFFmpeg_CODEC_FLAG_GLOBAL_HEADER
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        for (key, value) in settings.libraryOptions { av_dict_set(&options, key, value, 0) }
        let result = avcodec_open2(context, codec, &options)
        guard result >= 0 else {
            throw .encoderRefused(name, reason: CodecLibrary.reason(result))
        }
        return handle
    }

    /// Says what the pictures' numbers mean.
    func describe(_ colour: ColourDescription) {
        context.pointee.color_primaries = AVColorPrimaries(UInt32(colour.primaries))
        context.pointee.color_trc = AVColorTransferCharacteristic(
            UInt32(colour.transferCharacteristics))
        context.pointee.colorspace = AVColorSpace(UInt32(colour.matrixCoefficients))
        context.pointee.color_range = colour.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
    }
}

extension VideoEncoderSettings {
    /// Options by libavcodec's names; an encoder ignores those that it does not know.
    fileprivate var libraryOptions: [(String, String)] {
        var options = [("preset", preset), ("profile", profile.rawValue)]
        if tune != .none { options.append(("tune", tune.rawValue)) }
        // zerolatency assumes a constant rate; this makes the rate control go by the pictures' times.
        if encoder == Self.x264 {
            options.append(("x264-params", hasConstantRate ? "force-cfr=1" : "force-cfr=0"))
        }
        return options
    }
}

extension Duration {
    /// Whole nanoseconds, rounded towards zero; beyond 292 years the longest there is.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, isOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLong) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isOverflow || isTooLong ? (seconds < 0 ? .min : .max) : sum
    }
}
