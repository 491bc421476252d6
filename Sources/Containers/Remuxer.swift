import CFFmpeg
import FFmpegSupport
import Glibc
import Media

/// Puts a file's packets into another container as they are: nothing is decoded, nothing is encoded.
///
/// Owns both handles; belongs to one thread.
package struct Remuxer: ~Copyable {
    /// Streams that have no place in the output, each in words.
    package let leftOut: [String]
    /// How long the file says it is, nanoseconds.
    package let durationNanoseconds: Int64?
    /// How far it has come in the file's time, nanoseconds.
    package private(set) var positionNanoseconds: Int64 = 0
    /// Packets written so far.
    package private(set) var packets = 0
    /// By how much earlier than the file shows them the output begins with pictures, because its container cannot hide what
    /// is needed to decode the first one; nanoseconds.
    package private(set) var earlierNanoseconds: Int64 = 0

    private let input: InputHandle
    private let output: MuxerHandle
    private let outlet: ByteOutlet
    private let outputName: String
    private let packet = PacketHandle()
    private let cancellation: Cancellation?
    /// By the input's streams; nil for what is left out.
    private var routes: [Route?]

    /// What becomes of one stream.
    private struct Route {
        let output: Int32
        let codec: String
        /// The next decoding time where the container does not say, in the input's ticks.
        var next: Int64?
        var read = 0
        var lastDTS: Int64?
        /// What the file's edit list hides.
        var hidden: HiddenPackets<PacketHandle>
        /// Makes packets of pictures, where the stream is H.264.
        var pictures: StreamPictures?
    }

    private let format: ContainerFormat

    /// Opens both.
    ///
    /// - Parameters:
    ///   - outputPath: where it is written.
    ///   - outputName: how that is called in errors.
    package init(
        _ path: String, to outputPath: String, named outputName: String, format: ContainerFormat,
        muxerOptions: [String: String] = [:], cancellation: Cancellation? = nil
    ) throws(ContainerError) {
        let input = try InputHandle(path, cancellation: cancellation)
        let output = try MuxerHandle(
            format, url: MuxerHandle.url(ofFile: outputPath), cancellation: cancellation)
        var routes: [Route?] = []
        var leftOut: [String] = []
        for index in 0..<input.streamCount {
            let stream = input.stream(index)
            let name = Self.codecName(stream)
            guard try Self.isWanted(stream, in: output, format, path) else {
                leftOut.append("stream \(index) (\(name))")
                stream.pointee.discard = AVDISCARD_ALL
                routes.append(nil)
                continue
            }
            try Self.copyDescription(of: stream, to: output)
            let number = output.context.pointee.nb_streams - 1
            if let configuration = try InBandParameterSets.configuration(
                of: stream, in: path, cancellation: cancellation),
                let parameters = output.stream(Int(number)).pointee.codecpar
            {
                MuxerHandle.setExtradata(configuration, of: parameters)
                // Not "avc3" any longer.
                parameters.pointee.codec_tag = 0
            }
            // Containers without edit lists get no more sound in front than the first frame needs.
            let isPicture = stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
            routes.append(
                Route(
                    output: Int32(number), codec: name, next: Self.firstDecodingTime(stream),
                    hidden: HiddenPackets(keepsStart: isPicture || format.isISO),
                    pictures: StreamPictures(stream)))
        }
        guard routes.contains(where: { $0 != nil }) else {
            throw .cannotRead(path, reason: "it has no video and no audio")
        }
        av_dict_copy(&output.context.pointee.metadata, input.context.pointee.metadata, 0)
        let outlet = try ByteOutlet(creating: outputPath, cancellation: cancellation)
        output.use(outlet)
        let result = output.writeHeader(muxerOptions)
        guard result >= 0 else {
            if result == -EINVAL, outlet.failure == nil {
                throw .cannotHold(
                    format: format.description,
                    codec: routes.compactMap { $0?.codec.uppercased() }.joined(separator: " with "))
            }
            throw .cannotOpen(outputName, reason: outlet.failure ?? libraryErrorText(result))
        }
        self.format = format
        self.leftOut = leftOut
        durationNanoseconds = input.durationMicroseconds.map { $0 * 1_000 }
        self.outlet = outlet
        self.input = input
        self.output = output
        self.outputName = outputName
        self.routes = routes
        self.cancellation = cancellation
    }

    /// Bytes that have been made so far.
    package var bytesWritten: Int64 { output.bytesWritten }

    /// Moves one packet; false at the end.
    package mutating func step() throws(ContainerError) -> Bool {
        if cancellation?.isCancelled == true { throw .cancelled }
        let packet = packet.packet
        let result = av_read_frame(input.context, packet)
        if result == CFFmpeg_ERROR_EOF {
            for index in routes.indices {
                guard var route = routes[index] else { continue }
                for handle in route.pictures?.finish() ?? [] {
                    try pass(handle, &route, of: input.stream(index))
                }
                routes[index] = route
            }
            try checkIsComplete()
            return false
        }
        guard result >= 0 else {
            if cancellation?.isCancelled == true { throw .cancelled }
            throw .cannotRead(
                input.path,
                reason:
                    "past \(positionNanoseconds / 1_000_000_000) s: \(libraryErrorText(result))")
        }
        defer { av_packet_unref(packet) }
        let index = Int(packet.pointee.stream_index)
        guard index < routes.count, var route = routes[index] else { return true }
        if packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0,
            let io = input.context.pointee.pb, avio_feof(io) != 0
        {
            throw .truncated(input.path, atNanoseconds: positionNanoseconds)
        }
        guard av_packet_get_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, nil) == nil else {
            throw .cannotRead(input.path, reason: Self.encrypted)
        }
        guard !Self.changesFormat(packet, of: input.stream(index)) else {
            throw .cannotRead(
                input.path,
                reason:
                    "its \(route.codec) changes its format at \(positionNanoseconds / 1_000_000_000) s, which one track "
                    + "cannot hold: use 'tributary import', or transcode it with ffmpeg -i FILE NEW.mp4"
            )
        }
        route.read += 1
        let handle = PacketHandle(taking: packet)
        for handle in route.pictures?.add(handle) ?? [handle] {
            try pass(handle, &route, of: input.stream(index))
        }
        routes[index] = route
        return true
    }

    /// Writes a picture, or a packet of another codec, unless it is hidden and not needed.
    private mutating func pass(
        _ handle: PacketHandle, _ route: inout Route, of stream: UnsafeMutablePointer<AVStream>
    ) throws(ContainerError) {
        let flags = handle.packet.pointee.flags
        let due = route.hidden.add(
            handle, isHidden: flags & AV_PKT_FLAG_DISCARD != 0,
            isKeyframe: flags & AV_PKT_FLAG_KEY != 0)
        for held in due { try write(held.packet, &route, of: stream) }
    }

    private mutating func write(
        _ packet: UnsafeMutablePointer<AVPacket>, _ route: inout Route,
        of stream: UnsafeMutablePointer<AVStream>
    ) throws(ContainerError) {
        try setTimes(packet, &route, of: stream)
        packet.pointee.stream_index = route.output
        packet.pointee.pos = -1
        let written = av_interleaved_write_frame(output.context, packet)
        guard written >= 0 else {
            if cancellation?.isCancelled == true { throw .cancelled }
            throw .cannotWrite(outputName, reason: outlet.failure ?? libraryErrorText(written))
        }
        packets += 1
    }

    /// Writes what belongs at the end.
    package consuming func finish() throws(ContainerError) {
        var result = av_write_trailer(output.context)
        if result >= 0, let io = output.context.pointee.pb {
            avio_flush(io)
            result = output.ioError
        }
        guard result >= 0 else {
            if cancellation?.isCancelled == true { throw .cancelled }
            throw .cannotWrite(outputName, reason: outlet.failure ?? libraryErrorText(result))
        }
    }
}

extension Remuxer {
    private static let encrypted = "it is encrypted and cannot be read"

    /// Whether a stream goes along. Picture and sound have to; what else a file has goes where the container takes it.
    private static func isWanted(
        _ stream: UnsafeMutablePointer<AVStream>, in output: borrowing MuxerHandle,
        _ format: ContainerFormat, _ path: String
    ) throws(ContainerError) -> Bool {
        guard let parameters = stream.pointee.codecpar else { return false }
        guard !stream.isEncrypted else { throw .cannotRead(path, reason: encrypted) }
        switch parameters.pointee.codec_type {
        case AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO:
            if stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 { return false }
            guard parameters.pointee.codec_id != AV_CODEC_ID_NONE else { return false }
            guard output.holds(parameters.pointee.codec_id) else {
                throw .cannotHold(
                    format: format.description, codec: codecName(stream).uppercased())
            }
            if parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO {
                guard parameters.pointee.width > 0, parameters.pointee.height > 0 else {
                    throw .cannotRead(
                        path, reason: "its video has no frame size: it holds no complete picture")
                }
            } else {
                guard parameters.pointee.sample_rate > 0 else {
                    throw .cannotRead(path, reason: "its audio has no sample rate")
                }
            }
            return true
        case AVMEDIA_TYPE_SUBTITLE: return output.takesSubtitle(parameters.pointee.codec_id)
        default: return false
        }
    }

    /// Whether a packet needs another description than its stream has (several entries of an `stsd` box): muxers write the first
    /// one only.
    private static func changesFormat(
        _ packet: UnsafeMutablePointer<AVPacket>, of stream: UnsafeMutablePointer<AVStream>
    ) -> Bool {
        var size = 0
        guard let data = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size),
            let parameters = stream.pointee.codecpar
        else { return false }
        return UnsafeRawBufferPointer(start: data, count: size).elementsEqual(
            UnsafeRawBufferPointer(
                start: parameters.pointee.extradata,
                count: Int(parameters.pointee.extradata_size))) == false
    }

    private static func codecName(_ stream: UnsafeMutablePointer<AVStream>) -> String {
        guard let parameters = stream.pointee.codecpar else { return "unknown" }
        return String(cString: avcodec_get_name(parameters.pointee.codec_id))
    }

    private static func copyDescription(
        of source: UnsafeMutablePointer<AVStream>, to output: borrowing MuxerHandle
    ) throws(ContainerError) {
        let target = output.newStream()
        guard let parameters = target.pointee.codecpar,
            avcodec_parameters_copy(parameters, source.pointee.codecpar) >= 0
        else { preconditionFailure("out of memory") }
        parameters.pointee.codec_tag = output.tag(
            parameters.pointee.codec_tag, of: parameters.pointee.codec_id)
        target.pointee.time_base = source.pointee.time_base
        target.pointee.avg_frame_rate = source.pointee.avg_frame_rate
        target.pointee.r_frame_rate = source.pointee.r_frame_rate
        target.pointee.sample_aspect_ratio = source.pointee.sample_aspect_ratio
        target.pointee.disposition = source.pointee.disposition
        av_dict_copy(&target.pointee.metadata, source.pointee.metadata, 0)
        // How the picture is turned, among others.
        for index in 0..<Int(source.pointee.nb_side_data) {
            let side = source.pointee.side_data[index]
            guard let copy = av_stream_new_side_data(target, side.type, side.size) else {
                preconditionFailure("out of memory")
            }
            UnsafeMutableRawPointer(copy).copyMemory(from: side.data, byteCount: side.size)
        }
    }

    /// Where decoding begins when the container does not say: as long before presentation as pictures are reordered.
    private static func firstDecodingTime(_ stream: UnsafeMutablePointer<AVStream>) -> Int64? {
        guard let parameters = stream.pointee.codecpar,
            parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO,
            stream.pointee.avg_frame_rate.num > 0
        else { return nil }
        let picture = av_rescale_q(
            1, av_inv_q(stream.pointee.avg_frame_rate), stream.pointee.time_base)
        let start = stream.pointee.start_time
        return (start == CFFmpeg_NOPTS_VALUE ? 0 : start) - Int64(parameters.pointee.video_delay)
            * picture
    }

    /// The packet's times in the output's ticks, from the file's earliest time on.
    private mutating func setTimes(
        _ packet: UnsafeMutablePointer<AVPacket>, _ route: inout Route,
        of stream: UnsafeMutablePointer<AVStream>
    ) throws(ContainerError) {
        guard packet.pointee.pts != CFFmpeg_NOPTS_VALUE || packet.pointee.dts != CFFmpeg_NOPTS_VALUE
        else {
            throw .cannotRead(
                input.path,
                reason:
                    "its \(route.codec) has no timestamps: remux it to a container with timestamps first"
            )
        }
        if packet.pointee.dts == CFFmpeg_NOPTS_VALUE {
            packet.pointee.dts = min(packet.pointee.pts, route.next ?? packet.pointee.pts)
        }
        if packet.pointee.pts == CFFmpeg_NOPTS_VALUE { packet.pointee.pts = packet.pointee.dts }
        route.next = packet.pointee.dts + packet.pointee.duration
        let base = stream.pointee.time_base
        let origin = av_rescale_q(
            input.startMicroseconds, AVRational(num: 1, den: Int32(AV_TIME_BASE)), base)
        packet.pointee.pts -= origin
        packet.pointee.dts -= origin
        let nanoseconds = av_rescale_q(
            packet.pointee.pts, base, AVRational(num: 1, den: 1_000_000_000))
        positionNanoseconds = max(positionNanoseconds, nanoseconds)
        if !format.isISO, packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0,
            stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
        {
            earlierNanoseconds = max(earlierNanoseconds, -nanoseconds)
        }
        av_packet_rescale_ts(packet, base, output.stream(Int(route.output)).pointee.time_base)
        // A coarser clock may put two on one tick.
        if let last = route.lastDTS, packet.pointee.dts <= last {
            packet.pointee.dts = last + 1
            packet.pointee.pts = max(packet.pointee.pts, packet.pointee.dts)
        }
        route.lastDTS = packet.pointee.dts
    }

    /// A container with an index knows how many packets there should have been, others how long they should last.
    private func checkIsComplete() throws(ContainerError) {
        for (index, route) in routes.enumerated() {
            guard let route else { continue }
            if route.read < avformat_index_get_entries_count(input.stream(index)),
                input.hasPacketIndex
            {
                throw .truncated(input.path, atNanoseconds: positionNanoseconds)
            }
        }
        if packets == 0 { throw .cannotRead(input.path, reason: "it has no packets") }
        if !input.hasPacketIndex, let stated = durationNanoseconds, isStated,
            positionNanoseconds + Self.durationTolerance < stated
        {
            throw .truncated(input.path, atNanoseconds: positionNanoseconds)
        }
    }

    /// The file says its length itself; otherwise the library has guessed it.
    private var isStated: Bool {
        input.context.pointee.duration_estimation_method == AVFMT_DURATION_FROM_STREAM
    }

    /// What headers say is rounded, and may count a last picture that others do not.
    private static let durationTolerance: Int64 = 1_000_000_000
}

extension MuxerHandle {
    /// Whether it takes subtitles of that codec as they are.
    func takesSubtitle(_ codec: AVCodecID) -> Bool {
        codec != AV_CODEC_ID_NONE
            && avformat_query_codec(context.pointee.oformat, codec, FF_COMPLIANCE_NORMAL) == 1
    }
}
