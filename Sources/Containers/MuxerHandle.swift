import CFFmpeg
import FFmpegSupport
import Media

/// Owns a libavformat muxer context, and its connection if it has one.
struct MuxerHandle: ~Copyable {
    let context: UnsafeMutablePointer<AVFormatContext>
    /// Retained for the library's callback.
    private let cancellation: Cancellation?
    private let connection = Connection()

    /// A class, so that `deinit` knows whether it is open.
    private final class Connection {
        var isOpen = false
    }

    init(
        _ format: ContainerFormat, url: String, cancellation: Cancellation?
    ) throws(ContainerError) {
        var context: UnsafeMutablePointer<AVFormatContext>?
        avformat_alloc_output_context2(&context, nil, format.name, url)
        guard let context else { throw .unknownFormat(format.name) }
        self.context = context
        self.cancellation = cancellation
        if let cancellation { context.pointee.interrupt_callback = interruption(by: cancellation) }
    }

    deinit {
        if connection.isOpen { avio_closep(&context.pointee.pb) }
        avformat_free_context(context)
    }

    /// A file's URL for the library, which opens it a second time to insert an index at its start.
    static func url(ofFile path: String) -> String { "file:" + path }

    /// Opens the address, unless the muxer does that itself.
    /// - Parameters:
    ///   - name: of the address in errors, because a URL may contain secrets.
    ///   - options: of the protocol, by libavformat's names; those in the URL precede.
    func connect(
        _ url: String, name: String, options: [String: String], _ cancellation: Cancellation?
    ) throws(ContainerError) {
        guard !connectsItself else { return }
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        for (key, value) in options { av_dict_set(&dictionary, key, value, 0) }
        var result: Int32 = 0
        let complaint = LibraryLog.complaint {
            result = withUnsafePointer(to: context.pointee.interrupt_callback) { callback in
                avio_open2(&context.pointee.pb, url, AVIO_FLAG_WRITE, callback, &dictionary)
            }
        }
        guard result >= 0 else {
            if cancellation?.isCancelled == true { throw .cancelled }
            throw .cannotOpen(
                name, reason: ConnectionFailure.reason(result, complaint: complaint, url: url))
        }
        connection.isOpen = true
    }

    /// Sets the output; the outlet must outlive the handle's use of it.
    func use(_ outlet: ByteOutlet) {
        context.pointee.pb = outlet.context
        context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    }

    /// Whether the muxer opens its connection when it writes the header, as that of RTSP does.
    var connectsItself: Bool { context.pointee.oformat.pointee.flags & AVFMT_NOFILE != 0 }

    /// Returns the library's result.
    func writeHeader(_ options: [String: String]) -> Int32 {
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        for (key, value) in options { av_dict_set(&dictionary, key, value, 0) }
        return avformat_write_header(context, &dictionary)
    }

    var bytesWritten: Int64 { context.pointee.pb.map { $0.pointee.bytes_written } ?? 0 }

    /// The first error of the output, or 0.
    var ioError: Int32 { context.pointee.pb.map { min(0, $0.pointee.error) } ?? 0 }

    func stream(_ index: Int) -> UnsafeMutablePointer<AVStream> {
        guard index < context.pointee.nb_streams, let stream = context.pointee.streams[index] else {
            preconditionFailure("libavformat lists a stream that is not there")
        }
        return stream
    }

    /// A new stream, as yet without a description.
    func newStream() -> UnsafeMutablePointer<AVStream> {
        guard let stream = avformat_new_stream(context, nil) else {
            preconditionFailure("out of memory")
        }
        return stream
    }

    /// Whether the container supports a codec, as far as the muxer knows.
    func holds(_ codec: AVCodecID) -> Bool {
        // The MPEG-TS muxer accepts any codec, and writes unknown ones as private data that readers ignore.
        if String(cString: context.pointee.oformat.pointee.name).hasSuffix("mpegts") {
            return Self.transportStreamCodecs.contains(codec)
        }
        return avformat_query_codec(context.pointee.oformat, codec, FF_COMPLIANCE_NORMAL) != 0
    }

    /// Video and audio codecs with an MPEG-TS stream type (ISO/IEC 13818-1 table 2-34), or a well-known registration.
    private static var transportStreamCodecs: [AVCodecID] {
        [
            AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H264,
            AV_CODEC_ID_HEVC, AV_CODEC_ID_VC1, AV_CODEC_ID_DIRAC, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3,
            AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3,
            AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_OPUS, AV_CODEC_ID_S302M,
        ]
    }

    /// The codec's four-character code in the input, if it is valid here; otherwise 0, and the muxer chooses.
    func tag(_ tag: UInt32, of codec: AVCodecID) -> UInt32 {
        av_codec_get_id(context.pointee.oformat.pointee.codec_tag, tag) == codec ? tag : 0
    }

    /// H.264 with length prefixes in AVI has the code `avc1`: for `H264`, the muxer requires start codes.
    func setLengthPrefixed(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
        guard String(cString: context.pointee.oformat.pointee.name) == "avi",
            parameters.pointee.codec_id == AV_CODEC_ID_H264,
            parameters.pointee.extradata_size > 0, parameters.pointee.extradata[0] == 1
        else { return }
        parameters.pointee.codec_tag = "avc1".utf8.reversed()
            .reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }

    /// Sets the sample entry of recordings: some players read no other.
    static func setEntry(of parameters: UnsafeMutablePointer<AVCodecParameters>) {
        guard let codec = VideoCodec(parameters.pointee.codec_id) else { return }
        parameters.pointee.codec_tag = codec.coding.entry.utf8.reversed()
            .reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }

    func add(_ track: ContainerTrack, to format: ContainerFormat) throws(ContainerError) {
        guard let codec = avcodec_descriptor_get_by_name(track.track.codec) else {
            throw .badTrack(
                codec: track.track.codec, reason: "the codec is not supported by libavcodec")
        }
        guard holds(codec.pointee.id) else {
            throw .cannotHold(
                format: format.description, codec: String(cString: codec.pointee.name).uppercased())
        }
        let stream = newStream()
        stream.pointee.id = Int32(context.pointee.nb_streams)
        stream.pointee.time_base = AVRational(
            num: 1, den: Int32(clamping: track.timescale.ticksPerSecond))
        guard let parameters = stream.pointee.codecpar else { preconditionFailure() }
        parameters.pointee.codec_id = codec.pointee.id
        parameters.pointee.codec_tag = tag(track.track.codecTag, of: codec.pointee.id)
        Self.setExtradata(track.track.configuration, of: parameters)
        setLengthPrefixed(parameters)
        switch track.track.content {
        case .picture(let picture):
            describe(picture, stream, parameters)
            if format.isISO { Self.setEntry(of: parameters) }
        case .sound(let sound):
            parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
            parameters.pointee.sample_rate = Int32(clamping: sound.sampleRate)
            parameters.pointee.bit_rate = sound.bitRate
            parameters.pointee.block_align = Int32(clamping: sound.blockBytes)
            parameters.pointee.bits_per_coded_sample = Int32(clamping: sound.bitsPerSample)
            parameters.pointee.initial_padding = Int32(clamping: track.primingFrames)
            parameters.pointee.frame_size = Int32(clamping: sound.packetFrames)
            av_channel_layout_default(
                &parameters.pointee.ch_layout, Int32(clamping: sound.channels))
        }
    }

    private func describe(
        _ picture: CodedTrack.Picture, _ stream: UnsafeMutablePointer<AVStream>,
        _ parameters: UnsafeMutablePointer<AVCodecParameters>
    ) {
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.width = Int32(clamping: picture.width)
        parameters.pointee.height = Int32(clamping: picture.height)
        if let format = picture.format {
            parameters.pointee.format = av_get_pix_fmt(format.name).rawValue
        }
        if let colour = picture.colour {
            parameters.pointee.color_primaries = AVColorPrimaries(UInt32(colour.primaries))
            parameters.pointee.color_trc = AVColorTransferCharacteristic(
                UInt32(colour.transferCharacteristics))
            parameters.pointee.color_space = AVColorSpace(UInt32(colour.matrixCoefficients))
            parameters.pointee.color_range =
                colour.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
        }
        if let ratio = picture.sampleAspectRatio {
            let value = AVRational(num: Int32(ratio.horizontal), den: Int32(ratio.vertical))
            stream.pointee.sample_aspect_ratio = value
            parameters.pointee.sample_aspect_ratio = value
        }
        if picture.orientation != .upright { turn(stream, picture) }
        if let rate = picture.rate {
            stream.pointee.avg_frame_rate = AVRational(num: rate.numerator, den: rate.denominator)
        }
    }

    /// Writes the display orientation, in containers that support it.
    private func turn(_ stream: UnsafeMutablePointer<AVStream>, _ picture: CodedTrack.Picture) {
        let matrix = DisplayMatrix(
            picture.orientation, width: UInt32(clamping: picture.width) << 16,
            height: UInt32(clamping: picture.height) << 16)
        let count = 4 * matrix.values.count
        guard let data = av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, count) else {
            preconditionFailure("out of memory")
        }
        for (index, value) in matrix.values.enumerated() {
            UnsafeMutableRawPointer(data).storeBytes(
                of: value, toByteOffset: 4 * index, as: UInt32.self)
        }
    }

    /// Replaces a stream's extradata.
    static func setExtradata(
        _ bytes: [UInt8], of parameters: UnsafeMutablePointer<AVCodecParameters>
    ) {
        guard !bytes.isEmpty else { return }
        av_free(parameters.pointee.extradata)
        guard let memory = av_mallocz(bytes.count + Int(CFFmpeg_INPUT_BUFFER_PADDING_SIZE)) else {
            preconditionFailure("out of memory")
        }
        bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: memory, count: $0.count).copyMemory(from: $0)
        }
        parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(bytes.count)
    }
}

/// The library polls it; `cancellation` must outlive its context.
func interruption(by cancellation: Cancellation) -> AVIOInterruptCB {
    AVIOInterruptCB(
        callback: { opaque in
            guard let opaque else { return 0 }
            return Unmanaged<Cancellation>.fromOpaque(opaque).takeUnretainedValue().isCancelled
                ? 1 : 0
        }, opaque: Unmanaged.passUnretained(cancellation).toOpaque())
}
