import CFFmpeg
import FFmpegSupport
import Glibc
package import Media

/// Copies a file's packets into another container, without decoding or encoding.
///
/// Owns both handles; belongs to one thread.
package struct Remuxer: ~Copyable {
    /// Descriptions of the streams that the output does not contain.
    package private(set) var leftOut: [String]
    /// Duration of the file, nanoseconds.
    package let durationNanoseconds: Int64?
    /// Progress after the file's start, nanoseconds.
    package private(set) var positionNanoseconds: Int64 = 0
    /// The end of the last packet, after the file's start.
    private var endNanoseconds: Int64 = 0
    /// Packets written so far.
    package private(set) var packets = 0
    /// Lead of the output's pictures over the file's presentation, if the container cannot hide pictures that are
    /// needed to decode the first one; nanoseconds.
    package private(set) var earlierNanoseconds: Int64 = 0

    private let input: InputHandle
    private let output: MuxerHandle
    private let outlet: ByteOutlet
    private let outputName: String
    private let packet = PacketHandle()
    private let cancellation: Cancellation?
    /// By the input's streams; nil for streams that are not copied.
    private var routes: [Route?]
    /// Packets hidden by the file's edit list, by the output's streams.
    private var hidden: [HiddenPackets<PacketTimeline<PacketHandle>.Timed>]
    /// Repairs the packets' times; its tracks are the output's streams.
    private var timeline: PacketTimeline<PacketHandle>
    /// The file's time at the output's zero, nanoseconds.
    private let originNanoseconds: Int64

    /// The mapping of one stream.
    private struct Route {
        let output: Int32
        let codec: String
        let isPicture: Bool
        /// Packets read, without empty ones.
        var read = 0
        /// Assembles pictures of a codec of recordings.
        var pictures: StreamPictures?
        /// Headers of self-contained packets of audio, which repeat its format.
        var framing: (any AudioFraming)?
    }

    private let format: ContainerFormat

    /// Opens both files.
    ///
    /// - Parameters:
    ///   - outputPath: the file to write.
    ///   - outputName: its name in errors.
    package init(
        _ path: String, to outputPath: String, named outputName: String, format: ContainerFormat,
        muxerOptions: [String: String] = [:], cancellation: Cancellation? = nil
    ) throws(ContainerError) {
        let input = try InputHandle(path, cancellation: cancellation)
        guard !input.hasDamagedFragments else {
            throw .cannotRead(
                path,
                reason:
                    "parts of it are lost: use 'tributary import', which leaves them out, and 'tributary export'"
            )
        }
        let origin = try Self.nanoseconds(fromMicroseconds: input.startMicroseconds, path)
        let output = try MuxerHandle(
            format, url: MuxerHandle.url(ofFile: outputPath), cancellation: cancellation)
        var routes: [Route?] = []
        var hidden: [HiddenPackets<PacketTimeline<PacketHandle>.Timed>] = []
        var leftOut: [String] = []
        for index in 0..<input.streamCount {
            let stream = input.stream(index)
            let name = Self.codecName(stream)
            guard try Self.isWanted(stream, in: output, format, path) else {
                leftOut.append(Self.text(index, stream))
                stream.pointee.discard = AVDISCARD_ALL
                routes.append(nil)
                continue
            }
            let configuration = try InBandParameterSets.configuration(
                of: stream, in: path, cancellation: cancellation)
            let number = Self.addStream(like: stream, configuration, to: output, format)
            // Containers without edit lists get no more audio before the start than the first frame needs.
            let isPicture = stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
            for property in ContainerProperty.all(of: stream) where !format.states(property) {
                leftOut.append("\(property.text) of stream \(index)")
            }
            routes.append(
                Route(
                    output: number, codec: name, isPicture: isPicture,
                    pictures: StreamPictures(stream)))
            hidden.append(HiddenPackets(keepsStart: isPicture || format.isISO))
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
        timeline = try Self.timeline(of: routes, input, output)
        originNanoseconds = origin
        self.format = format
        self.leftOut = leftOut
        durationNanoseconds = input.durationMicroseconds.flatMap {
            let (duration, isOverflow) = $0.multipliedReportingOverflow(by: 1_000)
            return isOverflow ? nil : duration
        }
        self.outlet = outlet
        self.input = input
        self.output = output
        self.outputName = outputName
        self.routes = routes
        self.hidden = hidden
        self.cancellation = cancellation
    }

    /// Bytes written so far.
    package var bytesWritten: Int64 { output.bytesWritten }

    /// Copies one packet; false at the end.
    package mutating func step() throws(ContainerError) -> Bool {
        if cancellation?.isCancelled == true { throw .cancelled }
        let packet = packet.packet
        let result = av_read_frame(input.context, packet)
        if result == CFFmpeg_ERROR_EOF {
            try writeRest()
            try checkIsComplete()
            noteUnlisted()
            return false
        }
        guard result >= 0 else {
            if cancellation?.isCancelled == true { throw .cancelled }
            throw .cannotRead(
                input.path,
                reason: "past \(positionNanoseconds / 1_000_000_000) s: \(libraryErrorText(result))"
            )
        }
        defer { av_packet_unref(packet) }
        let index = Int(packet.pointee.stream_index)
        guard index < routes.count else {
            let type = input.stream(index).pointee.codecpar?.pointee.codec_type
            guard type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO else { return true }
            throw beginsLate(index, at: time(of: packet))
        }
        guard var route = routes[index] else { return true }
        if packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0,
            let io = input.context.pointee.pb, avio_feof(io) != 0
        {
            throw .truncated(input.path, atNanoseconds: positionNanoseconds)
        }
        guard av_packet_get_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, nil) == nil else {
            throw .cannotRead(input.path, reason: Self.encrypted)
        }
        let instant = time(of: packet)
        guard !Self.changesFormat(packet, of: input.stream(index)) else {
            throw changesFormat(route, at: instant)
        }
        if packet.pointee.size > 0 { route.read += 1 }
        let handle = PacketHandle(taking: packet)
        try check(handle, &route, of: input.stream(index), at: instant)
        let complete: [PacketHandle]
        do throws(BitstreamError) {
            complete = try Self.pictures(handle, &route)
        } catch {
            throw damage(of: route, at: instant, error)
        }
        routes[index] = route
        for picture in complete { try time(picture, route, of: input.stream(index)) }
        return true
    }

    /// Checks the header of a self-contained packet of audio: one track has one format.
    private func check(
        _ handle: PacketHandle, _ route: inout Route, of stream: UnsafeMutablePointer<AVStream>,
        at time: Int64
    ) throws(ContainerError) {
        guard let parameters = stream.pointee.codecpar, parameters.pointee.extradata_size == 0,
            let codec = AudioCodec(parameters.pointee.codec_id)
        else { return }
        let packet = Array(
            UnsafeBufferPointer(
                start: handle.packet.pointee.data, count: Int(handle.packet.pointee.size)))
        let isSame: Bool
        do throws(BitstreamError) {
            if route.framing == nil { route.framing = try codec.coding.framing(of: packet) }
            isSame = try Self.payload(of: packet, route) != nil
        } catch {
            // Losses of a transport stream are copied, and reported.
            guard input.losses == nil else { return }
            throw damage(of: route, at: time, error)
        }
        guard isSame else { throw changesFormat(route, at: time) }
    }

    private static func payload(
        of packet: [UInt8], _ route: Route
    ) throws(BitstreamError) -> [UInt8]? {
        guard let framing = route.framing else { return packet }
        return try framing.payload(of: packet)
    }

    /// Adds a packet; returns the pictures that it completes.
    private static func pictures(
        _ handle: PacketHandle, _ route: inout Route
    ) throws(BitstreamError) -> [PacketHandle] {
        guard var pictures = route.pictures else { return [handle] }
        let complete = try pictures.add(handle)
        route.pictures = pictures
        return complete
    }

    private func damage(
        of route: Route, at time: Int64, _ error: BitstreamError
    ) -> ContainerError {
        .cannotRead(
            input.path,
            reason: "its \(route.codec) is damaged at \(time / 1_000_000_000) s: \(error)")
    }

    private func changesFormat(_ route: Route, at time: Int64) -> ContainerError {
        .cannotRead(
            input.path,
            reason:
                "its \(route.codec) changes its format at \(time / 1_000_000_000) s, which one track "
                + "cannot hold: \(route.isPicture ? "use 'tributary import', or" : "cut it there, or") transcode it with "
                + "ffmpeg -i FILE NEW.mp4")
    }

    private func beginsLate(_ index: Int, at time: Int64) -> ContainerError {
        .cannotRead(
            input.path,
            reason:
                "\(Self.text(index, input.stream(index))) begins at \(time / 1_000_000_000) s, after the "
                + "output has begun: use 'tributary import', or cut the file there")
    }

    /// The time of a packet after the file's start; that of the last one written if it has none.
    private func time(of packet: UnsafeMutablePointer<AVPacket>) -> Int64 {
        let packet = packet.pointee
        let ticks = packet.pts == CFFmpeg_NOPTS_VALUE ? packet.dts : packet.pts
        guard ticks != CFFmpeg_NOPTS_VALUE else { return positionNanoseconds }
        let base = input.stream(Int(packet.stream_index)).pointee.time_base
        return av_rescale_q(ticks, base, Self.nanosecond).clampedSubtracting(originNanoseconds)
    }

    private static func text(_ index: Int, _ stream: UnsafeMutablePointer<AVStream>) -> String {
        "stream \(index) (\(codecName(stream)))"
    }

    /// Assigns times to a picture, or a packet of another codec; writes the packets that are complete.
    private mutating func time(
        _ handle: PacketHandle, _ route: Route, of stream: UnsafeMutablePointer<AVStream>
    ) throws(ContainerError) {
        let packet = handle.packet.pointee
        let origin = originNanoseconds
        func nanoseconds(_ value: Int64, after origin: Int64) throws(TimelineError) -> Int64? {
            guard value != CFFmpeg_NOPTS_VALUE else { return nil }
            let time = av_rescale_q(value, stream.pointee.time_base, Self.nanosecond)
            guard time.magnitude < TimeLimits.clockNanoseconds else {
                throw .outOfRange(track: Int(route.output))
            }
            return time - origin
        }
        let complete: [PacketTimeline<PacketHandle>.Timed]
        do throws(TimelineError) {
            complete = try timeline.add(
                handle, track: Int(route.output), pts: nanoseconds(packet.pts, after: origin),
                dts: input.hasPositions ? nanoseconds(packet.dts, after: origin) : nil,
                duration: nanoseconds(packet.duration, after: 0) ?? 0,
                bytes: UnsafeBufferPointer(start: packet.data, count: Int(packet.size)).span)
        } catch {
            throw failure(error)
        }
        for packet in complete { try place(packet) }
    }

    /// Writes the packets that were held for later ones.
    private mutating func writeRest() throws(ContainerError) {
        for index in routes.indices {
            guard var route = routes[index] else { continue }
            let last = route.pictures?.finish() ?? []
            routes[index] = route
            for picture in last { try time(picture, route, of: input.stream(index)) }
        }
        let rest: [PacketTimeline<PacketHandle>.Timed]
        do throws(TimelineError) {
            rest = try timeline.finish()
        } catch {
            throw failure(error)
        }
        for packet in rest { try place(packet) }
    }

    /// Writes a packet with its times, unless it is hidden and not needed.
    private mutating func place(
        _ timed: PacketTimeline<PacketHandle>.Timed
    ) throws(ContainerError) {
        let flags = timed.packet.packet.pointee.flags
        let due = hidden[timed.track].add(
            timed, isHidden: flags & AV_PKT_FLAG_DISCARD != 0,
            isKeyframe: flags & AV_PKT_FLAG_KEY != 0)
        for packet in due { try write(packet) }
    }

    private func failure(_ error: TimelineError) -> ContainerError {
        let tracks = routes.compactMap { $0 }
        return .cannotRead(
            input.path,
            reason: error.reason {
                tracks[$0].codec
            } kind: {
                tracks[$0].isPicture ? "video" : "audio"
            })
    }

    /// Number of places at which the container has lost parts of the copied streams. Reads the file again.
    package var losses: Int {
        guard var losses = input.losses else { return 0 }
        return losses.total(
            streams: routes.indices.filter { routes[$0] != nil }.map {
                Int(input.stream($0).pointee.id)
            })
    }

    /// Streams of a transport stream that libavformat did not read.
    private mutating func noteUnlisted() {
        guard var losses = input.losses else { return }
        let known = Set((0..<input.streamCount).map { Int(input.stream($0).pointee.id) })
        leftOut += losses.unlisted(known)
    }

    /// Packets of the copied streams that the file's edit list hides and that are left out; known at the end.
    package var hiddenPackets: Int {
        routes.enumerated().reduce(0) { sum, route in
            guard let own = route.element else { return sum }
            return sum + input.hidden(of: route.offset, read: own.read)
                + hidden[Int(own.output)].left
        }
    }

    /// Discontinuities of the file's clock, on the output's timeline.
    package var joints: [ClockJoint] {
        timeline.joints
    }

    private mutating func write(
        _ timed: PacketTimeline<PacketHandle>.Timed
    ) throws(ContainerError) {
        let packet = timed.packet.packet
        let base = output.stream(timed.track).pointee.time_base
        func ticks(_ nanoseconds: Int64) -> Int64 {
            av_rescale_q(nanoseconds, Self.nanosecond, base)
        }
        let time = timed.pts
        packet.pointee.pts = ticks(time)
        packet.pointee.dts = ticks(timed.dts)
        packet.pointee.duration = ticks(timed.duration)
        positionNanoseconds = max(positionNanoseconds, time)
        endNanoseconds = max(endNanoseconds, time + timed.duration)
        let isPicture = routes.contains {
            $0?.output == Int32(timed.track) && $0?.isPicture == true
        }
        if !format.isISO, isPicture, packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0 {
            earlierNanoseconds = max(earlierNanoseconds, -time)
        }
        packet.pointee.stream_index = Int32(timed.track)
        packet.pointee.pos = -1
        let written = av_interleaved_write_frame(output.context, packet)
        guard written >= 0 else {
            if cancellation?.isCancelled == true { throw .cancelled }
            throw .cannotWrite(outputName, reason: outlet.failure ?? libraryErrorText(written))
        }
        packets += 1
    }

    /// Writes the trailer.
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
    private static let nanosecond = AVRational(num: 1, den: 1_000_000_000)
    private static let encrypted = "it is encrypted and cannot be read"

    /// Whether a stream is copied. Video and audio are mandatory; other streams are copied if the container supports
    /// them.
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
                    // Streams of a transport stream are listed when they begin.
                    throw .cannotRead(
                        path,
                        reason: stream.pointee.index > 0 && stream.pointee.pts_wrap_bits == 33
                            ? "\(text(Int(stream.pointee.index), stream)) has no frame size: it begins within the file, "
                                + "or it holds no complete picture; use 'tributary import', or cut the file there"
                            : "its video has no frame size: it holds no complete picture")
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

    /// Whether a packet needs another description than its stream has (several entries of an `stsd` box): muxers write
    /// only the first one.
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

    /// Repairs the times of the packets, for an output whose header is written.
    private static func timeline(
        of routes: [Route?], _ input: borrowing InputHandle, _ output: borrowing MuxerHandle
    ) throws(ContainerError) -> PacketTimeline<PacketHandle> {
        var streams: [(stream: UnsafeMutablePointer<AVStream>, step: Int64)] = []
        for (index, route) in routes.enumerated() {
            guard let route else { continue }
            let base = output.stream(Int(route.output)).pointee.time_base
            // Rounded up, so that two decoding times never share a tick of the output.
            let tick = av_rescale_q_rnd(1, base, nanosecond, AV_ROUND_UP)
            streams.append((input.stream(index), max(1, tick)))
        }
        do throws(BitstreamError) {
            return try input.timeline(of: streams)
        } catch {
            throw .cannotRead(input.path, reason: "its video is damaged: \(error)")
        }
    }

    /// Adds a stream to the output; returns its number.
    /// - Parameter configuration: the decoder's, if it is not the source's.
    private static func addStream(
        like source: UnsafeMutablePointer<AVStream>, _ configuration: [UInt8]?,
        to output: borrowing MuxerHandle, _ format: ContainerFormat
    ) -> Int32 {
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
        // Side data such as the display orientation.
        for index in 0..<Int(source.pointee.nb_side_data) {
            let side = source.pointee.side_data[index]
            guard let copy = av_stream_new_side_data(target, side.type, side.size) else {
                preconditionFailure("out of memory")
            }
            UnsafeMutableRawPointer(copy).copyMemory(from: side.data, byteCount: side.size)
        }
        if let configuration {
            MuxerHandle.setExtradata(configuration, of: parameters)
            // The input's tag may be `avc3`, which is wrong for a configuration record with all parameter sets. With 0, the
            // muxer chooses the tag.
            parameters.pointee.codec_tag = 0
        }
        output.setLengthPrefixed(parameters)
        if format.isISO { MuxerHandle.setEntry(of: parameters) }
        return target.pointee.index
    }

    /// A container with an index has the number of packets, others a duration.
    private func checkIsComplete() throws(ContainerError) {
        for (index, route) in routes.enumerated() {
            guard let route else { continue }
            if input.hasPacketIndex, route.read < input.listed(of: index) {
                throw .truncated(input.path, atNanoseconds: positionNanoseconds)
            }
            let unread = input.unread(of: index, read: route.read)
            guard unread.count == 0 else {
                throw .cannotRead(
                    input.path,
                    reason:
                        "it is damaged: \(unread.count) of \(unread.stated) packets of "
                        + "\(Self.text(index, input.stream(index))) cannot be found; use 'tributary import', which leaves "
                        + "them out, and 'tributary export'")
            }
        }
        if packets == 0 { throw .cannotRead(input.path, reason: "it has no packets") }
        if !input.hasPacketIndex, let stated = durationNanoseconds, isStated,
            originNanoseconds + endNanoseconds + Self.durationTolerance < stated
        {
            throw .truncated(input.path, atNanoseconds: positionNanoseconds)
        }
    }

    /// The container's start time, nanoseconds.
    private static func nanoseconds(
        fromMicroseconds time: Int64, _ path: String
    ) throws(ContainerError) -> Int64 {
        let (origin, isOverflow) = time.multipliedReportingOverflow(by: 1_000)
        guard !isOverflow, origin.magnitude < TimeLimits.clockNanoseconds else {
            throw .cannotRead(
                path,
                reason:
                    "it has a timestamp that is out of range: set its timestamps again with "
                    + "ffmpeg -i FILE -c copy NEW.mkv")
        }
        return origin
    }

    /// Whether the duration is in the file, rather than estimated by the library.
    private var isStated: Bool {
        input.context.pointee.duration_estimation_method == AVFMT_DURATION_FROM_STREAM
    }

    /// Durations in headers are rounded, and may or may not include the last picture.
    private static let durationTolerance: Int64 = 1_000_000_000
}

extension MuxerHandle {
    /// Whether it supports subtitles of that codec.
    func takesSubtitle(_ codec: AVCodecID) -> Bool {
        codec != AV_CODEC_ID_NONE
            && avformat_query_codec(context.pointee.oformat, codec, FF_COMPLIANCE_NORMAL) == 1
    }
}
