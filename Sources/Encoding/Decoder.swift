import CFFmpeg
import FFmpegSupport
import Media

/// The common part of video and audio decoding: a libavcodec decoder for a source's packets.
///
/// Times are in nanoseconds throughout. Owns the handle; belongs to one thread.
struct Decoder: ~Copyable {
    let codec: String
    private let handle: CodecHandle
    private let packet = PacketHandle()

    /// Whether pictures that are damaged, or lack references, are dropped instead of concealed.
    private let isStrict: Bool

    init(_ track: CodedTrack, threads: Int, isStrict: Bool = false) throws(EncodingError) {
        codec = track.codec
        self.isStrict = isStrict
        handle = try CodecHandle.openDecoder(track, threads: threads, isStrict: isStrict)
    }

    /// Decodes a packet, or flushes the decoder if nil; `emit` receives frames in presentation order.
    mutating func decode(
        _ coded: CodedPacket?, emit: (FrameBox) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        let time = coded?.dtsNanoseconds ?? 0
        if let coded {
            fill(packet.packet, with: coded)
            let result = avcodec_send_packet(handle.context, packet.packet)
            av_packet_unref(packet.packet)
            try check(result, atNanoseconds: time)
        } else {
            let result = avcodec_send_packet(handle.context, nil)
            if result != CFFmpeg_ERROR_EOF { try check(result, atNanoseconds: time) }
        }
        while true {
            let box = FrameBox()
            let result = avcodec_receive_frame(handle.context, box.frame)
            if result == CFFmpeg_ERROR_EAGAIN || result == CFFmpeg_ERROR_EOF { return }
            try check(result, atNanoseconds: time)
            if isStrict, box.isDamaged { continue }
            try emit(box)
        }
    }

    private func fill(_ packet: UnsafeMutablePointer<AVPacket>, with coded: CodedPacket) {
        guard let bytes = coded.bytes.baseAddress else { return }
        let data = UnsafeMutableRawPointer(mutating: bytes)
        packet.pointee.buf = CodecLibrary.buffer(
            over: data, count: coded.bytes.count + CodedPacket.paddingBytes, owner: coded.owner)
        packet.pointee.data = data.assumingMemoryBound(to: UInt8.self)
        packet.pointee.size = Int32(coded.bytes.count)
        packet.pointee.pts = coded.ptsNanoseconds ?? CFFmpeg_NOPTS_VALUE
        packet.pointee.dts = coded.dtsNanoseconds
        packet.pointee.duration = coded.durationNanoseconds
        packet.pointee.time_base = nanosecondTimeBase
        if coded.isKeyframe { packet.pointee.flags |= AV_PKT_FLAG_KEY }
        if coded.isDiscarded { packet.pointee.flags |= AV_PKT_FLAG_DISCARD }
        if coded.skippedAtStart > 0 || coded.skippedAtEnd > 0,
            let side = av_packet_new_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, 10)
        {
            let counts = [coded.skippedAtStart, coded.skippedAtEnd].map {
                UInt32(clamping: $0).littleEndian
            }
            let raw = UnsafeMutableRawPointer(side)
            raw.storeBytes(of: counts[0], toByteOffset: 0, as: UInt32.self)
            raw.storeBytes(of: counts[1], toByteOffset: 4, as: UInt32.self)
            raw.storeBytes(of: 0, toByteOffset: 8, as: UInt16.self)
        }
        if let configuration = coded.newConfiguration,
            let side = av_packet_new_side_data(
                packet, AV_PKT_DATA_NEW_EXTRADATA, configuration.count)
        {
            configuration.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(start: side, count: $0.count).copyMemory(from: $0)
            }
        }
    }

    private func check(_ result: Int32, atNanoseconds time: Int64) throws(EncodingError) {
        if result < 0 {
            throw .damagedPacket(
                codec: codec, atNanoseconds: time, reason: libraryErrorText(result))
        }
    }
}

extension CodecHandle {
    /// An opened decoder for the track.
    fileprivate static func openDecoder(
        _ track: CodedTrack, threads: Int, isStrict: Bool
    ) throws(EncodingError) -> CodecHandle {
        guard let description = avcodec_descriptor_get_by_name(track.codec),
            let codec = avcodec_find_decoder(description.pointee.id)
        else { throw .noDecoder(codec: track.codec) }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.codec_tag = track.codecTag
        context.pointee.pkt_timebase = nanosecondTimeBase
        context.pointee.thread_count = Int32(clamping: threads)
        if isStrict {
            // Concealment stays enabled: without it, libavcodec considers pictures of several slices damaged. Concealed
            // pictures are flagged.
            context.pointee.err_recognition |= AV_EF_EXPLODE
            // Otherwise it guesses the reordering depth, and drops pictures that exceed it.
            context.pointee.strict_std_compliance = FF_COMPLIANCE_STRICT
        }
        if !track.configuration.isEmpty { handle.setExtradata(track.configuration) }
        switch track.content {
        case .picture(let picture):
            context.pointee.width = Int32(clamping: picture.width)
            context.pointee.height = Int32(clamping: picture.height)
            if let format = picture.format {
                context.pointee.pix_fmt = av_get_pix_fmt(format.name)
            }
        case .sound(let sound):
            context.pointee.sample_rate = Int32(clamping: sound.sampleRate)
            context.pointee.block_align = Int32(clamping: sound.blockBytes)
            context.pointee.bits_per_coded_sample = Int32(clamping: sound.bitsPerSample)
            context.pointee.bit_rate = sound.bitRate
            av_channel_layout_default(&context.pointee.ch_layout, Int32(clamping: sound.channels))
        }
        let result = avcodec_open2(context, codec, nil)
        guard result >= 0 else {
            throw .decoderRefused(codec: track.codec, reason: libraryErrorText(result))
        }
        return handle
    }

    private func setExtradata(_ bytes: [UInt8]) {
        let padding = Int(CFFmpeg_INPUT_BUFFER_PADDING_SIZE)
        guard let memory = av_mallocz(bytes.count + padding) else {
            preconditionFailure("out of memory")
        }
        bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: memory, count: $0.count).copyMemory(from: $0)
        }
        context.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(bytes.count)
    }
}
