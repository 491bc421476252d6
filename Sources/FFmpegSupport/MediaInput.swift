package import CFFmpeg
import MP4

/// The reason why a media file cannot be read.
package enum InputFailure: Error, Hashable {
    /// It was cancelled.
    case cancelled
    /// It is no file, or an unsupported one; the text says why.
    case unusable(String)
}

/// A media file open for reading: the only use of libavformat's demuxers with a file's path.
///
/// The file may be hostile, and libavformat supports formats that refer to other files and addresses. So
/// - libavformat reads from our own descriptor and gets no path;
/// - the format is detected by content, never by name, and must be one of ``formats``;
/// - a demuxer that opens anything else fails (`io_open`).
///
/// Belongs to one thread.
package struct MediaInput: ~Copyable {
    package let context: UnsafeMutablePointer<AVFormatContext>
    private let bytes: InputBytes

    /// The open file.
    var descriptor: Int32 { bytes.descriptor }
    /// Containers without presentation times: the first decoding time of each stream, in its time base.
    private let firstTimes: [Int32: Int64]
    /// The boxes of an MP4; nil for another container.
    let movie: MovieCheck?

    /// The permitted demuxers, by libavformat's names. Each reads one file sequentially, or by its own index.
    package static let formats: Set<String> = [
        // Containers.
        "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "mpegts", "mpeg", "flv", "live_flv", "avi",
        "nut", "ogg", "asf",
        "mxf", "gxf", "ivf", "wtv", "dv",
        // Elementary streams.
        "h264", "hevc", "m4v", "mpegvideo", "vc1", "obu", "av1", "mjpeg", "yuv4mpegpipe", "aac",
        "loas", "mp3", "ac3",
        "eac3", "dts", "truehd", "flac", "wav", "w64", "aiff", "caf", "au", "amr",
        // Single pictures.
        "jpeg_pipe", "png_pipe", "gif",
    ]

    /// Limits of the search for stream parameters.
    private struct Search {
        var bytes: Int64
        var microseconds: Int64

        /// The library's default, sufficient for nearly all files.
        static let usual = Search(bytes: 5_000_000, microseconds: 0)
        /// For a stream that begins long after another: half an hour, or the memory limit.
        static let long = Search(bytes: 64 << 20, microseconds: 1_800_000_000)
    }

    /// The file that is read.
    package enum Origin: Hashable, Sendable {
        case path(String)
        /// An open regular file, which may be closed once the input exists.
        case descriptor(Int32)
    }

    /// Opens the file and reads its stream headers.
    ///
    /// - Parameter isCancelled: polled while the file is read, on this thread.
    package init(
        _ origin: Origin, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws(InputFailure) {
        self = try Self.searched(origin, isCancelled)
    }

    private static func searched(
        _ origin: Origin, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(InputFailure) -> MediaInput {
        let first = try Self(origin, isCancelled, search: .usual)
        let needsTimes = first.hasPositions && !first.storesPresentationTimes
        let needsSearch = first.hasUnknownStream
        guard needsTimes || needsSearch else { return first }
        let times = needsTimes ? first.readFirstTimes() : [:]
        _ = consume first
        return try Self(
            origin, isCancelled, search: needsSearch ? .long : .usual, firstTimes: times)
    }

    /// Packets that are read for the first one of each stream.
    private static let mostFirstPackets = 4_096

    /// Reads the first decoding time of each stream.
    private func readFirstTimes() -> [Int32: Int64] {
        var times: [Int32: Int64] = [:]
        let handle = PacketHandle()
        defer { withExtendedLifetime(handle) {} }
        for _ in 0..<Self.mostFirstPackets {
            guard times.count < context.pointee.nb_streams,
                av_read_frame(context, handle.packet) >= 0
            else { break }
            defer { av_packet_unref(handle.packet) }
            let packet = handle.packet.pointee
            if times[packet.stream_index] == nil, packet.dts != CFFmpeg_NOPTS_VALUE {
                times[packet.stream_index] = packet.dts
            }
        }
        return times
    }

    /// Zeros at the end of a fragmented MP4.
    package var zeroBytes: Int64 { movie?.zeroBytes ?? 0 }

    /// Whether the boxes of a fragmented MP4 are damaged.
    package var hasDamagedFragments: Bool { movie?.losses != nil }

    /// The number of packets that libavformat's index lists for a stream. It has entries for empty samples too, which are
    /// not counted: libavformat returns none of video.
    package func listed(of index: Int32) -> Int {
        guard let stream = context.pointee.streams[Int(index)] else { return 0 }
        return (0..<avformat_index_get_entries_count(stream)).count {
            avformat_index_get_entry(stream, $0).pointee.size > 0
        }
    }

    /// The packets that the container (MP4 or AVI) declares for a stream, less those read; and the declared number.
    /// - Parameter read: packets read that are not empty.
    package func unread(of index: Int32, read: Int) -> (count: Int, stated: Int) {
        if formatName == "avi" { return unreadOfIndex(index, read: read) }
        guard let movie, movie.losses == nil,
            let stream = context.pointee.streams[Int(index)]
        else { return (0, 0) }
        guard let track = movie.samples[UInt32(truncatingIfNeeded: stream.pointee.id)] else {
            // libavformat has read a number of samples before the damage in the track's boxes.
            let codec = stream.pointee.codecpar.pointee
            let isFramed =
                codec.codec_type == AVMEDIA_TYPE_VIDEO || codec.codec_id == AV_CODEC_ID_AAC
            let stated = movie.isIncomplete && isFramed ? Int(stream.pointee.nb_frames) : 0
            return (max(0, stated - read), stated)
        }
        let stated = track.count - track.empty
        return (max(0, stated - track.hidden - read), stated)
    }

    /// Packets that an edit list hides before or after its part, so that they were not read.
    package func hidden(of index: Int32, read: Int) -> Int {
        guard let movie, movie.losses == nil,
            let id = context.pointee.streams[Int(index)]?.pointee.id,
            let track = movie.samples[UInt32(truncatingIfNeeded: id)]
        else { return 0 }
        return max(0, min(track.hidden, track.count - track.empty - read))
    }

    /// The index of an AVI has one entry for each picture; sound may be divided otherwise.
    private func unreadOfIndex(_ index: Int32, read: Int) -> (count: Int, stated: Int) {
        guard let stream = context.pointee.streams[Int(index)],
            stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
        else { return (0, 0) }
        let stated = listed(of: index)
        return (max(0, stated - read), stated)
    }

    /// The earliest time of a stream, in its time base; nil if unknown.
    ///
    /// Without stored presentation times: the first position. libavformat's guess is later by the reordering depth.
    package func startTime(of index: Int32) -> Int64? {
        if let first = firstTimes[index] { return first }
        let start = context.pointee.streams[Int(index)]?.pointee.start_time
        return start == CFFmpeg_NOPTS_VALUE ? nil : start
    }

    private init(
        _ origin: Origin, _ isCancelled: @escaping @Sendable () -> Bool, search: Search,
        firstTimes: [Int32: Int64] = [:]
    ) throws(InputFailure) {
        var bytes =
            switch origin {
            case .path(let path): try InputBytes(path: path, isCancelled: isCancelled)
            case .descriptor(let descriptor):
                try InputBytes(descriptor: descriptor, isCancelled: isCancelled)
            }
        var format: UnsafePointer<AVInputFormat>?
        var result = av_probe_input_buffer2(bytes.context, &format, "", nil, 0, 0)
        if isCancelled() { throw .cancelled }
        guard result >= 0, let format else { throw .unusable(Self.reason(result)) }
        let name = String(cString: format.pointee.name)
        guard Self.formats.contains(name) else {
            throw .unusable(
                "its content is of the format '\(name)', which is not read here: convert it to MP4 or Matroska first"
            )
        }
        let movie = name.hasPrefix("mov,") ? MovieCheck(descriptor: bytes.descriptor) : nil
        if let refusal = movie?.refusal { throw .unusable(refusal) }
        let patches = movie?.patches ?? []
        if !patches.isEmpty || name == "mpegts" {
            // The bytes that were read to detect the format are read again.
            bytes = try InputBytes(
                descriptor: bytes.descriptor, patches: patches, dropsRepeats: name == "mpegts",
                isCancelled: isCancelled)
        }
        var context = avformat_alloc_context()
        guard let allocated = context else { preconditionFailure("out of memory") }
        allocated.pointee.pb = bytes.context
        allocated.pointee.probesize = search.bytes
        allocated.pointee.max_analyze_duration = search.microseconds
        allocated.pointee.io_open = { _, _, _, _, _ in -EACCES }
        var options: OpaquePointer?
        // Sets the restrictions as library options too, for demuxers that open nested demuxers.
        av_dict_set(&options, "format_whitelist", format.pointee.name, 0)
        av_dict_set(&options, "protocol_whitelist", "file", 0)
        av_dict_set(&options, "enable_drefs", "0", 0)
        av_dict_set(&options, "use_absolute_path", "0", 0)
        result = avformat_open_input(&context, "", format, &options)
        av_dict_free(&options)
        if result >= 0 { result = avformat_find_stream_info(context, nil) }
        guard result >= 0, let context else {
            avformat_close_input(&context)
            if isCancelled() { throw .cancelled }
            throw .unusable(Self.reason(result))
        }
        self.context = context
        self.bytes = bytes
        self.firstTimes = firstTimes
        self.movie = movie
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&context)
        // The demuxer reads from it until it is closed.
        withExtendedLifetime(bytes) {}
    }

    /// Whether the parameters of a listed stream are still unknown.
    private var hasUnknownStream: Bool {
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let parameters = context.pointee.streams[index]?.pointee.codecpar else {
                continue
            }
            switch parameters.pointee.codec_type {
            case AVMEDIA_TYPE_VIDEO where parameters.pointee.width == 0: return true
            case AVMEDIA_TYPE_AUDIO where parameters.pointee.sample_rate == 0: return true
            default: break
            }
        }
        return false
    }

    /// The reason for an error code.
    private static func reason(_ code: Int32) -> String {
        if code == CFFmpeg_ERROR_INVALIDDATA {
            return "it is not a media file, or it is truncated (no index found)"
        }
        return libraryErrorText(code)
    }
}
