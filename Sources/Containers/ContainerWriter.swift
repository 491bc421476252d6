import CFFmpeg
import FFmpegSupport
import Glibc
import Media

/// A libavformat muxer.
///
/// Owns the handle; belongs to one thread, which may block on a connection.
package struct ContainerWriter: ~Copyable {
    package let format: ContainerFormat
    private let name: String
    private let tracks: [ContainerTrack]
    private let options: ContainerWriterOptions
    private let handle: MuxerHandle
    private let outlet: ByteOutlet?
    private let packet: PacketHandle
    private let cancellation: Cancellation?
    /// Duration for which ``finish()`` waits before it closes the connection, nanoseconds.
    package let drainNanoseconds: Int64

    /// Creates the file, or connects, and writes the header.
    ///
    /// - Parameters:
    ///   - tracks: packets refer to them by index.
    ///   - cancellation: ends blocking calls.
    package init(
        to destination: ContainerDestination, format: ContainerFormat, tracks: [ContainerTrack],
        options: ContainerWriterOptions = ContainerWriterOptions(),
        cancellation: Cancellation? = nil
    ) throws(ContainerError) {
        let name = options.name ?? destination.name
        let url =
            switch destination {
            case .file(let path): MuxerHandle.url(ofFile: path)
            case .url(let text): text
            case .descriptor, .sink: "pipe:"
            }
        let handle = try MuxerHandle(format, url: url, cancellation: cancellation)
        for track in tracks {
            do throws(ContainerError) {
                try handle.add(track, to: format)
            } catch {
                throw Self.error(error, to: destination)
            }
        }
        for (key, value) in options.metadata {
            av_dict_set(&handle.context.pointee.metadata, key, value, 0)
        }
        if options.keepsTimes {
            handle.context.pointee.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED
        }
        if options.flushesPackets { handle.context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS }
        let outlet: ByteOutlet?
        switch destination {
        case .file(let path):
            outlet = try ByteOutlet(creating: path, cancellation: cancellation)
        case .descriptor(let descriptor):
            outlet = ByteOutlet(descriptor: descriptor, cancellation: cancellation)
        case .sink(let sink):
            outlet = ByteOutlet(sink: sink, cancellation: cancellation)
        case .url(let url):
            outlet = nil
            SRTLibrary.prepare(for: url)
            try handle.connect(
                url, name: name, options: Self.protocolOptions(of: url), cancellation)
        }
        if let outlet { handle.use(outlet) }
        var result: Int32 = 0
        let complaint = LibraryLog.complaint {
            result = handle.writeHeader(options.muxerOptions)
        }
        guard result >= 0 else {
            let isOfCodec =
                handle.connectsItself
                ? complaint?.hasPrefix("Unsupported codec") == true : result == -EINVAL
            // The muxer cannot describe one of the tracks.
            if isOfCodec, outlet?.failure == nil, cancellation?.isCancelled != true {
                let codecs = tracks.map { $0.track.codec.uppercased() }
                throw Self.error(
                    .cannotHold(
                        format: format.description, codec: codecs.joined(separator: " with ")),
                    to: destination)
            }
            if case .url(let url) = destination, cancellation?.isCancelled != true {
                throw .cannotOpen(
                    name, reason: ConnectionFailure.reason(result, complaint: complaint, url: url))
            }
            throw Self.error(
                result, name, outlet, cancellation, orElse: ContainerError.cannotOpen)
        }
        self.name = name
        self.outlet = outlet
        self.handle = handle
        self.format = format
        self.tracks = tracks
        self.options = options
        self.cancellation = cancellation
        if case .url(let url) = destination {
            drainNanoseconds = SRTLibrary.drainNanoseconds(of: url)
        } else {
            drainNanoseconds = 0
        }
        packet = PacketHandle()
    }

    /// MPEG-TS packets have 188 bytes (ISO/IEC 13818-1 §2.4.3.2), and seven of them fit into a datagram of Ethernet.
    private static let datagramBytes = 7 * 188

    /// Options of the connection, unless the URL has others.
    private static func protocolOptions(of url: String) -> [String: String] {
        // libavformat's default is 1472 bytes, which splits packets.
        url.lowercased().hasPrefix("udp:") ? ["pkt_size": "\(datagramBytes)"] : [:]
    }

    /// A file can be of another container; a server's is given.
    private static func error(
        _ error: ContainerError, to destination: ContainerDestination
    ) -> ContainerError {
        guard case .url = destination, case .cannotHold(let format, let codec) = error else {
            return error
        }
        return .cannotStream(format: format, codec: codec)
    }

    /// Bytes written so far.
    package var bytesWritten: Int64 { handle.bytesWritten }

    /// Writes a packet; the decoding times of each track must increase.
    package mutating func write(_ source: ContainerPacket) throws(ContainerError) {
        precondition(tracks.indices.contains(source.track), "a packet is of one of the tracks")
        try checkCancellation()
        let packet = packet.packet
        av_packet_unref(packet)
        guard av_new_packet(packet, Int32(source.bytes.count)) >= 0 else {
            preconditionFailure("out of memory")
        }
        if let bytes = source.bytes.baseAddress {
            UnsafeMutableRawPointer(packet.pointee.data).copyMemory(
                from: bytes, byteCount: source.bytes.count)
        }
        packet.pointee.stream_index = Int32(source.track)
        let base = handle.stream(source.track).pointee.time_base
        let timescale = tracks[source.track].timescale
        do throws(RescaleOverflow) {
            packet.pointee.pts = try rescale(source.pts, from: timescale, to: base)
            packet.pointee.dts = try rescale(source.dts, from: timescale, to: base)
            packet.pointee.duration = try rescale(source.duration, from: timescale, to: base)
        } catch {
            throw .cannotWrite(name, reason: "a timestamp is out of range")
        }
        if source.isKeyframe { packet.pointee.flags |= AV_PKT_FLAG_KEY }
        if source.isDiscarded { packet.pointee.flags |= AV_PKT_FLAG_DISCARD }
        if source.trimmedFrames > 0 { trim(packet, frames: source.trimmedFrames) }
        let result =
            switch options.interleaving {
            case .byLibrary: av_interleaved_write_frame(handle.context, packet)
            case .asWritten: av_write_frame(handle.context, packet)
            }
        try check(result)
    }

    /// AV_PKT_DATA_SKIP_SAMPLES: frames at the packet's end that are not presented.
    private func trim(_ packet: UnsafeMutablePointer<AVPacket>, frames: Int) {
        guard let side = av_packet_new_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, 10) else {
            preconditionFailure("out of memory")
        }
        let raw = UnsafeMutableRawBufferPointer(start: side, count: 10)
        raw.initializeMemory(as: UInt8.self, repeating: 0)
        raw.storeBytes(of: UInt32(clamping: frames).littleEndian, toByteOffset: 4, as: UInt32.self)
    }

    /// Writes buffered packets and bytes.
    package mutating func flush() throws(ContainerError) {
        if options.interleaving == .asWritten {
            try check(av_write_frame(handle.context, nil))
        }
        if let io = handle.context.pointee.pb { avio_flush(io) }
        try check(handle.ioError)
    }

    /// Writes the trailer and closes. Without it, the container is truncated. A connection of SRT is closed when the
    /// receiver has had time to present the end.
    package consuming func finish() throws(ContainerError) {
        try checkCancellation()
        try check(av_write_trailer(handle.context))
        if let io = handle.context.pointee.pb { avio_flush(io) }
        try check(handle.ioError)
        try drain()
    }

    private static let pollMicroseconds: UInt32 = 20_000

    private func drain() throws(ContainerError) {
        guard drainNanoseconds > 0 else { return }
        let end = ContinuousClock.now + .nanoseconds(drainNanoseconds)
        while ContinuousClock.now < end {
            try checkCancellation()
            usleep(Self.pollMicroseconds)
        }
    }

    private func checkCancellation() throws(ContainerError) {
        if cancellation?.isCancelled == true { throw .cancelled }
    }

    private func check(_ result: Int32) throws(ContainerError) {
        guard result < 0 else { return }
        throw Self.error(
            result, name, outlet, cancellation, orElse: ContainerError.cannotWrite)
    }

    private static func error(
        _ result: Int32, _ name: String, _ outlet: ByteOutlet?, _ cancellation: Cancellation?,
        orElse make: (String, String) -> ContainerError
    ) -> ContainerError {
        if cancellation?.isCancelled == true { return .cancelled }
        return make(name, outlet?.failure ?? libraryErrorText(result))
    }
}

extension ContainerWriter {
    /// Converts `value` to a library time base.
    private func rescale(
        _ value: Int64, from timescale: Timescale, to base: AVRational
    ) throws(RescaleOverflow) -> Int64 {
        // A muxer's time bases are 1/n; those of AVI and a few others count pictures.
        if base.num == 1 {
            return try Media.rescale(
                value, from: timescale, to: Timescale(UInt32(bitPattern: base.den)))
        }
        return av_rescale_q(
            value, AVRational(num: 1, den: Int32(clamping: timescale.ticksPerSecond)), base)
    }
}
