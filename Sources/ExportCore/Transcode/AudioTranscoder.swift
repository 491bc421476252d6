import Archive
import Containers
import Encoding
import Recordings
import Media

/// Transcodes a recording's audio into a container, from exactly the output's first frame on; gaps become silence of
/// the same duration. Owned by one thread.
final class AudioTranscoder {
    /// The encoder fills gaps up to a minute; longer ones are filled here in steps of this duration.
    private static let silenceNanoseconds: Int64 = 1_000_000_000

    let index: Int
    private let timeline: OutputTimeline
    private var decoder = RecordedAudio()
    private var encoder: AudioEncoder
    private let timescale: Timescale
    private let packetFrames: Int64
    private var endNanoseconds: Int64?
    private var silence: RawAudio?

    init(
        _ first: RecordedSample, codec: SoundCodec, settings: TranscodeSettings,
        timeline: OutputTimeline, index: Int
    ) throws {
        self.index = index
        self.timeline = timeline
        guard case .audio(let format) = first.format else {
            preconditionFailure("a track of sound has a format of sound")
        }
        let rate = codec.rate(for: Int(format.sampleRate))
        var options = AudioEncoderSettings(sampleRate: rate, channels: Int(format.channels))
        options.codec = codec
        options.bitrate = settings.audioBitrate
        encoder = try AudioEncoder(options)
        timescale = Timescale(UInt32(rate))
        packetFrames = Int64(codec.packetFrames)
    }

    var track: ContainerTrack {
        ContainerTrack(
            encoder.track, timescale: timescale, primingFrames: encoder.delayFrames)
    }

    /// Adds the next sample.
    func take(_ sample: RecordedSample, into output: MuxedOutput) throws {
        var sounds: [RawAudio] = []
        try decoder.decode(sample) { sounds.append($0) }
        for sound in sounds { try encode(sound, into: output) }
    }

    /// Ends the stream; returns the number of packets that could not be decoded.
    func finish(into output: MuxedOutput) throws -> Int {
        var sounds: [RawAudio] = []
        try decoder.finish { sounds.append($0) }
        for sound in sounds { try encode(sound, into: output) }
        var samples: [EncodedSample] = []
        try encoder.finish { samples.append($0) }
        for sample in samples { try write(sample, into: output) }
        return decoder.damaged
    }

    private func encode(_ decoded: RawAudio, into output: MuxedOutput) throws {
        var sound = decoded
        let rate = Timescale(UInt32(sound.layout.sampleRate))
        sound.captureNanoseconds -= timeline.start
        if sound.captureNanoseconds < 0 {
            let before = try rescale(-sound.captureNanoseconds, from: .nanoseconds, to: rate)
            sound = sound.dropFirst(Int(clamping: before))
            // The first remaining frame is the output's first: the rest of the difference is rounding.
            if sound.frameCount > 0 { sound.captureNanoseconds = 0 }
        }
        if let end = timeline.end {
            let left = end - timeline.start - sound.captureNanoseconds
            let frames = try rescale(max(0, left), from: .nanoseconds, to: rate)
            sound = sound.prefix(Int(clamping: frames))
        }
        guard sound.frameCount > 0 else { return }
        try fill(until: sound, into: output)
        endNanoseconds =
            sound.captureNanoseconds
            + (try rescale(Int64(sound.frameCount), from: rate, to: .nanoseconds))
        try send(sound, into: output)
    }

    /// Inserts silence for a gap that is too long for the encoder.
    private func fill(until sound: RawAudio, into output: MuxedOutput) throws {
        guard var end = endNanoseconds else { return }
        while sound.captureNanoseconds - end > 2 * Self.silenceNanoseconds {
            var quiet = silence ?? Self.silence(like: sound.layout)
            silence = quiet
            quiet.captureNanoseconds = end
            try send(quiet, into: output)
            end += Self.silenceNanoseconds
        }
    }

    /// One second of silence, as planar floats, with the rate and channel count of `layout`.
    private static func silence(like layout: AudioLayout) -> RawAudio {
        final class Zeros: Sendable {
            nonisolated(unsafe) let memory: UnsafeMutableRawPointer
            init(_ count: Int) {
                memory = .allocate(byteCount: count, alignment: 16)
                memory.initializeMemory(as: UInt8.self, repeating: 0, count: count)
            }
            deinit { memory.deallocate() }
        }
        var quiet = layout
        quiet.sampleType = .float
        quiet.isPlanar = true
        let zeros = Zeros(quiet.sampleRate * quiet.sampleType.sizeBytes)
        return RawAudio(
            layout: quiet,
            planes: Array(repeating: UnsafeRawPointer(zeros.memory), count: quiet.channels),
            frameCount: quiet.sampleRate, captureNanoseconds: 0, owner: zeros)
    }

    private func send(_ sound: RawAudio, into output: MuxedOutput) throws {
        var samples: [EncodedSample] = []
        try encoder.encode(sound) { samples.append($0) }
        for sample in samples { try write(sample, into: output) }
    }

    private func write(_ sample: EncodedSample, into output: MuxedOutput) throws {
        let pts = try rescale(sample.ptsNanoseconds, from: .nanoseconds, to: timescale)
        let duration = try rescale(sample.durationNanoseconds, from: .nanoseconds, to: timescale)
        try output.write(
            sample.data, track: index, pts: pts, dts: pts, duration: duration, isKeyframe: true,
            trimmedFrames: Int(max(0, packetFrames - duration)))
    }
}

/// Copies a recording's track into a container. Owned by one thread.
final class CopyTranscoder {
    let index: Int
    let track: ContainerTrack
    private let format: TrackFormat
    private let origin: Int64

    init(_ first: RecordedSample, timeline: OutputTimeline, index: Int) throws {
        self.index = index
        format = first.format
        track = try ContainerTrack(format)
        origin = try rescale(timeline.start, from: .nanoseconds, to: format.timescale)
    }

    func take(_ sample: RecordedSample, into output: MuxedOutput) throws {
        guard sample.format == format else {
            throw ExportError.formatChanges(
                sample.track, atNanoseconds: sample.ptsNanoseconds)
        }
        try output.write(
            try sample.read(), track: index, pts: sample.ptsTicks - origin,
            dts: sample.dtsTicks - origin, duration: sample.durationTicks,
            isKeyframe: sample.flags.contains(.keyframe))
    }
}
