import CFFmpeg
package import Media

/// How a ``SoundEncoder`` encodes.
package struct SoundEncoderSettings: Hashable, Sendable {
    /// Bits per second.
    package var bitrate = 96_000
    /// Hz; one of the rates of ISO/IEC 14496-3 table 1.18.
    package var sampleRate: Int
    package var channels: Int

    package init(sampleRate: Int, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = channels
    }
}

/// libavcodec's AAC-LC encoder: sound in any layout in, raw packets with their exact times out.
///
/// The encoder's delay is accounted for: packet k begins at the time of the first captured frame, less the delay,
/// plus k × 1024 frames, computed from k; what lies before the first captured frame is ``SampleFlags/priming``. A hole in
/// the incoming times is filled with silence, an overlap is cut, so that sound stays where it was captured.
/// Owns the handle; belongs to one thread.
package struct SoundEncoder: ~Copyable {
    /// Configuration of what comes out.
    package let format: AACFormat
    package let settings: SoundEncoderSettings

    /// Frames in a packet (ISO/IEC 14496-3).
    private static let packetFrames = 1024
    /// Containers that round times to milliseconds jitter by less; what differs by more is a hole.
    private static let tolerance = Duration.milliseconds(10)
    /// The longest silence that is put in a hole.
    private static let longestSilence = Duration.seconds(60)
    private static let name = "aac"

    private let handle: CodecHandle
    private let packet = PacketHandle()
    private let input = FrameBox()
    private let queue: SoundQueue
    private var converter: SoundConverter?
    /// Time of the first captured frame.
    private var startNanoseconds: Int64?
    /// Frames that went into the queue so far.
    private var framesIn: Int64 = 0
    private var framesSent: Int64 = 0
    private var packetsOut: Int64 = 0
    private var meter: SoundMeter

    /// Opens the encoder.
    package init(_ settings: SoundEncoderSettings) throws(EncodingError) {
        let handle = try CodecHandle.openSoundEncoder(Self.name, settings)
        let size = Int(handle.context.pointee.extradata_size)
        let extradata = UnsafeBufferPointer(start: handle.context.pointee.extradata, count: size)
        do {
            format = try AACFormat(parsing: Array(extradata))
        } catch {
            throw .encoderRefused(Self.name, reason: error.description)
        }
        self.settings = settings
        self.handle = handle
        queue = SoundQueue(channels: settings.channels)
        meter = SoundMeter(channels: settings.channels)
    }

    /// Takes sound that follows the sound before it; `emit` gets what is ready.
    package mutating func encode(
        _ sound: RawSound, emit: (EncodedSample) -> Void
    ) throws(EncodingError) {
        let aligned = try align(sound)
        guard aligned.frameCount > 0 else { return }
        try append(aligned)
        try sendFullPackets(emit: emit)
    }

    /// How loud each channel was since the last time that this was told: about once in a second of sound, nil otherwise.
    package mutating func takeLevels() -> [SoundLevel]? {
        meter.frames >= settings.sampleRate ? meter.take() : nil
    }

    /// Ends the stream; `emit` gets what was still on its way, the last packet padded with silence.
    package mutating func finish(emit: (EncodedSample) -> Void) throws(EncodingError) {
        drainConverter()
        try sendFullPackets(emit: emit)
        if queue.count > 0 { try send(frames: queue.count) }
        try check(avcodec_send_frame(handle.context, nil))
        try drain(emit: emit)
    }

    // MARK: Time

    /// Compares the sound's time with where its frames would land, and closes the difference.
    private mutating func align(_ sound: RawSound) throws(EncodingError) -> RawSound {
        guard let startNanoseconds else {
            self.startNanoseconds = sound.captureNanoseconds
            return sound
        }
        let rate = settings.sampleRate
        let inside = converter?.delay(atRate: rate) ?? 0
        let due = frames(nanoseconds: sound.captureNanoseconds - startNanoseconds, rate: rate)
        let difference = due - framesIn - inside
        guard difference.magnitude > frames(nanoseconds: Self.tolerance.nanoseconds, rate: rate)
        else { return sound }
        if difference < 0 {
            let overlap = -difference * Int64(sound.layout.sampleRate) / Int64(rate)
            return sound.dropFirst(Int(overlap))
        }
        guard difference <= frames(nanoseconds: Self.longestSilence.nanoseconds, rate: rate) else {
            throw .encodingFailed(
                Self.name, atNanoseconds: sound.captureNanoseconds,
                reason: "the sound before it ended over a minute earlier")
        }
        drainConverter()
        let silence = Int(due - framesIn)
        queue.appendSilence(frames: silence)
        framesIn += Int64(silence)
        return sound
    }

    /// The time of a frame, counted from the first captured one.
    private func time(ofFrame frame: Int64) -> Int64 {
        (startNanoseconds ?? 0) + nanoseconds(frames: frame, rate: settings.sampleRate)
    }

    // MARK: Conversion

    private mutating func append(_ sound: RawSound) throws(EncodingError) {
        let layout = sound.layout
        let isReady =
            layout.sampleType == .float && layout.isPlanar
            && layout.sampleRate == settings.sampleRate && layout.channels == settings.channels
        if isReady {
            drainConverter()
            queue.append(sound)
            framesIn += Int64(sound.frameCount)
            return
        }
        if converter?.source != layout {
            drainConverter()
            converter = try SoundConverter(
                from: layout, toRate: settings.sampleRate, channels: settings.channels)
        }
        convert(sound)
    }

    private mutating func convert(_ sound: RawSound?) {
        guard let capacity = converter?.maximumOutput(for: sound?.frameCount ?? 0) else { return }
        let room = queue.room(for: capacity)
        let count = converter?.convert(sound, into: room, capacity: capacity) ?? 0
        queue.didAppend(frames: count)
        framesIn += Int64(count)
    }

    /// Takes what the converter still holds, and the converter away: sound of other times follows.
    private mutating func drainConverter() {
        convert(nil)
        converter = nil
    }

    // MARK: Encoding

    private mutating func sendFullPackets(
        emit: (EncodedSample) -> Void
    ) throws(EncodingError) {
        while queue.count >= Self.packetFrames {
            try send(frames: Self.packetFrames)
            try drain(emit: emit)
        }
    }

    private mutating func send(frames: Int) throws(EncodingError) {
        let frame = input.frame
        frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        frame.pointee.nb_samples = Int32(frames)
        frame.pointee.sample_rate = Int32(settings.sampleRate)
        av_channel_layout_default(&frame.pointee.ch_layout, Int32(settings.channels))
        frame.pointee.pts = framesSent
        let allocated = av_frame_get_buffer(frame, 0)
        precondition(allocated >= 0, "out of memory")
        guard let planes = frame.pointee.extended_data else { preconditionFailure() }
        let targets = (0..<settings.channels).compactMap { channel in
            planes[channel].map {
                UnsafeMutableRawPointer($0).assumingMemoryBound(to: Float.self)
            }
        }
        queue.take(frames: frames, into: targets)
        meter.add(targets, frames: frames)
        framesSent += Int64(frames)
        let result = avcodec_send_frame(handle.context, frame)
        av_frame_unref(frame)
        try check(result)
    }

    private mutating func drain(emit: (EncodedSample) -> Void) throws(EncodingError) {
        while true {
            let result = avcodec_receive_packet(handle.context, packet.packet)
            if result == CFFmpeg_ERROR_EAGAIN || result == CFFmpeg_ERROR_EOF { return }
            try check(result)
            if let sample = sample(packet.packet.pointee) { emit(sample) }
            av_packet_unref(packet.packet)
        }
    }

    /// Packet k, or nil when it lies behind the last captured frame.
    private mutating func sample(_ packet: AVPacket) -> EncodedSample? {
        let first =
            packetsOut * Int64(Self.packetFrames) - Int64(handle.context.pointee.initial_padding)
        packetsOut += 1
        let end = first + Int64(Self.packetFrames)
        // The last packet is padded with silence that nobody captured.
        let isPriming = end <= 0
        let shown = isPriming ? end : min(end, framesSent)
        guard shown > first else { return nil }
        let start = time(ofFrame: first)
        return EncodedSample(
            track: .audio, ptsNanoseconds: start, dtsNanoseconds: start,
            durationNanoseconds: time(ofFrame: shown) - start,
            flags: isPriming ? [.keyframe, .priming] : .keyframe,
            data: Array(UnsafeBufferPointer(start: packet.data, count: Int(packet.size))))
    }

    private func check(_ result: Int32) throws(EncodingError) {
        if result < 0 {
            throw .encodingFailed(
                Self.name, atNanoseconds: time(ofFrame: framesSent),
                reason: CodecLibrary.reason(result))
        }
    }
}

extension CodecHandle {
    /// A sound encoder that is ready for planar floats.
    fileprivate static func openSoundEncoder(
        _ name: String, _ settings: SoundEncoderSettings
    ) throws(EncodingError) -> CodecHandle {
        guard let codec = avcodec_find_encoder_by_name(name) else { throw .noEncoder(name) }
        let rates = AudioSpecificConfig.indexedSampleRates
        guard let rate = UInt32(exactly: settings.sampleRate), rates.contains(rate) else {
            throw .encoderRefused(
                name, reason: "AAC has no sample rate of \(settings.sampleRate) Hz; 48000 is usual")
        }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.bit_rate = Int64(settings.bitrate)
        context.pointee.sample_rate = Int32(settings.sampleRate)
        context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
        context.pointee.time_base = AVRational(num: 1, den: Int32(settings.sampleRate))
        context.pointee.flags |= CFFmpeg_CODEC_FLAG_GLOBAL_HEADER
        av_channel_layout_default(&context.pointee.ch_layout, Int32(settings.channels))
        let result = avcodec_open2(context, codec, nil)
        guard result >= 0 else {
            throw .encoderRefused(name, reason: CodecLibrary.reason(result))
        }
        return handle
    }
}
