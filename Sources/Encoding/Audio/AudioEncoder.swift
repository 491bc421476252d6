import CFFmpeg
import FFmpegSupport
package import Media

/// Settings of an ``AudioEncoder``.
package struct AudioEncoderSettings: Hashable, Sendable {
    package var codec = SoundCodec.aac
    /// Bits per second.
    package var bitrate = 96_000
    /// Hz; for AAC one of the rates of ISO/IEC 14496-3 table 1.18, for Opus 48000.
    package var sampleRate: Int
    package var channels: Int

    package init(sampleRate: Int, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = channels
    }
}

/// libavcodec's AAC-LC encoder, or libopus: input is audio in any layout, output are raw packets with exact times.
///
/// The encoder's delay is compensated: packet k begins at the time of the first captured frame, less the delay, plus k
/// × ``SoundCodec/packetFrames`` frames, computed from k; frames before the first captured one are
/// ``SampleFlags/priming``. Gaps in the input times are filled with silence and overlaps are cut, so that audio keeps
/// its capture times. Owns the handle; belongs to one thread.
package struct AudioEncoder: ~Copyable {
    /// Configuration of the output.
    ///
    /// - Precondition: recordings have the codec.
    package var format: AudioFormat {
        guard let recorded else { preconditionFailure("recordings have no \(settings.codec)") }
        return recorded
    }

    /// Description of the packets for a container.
    package let track: CodedTrack
    /// Frames of the encoder's delay, before the first captured one.
    package let delayFrames: Int
    package let settings: AudioEncoderSettings

    /// Smaller deviations are jitter of containers that round times to milliseconds; larger ones are gaps.
    private static let tolerance = Duration.milliseconds(10)
    /// Maximum duration of inserted silence.
    private static let longestSilence = Duration.seconds(60)
    private let recorded: AudioFormat?
    private let handle: CodecHandle
    private let packet = PacketHandle()
    private let input = FrameBox()
    private let queue: AudioQueue
    private var converter: AudioConverter?
    /// Time of the first captured frame.
    private var startNanoseconds: Int64?
    /// Frames queued so far.
    private var framesIn: Int64 = 0
    private var framesSent: Int64 = 0
    private var packetsOut: Int64 = 0
    private var quiet = QuietStretch()
    private var meter: AudioMeter

    /// Opens the encoder.
    package init(_ settings: AudioEncoderSettings) throws(EncodingError) {
        let handle = try CodecHandle.openAudioEncoder(settings)
        let size = Int(handle.context.pointee.extradata_size)
        let extradata = Array(
            UnsafeBufferPointer(start: handle.context.pointee.extradata, count: size))
        do {
            recorded = try settings.codec.recorded?.coding.format(parsing: extradata)
        } catch {
            throw .encoderRefused(settings.codec.encoder, reason: error.description)
        }
        track = CodedTrack(
            codec: settings.codec.rawValue, codecTag: 0, configuration: extradata,
            content: .sound(
                CodedTrack.Audio(
                    sampleRate: settings.sampleRate, channels: settings.channels,
                    bitRate: Int64(settings.bitrate), packetFrames: settings.codec.packetFrames)))
        delayFrames = Int(handle.context.pointee.initial_padding)
        self.settings = settings
        self.handle = handle
        queue = AudioQueue(channels: settings.channels)
        meter = AudioMeter(channels: settings.channels)
    }

    /// Encodes audio that follows the previous audio; `emit` receives the finished packets.
    package mutating func encode(
        _ sound: RawAudio, emit: (EncodedSample) -> Void
    ) throws(EncodingError) {
        let aligned = try align(sound)
        guard aligned.frameCount > 0 else { return }
        try append(aligned)
        try sendFullPackets(emit: emit)
    }

    /// The level of each channel since the last call that returned it: about once per second of audio, nil otherwise.
    package mutating func takeLevels() -> [AudioLevel]? {
        meter.frames >= settings.sampleRate ? meter.take() : nil
    }

    /// Ends the stream; `emit` receives the remaining packets, the last one padded with silence.
    package mutating func finish(emit: (EncodedSample) -> Void) throws(EncodingError) {
        drainConverter()
        try sendFullPackets(emit: emit)
        if queue.count > 0 { try send(frames: queue.count) }
        try check(avcodec_send_frame(handle.context, nil))
        try drain(emit: emit)
    }

    // MARK: Time

    /// Compares the audio's time with the position of its frames, and corrects the difference.
    private mutating func align(_ sound: RawAudio) throws(EncodingError) -> RawAudio {
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
                settings.codec.encoder, atNanoseconds: sound.captureNanoseconds,
                reason: "the audio before it ended more than a minute earlier")
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

    private mutating func append(_ sound: RawAudio) throws(EncodingError) {
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
            converter = try AudioConverter(
                from: layout, toRate: settings.sampleRate, channels: settings.channels)
        }
        convert(sound)
    }

    private mutating func convert(_ sound: RawAudio?) {
        guard let capacity = converter?.maximumOutput(for: sound?.frameCount ?? 0) else { return }
        let room = queue.room(for: capacity)
        let count = converter?.convert(sound, into: room, capacity: capacity) ?? 0
        queue.didAppend(frames: count)
        framesIn += Int64(count)
    }

    /// Flushes and discards the converter: the next audio is not contiguous.
    private mutating func drainConverter() {
        convert(nil)
        converter = nil
    }

    // MARK: Encoding

    private mutating func sendFullPackets(
        emit: (EncodedSample) -> Void
    ) throws(EncodingError) {
        let frames = settings.codec.packetFrames
        while queue.count >= frames {
            let isQuiet = queue.isSilent(frames: frames)
            if isQuiet, let packet = quiet.packet {
                pass(frames: frames)
                if let sample = sample(packet) { emit(sample) }
                continue
            }
            quiet.willEncode(isQuiet: isQuiet)
            try send(frames: frames)
            try drain(emit: emit)
        }
    }

    /// Skips queued silent frames without encoding them.
    private mutating func pass(frames: Int) {
        queue.drop(frames: frames)
        meter.addSilence(frames: frames)
        framesSent += Int64(frames)
    }

    private mutating func send(frames: Int) throws(EncodingError) {
        let frame = input.frame
        frame.pointee.format = handle.context.pointee.sample_fmt.rawValue
        frame.pointee.nb_samples = Int32(frames)
        frame.pointee.sample_rate = Int32(settings.sampleRate)
        av_channel_layout_default(&frame.pointee.ch_layout, Int32(settings.channels))
        frame.pointee.pts = framesSent
        let allocated = av_frame_get_buffer(frame, 0)
        precondition(allocated >= 0, "out of memory")
        fill(frame, frames: frames)
        framesSent += Int64(frames)
        let result = avcodec_send_frame(handle.context, frame)
        av_frame_unref(frame)
        try check(result)
    }

    /// Moves frames from the queue into a library frame, planar or interleaved as the encoder requires.
    private mutating func fill(_ frame: UnsafeMutablePointer<AVFrame>, frames: Int) {
        guard let planes = frame.pointee.extended_data else { preconditionFailure() }
        func floats(_ plane: Int) -> UnsafeMutablePointer<Float> {
            guard let memory = planes[plane] else { preconditionFailure("a frame has its planes") }
            return UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Float.self)
        }
        let channels = settings.channels
        guard handle.context.pointee.sample_fmt == AV_SAMPLE_FMT_FLT else {
            let targets = (0..<channels).map(floats)
            queue.take(frames: frames, into: targets)
            meter.add(targets, frames: frames)
            return
        }
        let memory = UnsafeMutableBufferPointer<Float>.allocate(capacity: channels * frames)
        defer { memory.deallocate() }
        guard let base = memory.baseAddress else { return }
        let targets = (0..<channels).map { base + $0 * frames }
        queue.take(frames: frames, into: targets)
        meter.add(targets, frames: frames)
        let output = floats(0)
        for (channel, target) in targets.enumerated() {
            for index in 0..<frames { output[index * channels + channel] = target[index] }
        }
    }

    private mutating func drain(emit: (EncodedSample) -> Void) throws(EncodingError) {
        while true {
            let result = avcodec_receive_packet(handle.context, packet.packet)
            if result == CFFmpeg_ERROR_EAGAIN || result == CFFmpeg_ERROR_EOF { return }
            try check(result)
            let out = packet.packet.pointee
            let data = Array(UnsafeBufferPointer(start: out.data, count: Int(out.size)))
            av_packet_unref(packet.packet)
            if settings.codec.repeatsSilence { quiet.didEncode(data) }
            if let sample = sample(data) { emit(sample) }
        }
    }

    /// Packet k; nil after the last captured frame.
    private mutating func sample(_ data: [UInt8]) -> EncodedSample? {
        let first =
            packetsOut * Int64(settings.codec.packetFrames)
            - Int64(handle.context.pointee.initial_padding)
        packetsOut += 1
        let end = first + Int64(settings.codec.packetFrames)
        // The last packet is padded with silence, which is not counted.
        let isPriming = end <= 0
        let shown = isPriming ? end : min(end, framesSent)
        guard shown > first else { return nil }
        let start = time(ofFrame: first)
        return EncodedSample(
            track: .audio, ptsNanoseconds: start, dtsNanoseconds: start,
            durationNanoseconds: time(ofFrame: shown) - start,
            flags: isPriming ? [.keyframe, .priming] : .keyframe,
            data: data)
    }

    private func check(_ result: Int32) throws(EncodingError) {
        if result < 0 {
            throw .encodingFailed(
                settings.codec.encoder, atNanoseconds: time(ofFrame: framesSent),
                reason: libraryErrorText(result))
        }
    }
}

extension CodecHandle {
    /// An opened audio encoder for floats.
    fileprivate static func openAudioEncoder(
        _ settings: AudioEncoderSettings
    ) throws(EncodingError) -> CodecHandle {
        let name = settings.codec.encoder
        guard let codec = avcodec_find_encoder_by_name(name) else { throw .noEncoder(name) }
        guard settings.codec.supports(sampleRate: settings.sampleRate) else {
            throw .encoderRefused(
                name,
                reason: "\(settings.codec) does not support a sample rate of "
                    + "\(settings.sampleRate) Hz: use 48000")
        }
        let handle = CodecHandle(codec)
        let context = handle.context
        context.pointee.bit_rate = Int64(settings.bitrate)
        context.pointee.sample_rate = Int32(settings.sampleRate)
        context.pointee.sample_fmt = settings.codec.sampleFormat
        context.pointee.time_base = AVRational(num: 1, den: Int32(settings.sampleRate))
        context.pointee.flags |= CFFmpeg_CODEC_FLAG_GLOBAL_HEADER
        av_channel_layout_default(&context.pointee.ch_layout, Int32(settings.channels))
        let result = avcodec_open2(context, codec, nil)
        guard result >= 0 else {
            throw .encoderRefused(name, reason: libraryErrorText(result))
        }
        return handle
    }
}
