import CFFmpeg
import FFmpegSupport
import Media

/// An open file and its streams.
struct FormatHandle: ~Copyable {
    /// A track and its stream.
    struct Track {
        let description: CodedTrack
        let index: Int32
        let timeBase: AVRational
    }

    let path: String
    private let input: MediaInput

    /// Opens the file and reads its headers.
    /// - Parameter descriptor: the open file; the path is for messages then.
    init(path: String, descriptor: Int32? = nil) throws(DeviceError) {
        do throws(InputFailure) {
            input = try MediaInput(descriptor.map { .descriptor($0) } ?? .path(path))
        } catch {
            switch error {
            case .cancelled: preconditionFailure("nothing cancels a file that is played")
            case .unusable(let reason): throw .cannotOpen(path: path, reason: reason)
            }
        }
        self.path = path
    }

    var context: UnsafeMutablePointer<AVFormatContext> { input.context }

    /// Finds the places at which the container has lost bytes; nil in containers where that is unknown.
    var losses: (any ContainerLosses)? { input.losses }
}

extension FormatHandle {
    /// Selects a track: among the usable ones, the default of most players.
    func bestTrack(_ kind: TrackKind, for purpose: FileSource.Purpose) throws(DeviceError) -> Track
    {
        let type = kind == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO
        let usable = (0..<Int32(context.pointee.nb_streams)).filter { index in
            isMedia(index, of: type) && isDescribed(index)
        }
        let suitable = usable.filter { isSuitable($0, for: purpose) }
        let candidates = suitable.isEmpty ? usable : suitable
        let best = av_find_best_stream(context, type, -1, -1, nil, 0)
        let named = candidates.first {
            stream($0).pointee.disposition & AV_DISPOSITION_DEFAULT != 0
        }
        guard let index = candidates.contains(best) ? best : named ?? candidates.first,
            let parameters = stream(index).pointee.codecpar
        else { throw .noTrack(kind, path: path) }
        let configuration = parameters.pointee.extradata.map {
            Array(UnsafeBufferPointer(start: $0, count: Int(parameters.pointee.extradata_size)))
        }
        let content: CodedTrack.Content =
            kind == .video
            ? .picture(picture(stream(index), parameters.pointee))
            : .sound(
                CodedTrack.Audio(
                    sampleRate: Int(parameters.pointee.sample_rate),
                    channels: Int(parameters.pointee.ch_layout.nb_channels),
                    blockBytes: Int(parameters.pointee.block_align),
                    bitsPerSample: Int(parameters.pointee.bits_per_coded_sample),
                    bitRate: parameters.pointee.bit_rate))
        let track = CodedTrack(
            codec: String(cString: avcodec_get_name(parameters.pointee.codec_id)),
            codecTag: parameters.pointee.codec_tag, configuration: configuration ?? [],
            content: content)
        return Track(
            description: track, index: index, timeBase: stream(index).pointee.time_base)
    }

    /// Descriptions of the file's other streams: unused, or unusable.
    func others(than tracks: [Track]) -> [Int32: String] {
        let numbers = (0..<Int32(context.pointee.nb_streams)).filter { index in
            !tracks.contains { $0.index == index }
        }
        return Dictionary(uniqueKeysWithValues: numbers.map { ($0, description($0)) })
    }

    /// A stream's number, kind and codec.
    func description(_ index: Int32) -> String {
        guard let parameters = stream(index).pointee.codecpar else { return "stream \(index)" }
        let type = parameters.pointee.codec_type
        let kind = av_get_media_type_string(type).map { String(cString: $0) } ?? "unknown"
        let isPicture = stream(index).pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
        var words = [isPicture ? "cover picture" : kind]
        if parameters.pointee.codec_id != AV_CODEC_ID_NONE {
            words.append(String(cString: avcodec_get_name(parameters.pointee.codec_id)))
        }
        let isMedia = type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO
        if isMedia, !isPicture, !isDescribed(index) { words.append("without content") }
        return "stream \(index) (\(words.joined(separator: ", ")))"
    }

    /// Whether two streams have one kind and one codec.
    func isSimilar(_ index: Int32, _ other: Int32) -> Bool {
        guard let own = stream(index).pointee.codecpar, let other = stream(other).pointee.codecpar
        else { return false }
        return own.pointee.codec_type == other.pointee.codec_type
            && own.pointee.codec_id == other.pointee.codec_id
    }

    /// Container properties of a track that recordings cannot store.
    func lostProperties(_ track: Track) -> [String] {
        ContainerProperty.all(of: stream(track.index))
            .filter { $0 != .orientation && $0 != .pixelShape }.map(\.text)
    }

    private func isMedia(_ index: Int32, of type: AVMediaType) -> Bool {
        stream(index).pointee.codecpar.pointee.codec_type == type
            && stream(index).pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
    }

    /// Whether the stream's properties are known.
    private func isDescribed(_ index: Int32) -> Bool {
        guard let parameters = stream(index).pointee.codecpar else { return false }
        if parameters.pointee.codec_type == AVMEDIA_TYPE_AUDIO {
            return parameters.pointee.sample_rate > 0
        }
        return parameters.pointee.width > 0 && parameters.pointee.height > 0
    }

    private func isSuitable(_ index: Int32, for purpose: FileSource.Purpose) -> Bool {
        guard let codec = stream(index).pointee.codecpar?.pointee.codec_id else { return false }
        switch purpose {
        case .copying: return VideoCodec(codec) != nil || AudioCodec(codec) != nil
        case .decoding: return avcodec_find_decoder(codec) != nil
        }
    }

    /// Repairs the packets' times.
    func timeline(of tracks: [Track]) throws(DeviceError) -> PacketTimeline<CodedPacket> {
        // Recordings use ticks of 90 kHz: two decoding times must not round to the same tick.
        let pictureStep = 1_000_000_000 / Int64(Timescale.video.ticksPerSecond) + 1
        do throws(BitstreamError) {
            return try input.timeline(
                of: tracks.map {
                    (stream($0.index), $0.description.kind == .video ? pictureStep : 1)
                })
        } catch {
            throw .cannotOpen(path: path, reason: "its video is damaged: \(error)")
        }
    }

    /// Zeros at the end of the file, where media would be expected.
    var zeroBytes: Int64 { input.zeroBytes }

    /// Packets of a track that the file's edit list hides, so that they were not read.
    func hidden(of track: Track, read: Int) -> Int { input.hidden(of: track.index, read: read) }

    /// Packets of a track that libavformat's index lists.
    func listed(of track: Track) -> Int { input.listed(of: track.index) }

    /// Packets of a track that the container states and that were not read.
    func unread(of track: Track, read: Int) -> Int {
        input.unread(of: track.index, read: read).count
    }

    /// Whether each packet of the file has a time of its own, or at least a position.
    var hasPositions: Bool { input.hasPositions }

    /// The file's stream of that number.
    func stream(_ index: Int32) -> UnsafeMutablePointer<AVStream> {
        guard let stream = context.pointee.streams[Int(index)] else {
            preconditionFailure("libavformat lists a stream that is not there")
        }
        return stream
    }

    private func picture(
        _ stream: UnsafeMutablePointer<AVStream>, _ parameters: AVCodecParameters
    ) -> CodedTrack.Picture {
        let average = stream.pointee.avg_frame_rate
        let real = stream.pointee.r_frame_rate
        let rate = average.num > 0 && average.den > 0 ? average : real
        let format = av_get_pix_fmt_name(AVPixelFormat(parameters.format))
        let aspect = av_guess_sample_aspect_ratio(context, stream, nil)
        let hasColour = parameters.color_space != AVCOL_SPC_UNSPECIFIED
        let isFullRange = parameters.color_range == AVCOL_RANGE_JPEG
        return CodedTrack.Picture(
            width: Int(parameters.width), height: Int(parameters.height),
            format: format.map { PixelFormat(name: String(cString: $0)) },
            colour: hasColour || isFullRange
                ? ColourDescription(
                    primaries: UInt8(truncatingIfNeeded: parameters.color_primaries.rawValue),
                    transfer: UInt8(truncatingIfNeeded: parameters.color_trc.rawValue),
                    matrix: UInt8(truncatingIfNeeded: parameters.color_space.rawValue),
                    isFullRange: isFullRange) : nil,
            rate: rate.num > 0 && rate.den > 0 ? FrameRate(rate.num, per: rate.den) : nil,
            hasConstantRate: average.num > 0 && av_cmp_q(average, real) == 0,
            sampleAspectRatio: Self.aspectRatio(aspect), orientation: Self.orientation(of: stream))
    }

    /// The container's display orientation; upright for any other transformation.
    private static func orientation(of stream: UnsafeMutablePointer<AVStream>) -> PictureOrientation
    {
        var size = 0
        guard let data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size) else {
            return .upright
        }
        return DisplayMatrix.orientation(of: UnsafeRawBufferPointer(start: data, count: size))
            ?? .upright
    }

    /// A container may state square pixels, too; nil: unspecified.
    private static func aspectRatio(_ value: AVRational) -> SampleAspectRatio? {
        SampleAspectRatio(reducing: Int64(value.num), Int64(value.den))
    }

    /// Whether the container lists every packet up front (ISO/IEC 14496-12 sample tables).
    var hasPacketIndex: Bool {
        String(cString: context.pointee.iformat.pointee.name).hasPrefix("mov,")
    }

    /// The duration in the file; nil when the library has estimated it.
    var statedDurationNanoseconds: Int64? {
        let duration = context.pointee.duration
        guard context.pointee.duration_estimation_method == AVFMT_DURATION_FROM_STREAM,
            duration != CFFmpeg_NOPTS_VALUE, duration > 0
        else { return nil }
        return try? nanoseconds(duration, AVRational(num: 1, den: Int32(AV_TIME_BASE)))
    }

    /// Has the library skip other streams than `tracks`, if possible; returns the earliest presented time of the whole
    /// file, nanoseconds.
    func select(_ tracks: [Track]) throws(DeviceError) -> Int64 {
        var origin: Int64?
        for index in 0..<Int32(context.pointee.nb_streams) {
            let stream = stream(index)
            let type = stream.pointee.codecpar.pointee.codec_type
            let isMedia = type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO
            let isPicture = stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
            if isMedia, !isPicture, let start = input.startTime(of: index) {
                let time = try nanoseconds(start, stream.pointee.time_base)
                origin = min(origin ?? time, time)
            }
            // Without an index, only all streams together show whether the file is complete.
            if hasPacketIndex, !tracks.contains(where: { $0.index == index }) {
                stream.pointee.discard = AVDISCARD_ALL
            }
        }
        return origin ?? 0
    }

    /// Converts a time of the file's own clock to nanoseconds.
    func nanoseconds(_ value: Int64, _ base: AVRational) throws(DeviceError) -> Int64 {
        let (ticks, isOverflow) = value.multipliedReportingOverflow(by: Int64(base.num))
        guard !isOverflow, base.den > 0,
            let time = try? rescale(ticks, from: Timescale(UInt32(base.den)), to: .nanoseconds),
            time.magnitude < TimeLimits.clockNanoseconds
        else { throw .timeOutOfRange(path: path) }
        return time
    }
}
