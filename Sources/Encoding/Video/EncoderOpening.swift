import CFFmpeg
import FFmpegSupport
import Media

extension CodecHandle {
    static func openEncoder(
        _ settings: VideoEncoderSettings, _ family: EncoderFamily,
        surfaces: HardwareSurfaces?
    ) throws(EncodingError) -> CodecHandle {
        let name = settings.encoder
        guard let codec = avcodec_find_encoder_by_name(name),
            CodecLibrary.codec(ofEncoder: name) != nil
        else { throw .noEncoder(name) }
        // The encoder itself would write an error to the terminal.
        let presets = VideoEncoderSettings.x264Presets
        guard !family.isSoftware || presets.contains(settings.preset) else {
            throw .encoderRefused(
                name, reason: "its presets are \(presets.joined(separator: ", "))")
        }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.width = Int32(settings.size.width)
        context.pointee.height = Int32(settings.size.height)
        context.pointee.pix_fmt = av_get_pix_fmt(
            family.inputFormat(for: settings.pixelFormat).name)
        handle.use(surfaces)
        context.pointee.time_base = AVRational(num: 1, den: PictureTimes.ticksPerSecond)
        context.pointee.framerate = AVRational(
            num: settings.frameRate.numerator, den: settings.frameRate.denominator)
        context.pointee.sample_aspect_ratio = AVRational(
            num: Int32(settings.sampleAspectRatio?.horizontal ?? 1),
            den: Int32(settings.sampleAspectRatio?.vertical ?? 1))
        if let colour = settings.colour { handle.describe(colour) }
        handle.set(settings.rate)
        context.pointee.gop_size = Int32(
            clamping: max(
                1,
                settings.frameRate.pictures(
                    inNanoseconds: settings.keyframeInterval.nanoseconds)))
        context.pointee.max_b_frames = Int32(clamping: settings.bFrames)
        context.pointee.thread_count = Int32(clamping: settings.threads)
        context.pointee.flags |= CFFmpeg_CODEC_FLAG_GLOBAL_HEADER
        if let profile = family.profileNumber(for: settings) {
            context.pointee.profile = profile
        }
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        for (key, value) in family.options(for: settings) { av_dict_set(&options, key, value, 0) }
        var result: Int32 = 0
        let complaint = LibraryLog.complaint { result = avcodec_open2(context, codec, &options) }
        guard result >= 0 else {
            throw .encoderRefused(name, reason: complaint ?? libraryErrorText(result))
        }
        return handle
    }

    /// Sets the parameters of the rate control.
    func set(_ rate: VideoRate) {
        context.pointee.bit_rate = Int64(rate.average)
        context.pointee.rc_max_rate = Int64(rate.maximum)
        context.pointee.rc_buffer_size = Int32(clamping: rate.bufferBits)
    }

    func describe(_ colour: ColourDescription) {
        context.pointee.color_primaries = AVColorPrimaries(UInt32(colour.primaries))
        context.pointee.color_trc = AVColorTransferCharacteristic(
            UInt32(colour.transferCharacteristics))
        context.pointee.colorspace = AVColorSpace(UInt32(colour.matrixCoefficients))
        context.pointee.color_range = colour.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
    }
}
