import CFFmpeg
import FFmpegSupport
package import Media

/// Codecs for exported pictures.
package enum PictureCodec: String, CaseIterable, Hashable, Sendable {
    case h264
    case hevc
    case av1

    /// libavcodec's encoders for it, in order of preference.
    fileprivate var encoders: [String] {
        switch self {
        case .h264: ["libx264"]
        case .hevc: ["libx265"]
        case .av1: ["libsvtav1", "libaom-av1"]
        }
    }

    /// Default CRF per codec, at comparable quality.
    package var usualQuality: Int {
        switch self {
        case .h264: 20
        case .hevc: 23
        case .av1: 32
        }
    }
}

/// Settings of a ``PictureEncoder``.
package struct PictureEncoderSettings: Hashable, Sendable {
    package var codec: PictureCodec
    package var size: PictureSize
    /// The nominal rate; pictures have their own times.
    package var frameRate: FrameRate
    /// `nil` for square pixels.
    package var sampleAspectRatio: SampleAspectRatio?
    /// Colour description; nil: unknown.
    package var colour: ColourDescription?
    /// Bits per second; nil: determined by the quality.
    package var bitrate: Int?
    /// The encoder's constant rate factor: lower is better and larger.
    package var quality: Int
    package var keyframeInterval = Duration.seconds(4)

    package init(codec: PictureCodec, size: PictureSize, frameRate: FrameRate) {
        self.codec = codec
        self.size = size
        self.frameRate = frameRate
        quality = codec.usualQuality
    }
}

/// An encoded packet, with times in the encoder's timescale.
package struct EncodedPacket: Sendable {
    package var pts: Int64
    package var dts: Int64
    package var duration: Int64
    package var isKeyframe: Bool
    package var bytes: [UInt8]
}

/// A libavcodec encoder for files, without a latency limit, for several codecs. ``VideoEncoder`` is for live streams.
///
/// Owns the handle; belongs to one thread.
package struct PictureEncoder: ~Copyable {
    /// Timescale of the packets' times.
    package static let timescale = Timescale.video

    /// Description of the packets for a container.
    package let track: CodedTrack
    private let name: String
    private let settings: PictureEncoderSettings
    private let handle: CodecHandle
    private let packet = PacketHandle()
    private let input = FrameBox()
    private var converter: PictureConverter
    private var lastTicks: Int64?
    /// Durations of the pictures being encoded.
    private var durations: [Int64: Int64] = [:]

    /// Opens the encoder.
    package init(_ settings: PictureEncoderSettings) throws(EncodingError) {
        // SVT-AV1 writes to the terminal, which only this environment variable prevents.
        setenv("SVT_LOG", "1", 0)
        guard
            let (name, codec) = settings.codec.encoders.lazy.compactMap({ name in
                avcodec_find_encoder_by_name(name).map { (name, $0) }
            }).first
        else { throw .noEncoder(settings.codec.encoders[0]) }
        let handle = CodecHandle(codec)
        let result = handle.open(codec, named: name, settings)
        guard result >= 0 else {
            throw .encoderRefused(name, reason: libraryErrorText(result))
        }
        let size = Int(handle.context.pointee.extradata_size)
        let extradata = UnsafeBufferPointer(start: handle.context.pointee.extradata, count: size)
        track = CodedTrack(
            codec: settings.codec.rawValue, codecTag: 0, configuration: Array(extradata),
            content: .picture(
                CodedTrack.Picture(
                    width: settings.size.width, height: settings.size.height, format: .yuv420p,
                    colour: settings.colour, rate: settings.frameRate, hasConstantRate: false,
                    sampleAspectRatio: settings.sampleAspectRatio)))
        self.name = name
        self.settings = settings
        self.handle = handle
        converter = PictureConverter(size: settings.size)
    }

    /// Encodes a picture, later than the previous one; `emit` receives finished packets in decoding order.
    ///
    /// The picture's time is relative to the start of the file.
    package mutating func encode(
        _ picture: RawFrame, emit: (EncodedPacket) throws -> Void
    ) throws {
        let ticks = try rescale(
            picture.captureNanoseconds, from: .nanoseconds, to: Self.timescale)
        // The second of two pictures with one time is dropped.
        if let lastTicks, ticks <= lastTicks { return }
        lastTicks = ticks
        durations[ticks] = max(
            1, try rescale(picture.durationNanoseconds, from: .nanoseconds, to: Self.timescale))
        let isReady =
            picture.width == settings.size.width && picture.height == settings.size.height
            && picture.format == .yuv420p
        let source = isReady ? picture : try converter.convert(picture)
        input.refer(to: source, format: AV_PIX_FMT_YUV420P)
        input.frame.pointee.pts = ticks
        input.frame.pointee.pict_type = AV_PICTURE_TYPE_NONE
        let result = avcodec_send_frame(handle.context, input.frame)
        av_frame_unref(input.frame)
        try check(result, at: picture.captureNanoseconds)
        try drain(at: picture.captureNanoseconds, emit: emit)
    }

    /// Ends the stream; `emit` receives the remaining packets.
    package mutating func finish(emit: (EncodedPacket) throws -> Void) throws {
        try check(avcodec_send_frame(handle.context, nil), at: 0)
        try drain(at: 0, emit: emit)
    }

    private mutating func drain(
        at time: Int64, emit: (EncodedPacket) throws -> Void
    ) throws {
        while true {
            let result = avcodec_receive_packet(handle.context, packet.packet)
            if result == CFFmpeg_ERROR_EAGAIN || result == CFFmpeg_ERROR_EOF { return }
            try check(result, at: time)
            defer { av_packet_unref(packet.packet) }
            let made = packet.packet.pointee
            try emit(
                EncodedPacket(
                    pts: made.pts, dts: made.dts,
                    duration: durations.removeValue(forKey: made.pts) ?? 1,
                    isKeyframe: made.flags & AV_PKT_FLAG_KEY != 0,
                    bytes: Array(UnsafeBufferPointer(start: made.data, count: Int(made.size)))))
        }
    }

    private func check(_ result: Int32, at time: Int64) throws(EncodingError) {
        if result < 0 {
            throw .encodingFailed(name, atNanoseconds: time, reason: libraryErrorText(result))
        }
    }
}

extension CodecHandle {
    /// Opens an encoder; returns the library's result.
    fileprivate func open(
        _ codec: UnsafePointer<AVCodec>, named name: String, _ settings: PictureEncoderSettings
    ) -> Int32 {
        context.pointee.width = Int32(settings.size.width)
        context.pointee.height = Int32(settings.size.height)
        context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
        context.pointee.time_base = AVRational(
            num: 1, den: Int32(PictureEncoder.timescale.ticksPerSecond))
        context.pointee.framerate = AVRational(
            num: settings.frameRate.numerator, den: settings.frameRate.denominator)
        if let ratio = settings.sampleAspectRatio {
            context.pointee.sample_aspect_ratio = AVRational(
                num: Int32(ratio.horizontal), den: Int32(ratio.vertical))
        }
        if let colour = settings.colour { describe(colour) }
        context.pointee.gop_size = Int32(
            clamping: max(
                1, settings.frameRate.pictures(inNanoseconds: settings.keyframeInterval.nanoseconds)
            ))
        context.pointee.thread_count = 0
        context.pointee.flags |= CFFmpeg_CODEC_FLAG_GLOBAL_HEADER
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        func set(_ key: String, _ value: String) { av_dict_set(&options, key, value, 0) }
        if let bitrate = settings.bitrate {
            context.pointee.bit_rate = Int64(bitrate)
        } else {
            set("crf", "\(settings.quality)")
        }
        switch name {
        case "libx265":
            set("preset", "fast")
            set("x265-params", "log-level=none")
        case "libsvtav1": set("preset", "8")
        case "libaom-av1": set("cpu-used", "6")
        default: set("preset", "fast")
        }
        return avcodec_open2(context, codec, &options)
    }
}
