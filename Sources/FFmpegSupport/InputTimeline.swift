package import CFFmpeg
package import Media

extension MediaInput {
    /// The times that a container stores; libavformat guesses the others.
    private struct Times {
        var presentation = true
        var decoding = true
        /// Whether a packet's position has a time, even if its presentation has none.
        var positions = true
    }

    /// By demuxer name; formats not listed store both times.
    private static func times(_ format: String) -> Times {
        switch format {
        case "avi": Times(presentation: false, decoding: false)
        // Packets of elementary streams are numbered from zero.
        case "h264", "hevc", "m4v", "mpegvideo", "vc1", "obu", "av1", "mjpeg", "jpeg_pipe",
            "png_pipe", "gif":
            Times(presentation: false, decoding: false, positions: false)
        case "asf": Times(presentation: false, decoding: false)
        case "matroska,webm", "ogg", "ivf", "nut": Times(decoding: false)
        default: Times()
        }
    }

    /// The name of libavformat's demuxer.
    package var formatName: String { String(cString: context.pointee.iformat.pointee.name) }

    /// Whether a stream's packets have times for their positions in the file.
    package var hasPositions: Bool { Self.times(formatName).positions }

    /// Whether the container has presentation times.
    package var storesPresentationTimes: Bool { Self.times(formatName).presentation }

    /// Repairs the times of some streams' packets.
    ///
    /// - Parameter step: minimum difference of decoding times per stream, nanoseconds.
    /// - Throws: when a stream's own parameter sets are invalid.
    package func timeline<Packet>(
        of streams: [(stream: UnsafeMutablePointer<AVStream>, step: Int64)]
    ) throws(BitstreamError) -> PacketTimeline<Packet> {
        let times = Self.times(formatName)
        var tracks: [PacketTimeline<Packet>.Track] = []
        var wrap: Int64?
        for (stream, step) in streams {
            guard let parameters = stream.pointee.codecpar else { continue }
            if (1...62).contains(stream.pointee.pts_wrap_bits) {
                wrap = av_rescale_q(
                    Int64(1) << Int64(stream.pointee.pts_wrap_bits), stream.pointee.time_base,
                    AVRational(num: 1, den: 1_000_000_000))
            }
            let properties = avcodec_descriptor_get(parameters.pointee.codec_id)?.pointee.props ?? 0
            let isVideo = parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO
            let mayReorder = isVideo && properties & AV_CODEC_PROP_REORDER != 0
            tracks.append(
                .init(
                    mayReorder: mayReorder, storesPresentationTimes: times.presentation,
                    storesDecodingTimes: times.decoding,
                    order: mayReorder ? try Self.order(parameters.pointee) : .decoding,
                    usualDuration: isVideo ? Self.pictureNanoseconds(stream) : 0, step: step))
        }
        let isTransport = context.pointee.iformat.pointee.flags & AVFMT_TS_DISCONT != 0
        return PacketTimeline(
            tracks: tracks,
            clock: .init(
                mayJumpAhead: isTransport, storesDecodingTimes: times.decoding,
                wrapNanoseconds: wrap))
    }

    private static func order<Packet>(
        _ parameters: AVCodecParameters
    ) throws(BitstreamError) -> PacketTimeline<Packet>.Order {
        if let codec = VideoCodec(parameters.codec_id) {
            let configuration = parameters.extradata.map {
                Array(UnsafeBufferPointer(start: $0, count: Int(parameters.extradata_size)))
            }
            return .counted(try PictureOrderCounter(codec, configuration: configuration ?? []))
        }
        return parameters.video_delay == 0 ? .decoding : .unknown
    }

    /// Duration of a picture at the stream's rate; 0 if unknown.
    private static func pictureNanoseconds(_ stream: UnsafeMutablePointer<AVStream>) -> Int64 {
        let average = stream.pointee.avg_frame_rate
        let rate = average.num > 0 && average.den > 0 ? average : stream.pointee.r_frame_rate
        guard rate.num > 0, rate.den > 0 else { return 0 }
        return av_rescale(1_000_000_000, Int64(rate.den), Int64(rate.num))
    }
}
