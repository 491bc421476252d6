import CFFmpeg
import FFmpegSupport
package import Media

/// An encoder of libavcodec for a codec of recordings: input are raw pictures, output are access units with exact times.
///
/// Pictures in the settings' format and size are encoded in place (a hardware encoder may need NV12); others are
/// converted first. Owns the handle; belongs to one thread.
package struct VideoEncoder: ~Copyable {
    /// Parameter sets and size of the output.
    package let format: VideoFormat
    package private(set) var settings: VideoEncoderSettings

    private let handle: CodecHandle
    private let surfaces: HardwareSurfaces?
    private let inputFormat: PixelFormat
    private let packet = PacketHandle()
    private let input = FrameBox()
    private var converter: PictureConverter
    private var times = PictureTimes()
    private var keyframes: KeyframeSchedule

    /// Opens the encoder. A hardware encoder has to encode a test picture first, because many open and then
    /// fail.
    package init(_ settings: VideoEncoderSettings) throws(EncodingError) {
        let family = EncoderFamily(settings.encoder)
        let surfaces = try HardwareSurfaces(for: settings, family)
        let handle = try CodecHandle.openEncoder(settings, family, surfaces: surfaces)
        format = try ParameterSets.format(of: handle, settings, family)
        self.settings = settings
        inputFormat = family.inputFormat(for: settings.pixelFormat)
        converter = PictureConverter(size: settings.size, format: inputFormat)
        keyframes = KeyframeSchedule(intervalNanoseconds: settings.keyframeInterval.nanoseconds)
        self.surfaces = surfaces
        self.handle = handle
    }

    /// Makes the next picture a keyframe.
    package mutating func requestKeyframe() { keyframes.request() }

    /// Changes the bitrate from the next picture on.
    ///
    /// - Returns: false if this encoder cannot change it while running, or not beyond its H.264 level: open another
    ///   one.
    package mutating func change(to rate: VideoRate) -> Bool {
        let isWithinLevel =
            rate.maximum <= settings.maximumBitrate && rate.bufferBits <= settings.bufferBits
        // Only libx264 supports it (`reconfig_encoder`).
        guard settings.encoder == VideoEncoderSettings.x264, isWithinLevel else { return false }
        handle.set(rate)
        settings.bitrate = rate.average
        return true
    }

    /// Encodes a picture, later than the previous one; `emit` receives finished samples in decoding order.
    package mutating func encode(
        _ picture: RawFrame, emit: (EncodedSample) -> Void
    ) throws(EncodingError) {
        let time = picture.captureNanoseconds
        let source = try converted(picture)
        input.refer(to: source, format: av_get_pix_fmt(source.format.name))
        try surfaces?.upload(input.frame)
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

    /// Ends the stream; `emit` receives the remaining samples.
    package mutating func finish(emit: (EncodedSample) -> Void) throws(EncodingError) {
        try check(avcodec_send_frame(handle.context, nil), atNanoseconds: 0)
        try drain(atNanoseconds: 0, emit: emit)
    }

    private mutating func converted(_ picture: RawFrame) throws(EncodingError) -> RawFrame {
        let isRightSize =
            picture.width == settings.size.width && picture.height == settings.size.height
        if isRightSize, picture.format == inputFormat { return picture }
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
                reason: "it returned a picture that was not submitted")
        }
        let bytes = UnsafeBufferPointer(start: packet.data, count: Int(packet.size))
        let data = try accessUnit(bytes.span, atNanoseconds: entry.nanoseconds)
        // Some encoders flag more pictures than those at which decoding can begin.
        var isKeyframe = packet.flags & AV_PKT_FLAG_KEY != 0
        if isKeyframe {
            isKeyframe = try isAccessPoint(data, atNanoseconds: entry.nanoseconds)
        }
        if isKeyframe { keyframes.made(atNanoseconds: entry.nanoseconds) }
        return EncodedSample(
            track: .video, ptsNanoseconds: entry.nanoseconds,
            dtsNanoseconds: min(entry.nanoseconds, times.decodingTime(tick: packet.dts)),
            durationNanoseconds: entry.durationNanoseconds,
            flags: isKeyframe ? .keyframe : [], data: data)
    }

    private func isAccessPoint(
        _ accessUnit: [UInt8], atNanoseconds time: Int64
    ) throws(EncodingError) -> Bool {
        do throws(BitstreamError) {
            return try CodedPicture(of: accessUnit.span, format.codec).accessPoint == .sync
        } catch {
            throw .encodingFailed(
                settings.encoder, atNanoseconds: time, reason: error.description)
        }
    }

    /// Annex B to 4-byte lengths, without delimiters and without the track's own parameter sets.
    private func accessUnit(
        _ stream: Span<UInt8>, atNanoseconds time: Int64
    ) throws(EncodingError) -> [UInt8] {
        do {
            var result: [UInt8] = []
            result.reserveCapacity(stream.count + 64)
            for unit in try AnnexB.nalUnits(in: stream) {
                let bytes = stream.extracting(unit.range)
                if format.codec.kind(of: unit) == .delimiter { continue }
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
                settings.encoder, atNanoseconds: time, reason: libraryErrorText(result))
        }
    }
}

extension Duration {
    /// Whole nanoseconds, rounded towards zero; clamped to 292 years.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, isOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLong) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isOverflow || isTooLong ? (seconds < 0 ? .min : .max) : sum
    }
}
