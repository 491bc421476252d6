import Encoding
import Media
import RTSP

/// A network camera's sound in a codec that recordings do not have: decoded, placed on the agent's clock, and encoded as AAC.
///
/// Missing sound becomes silence of the same length, and a loss.
final class NetworkEncodedSound: NetworkTrack {
    /// Some cameras send nothing while it is quiet, and the network may deliver a burst. Sound that is off its time by more is placed
    /// anew; less is closed by resampling.
    private static let largestOffsetNanoseconds: UInt64 = 60_000_000
    /// While the camera is away, silence is written up to this long before the present, so that it ends before the sound returns.
    private static let silenceDelayNanoseconds: Int64 = 2_000_000_000
    private static let otherCodec =
        "since it is back, the camera sends its sound in another codec: restart the agent"

    let kind = TrackKind.audio
    let text: String
    private(set) var isDone = false
    private(set) var isFlowing = false
    private var sound: ForeignSound
    private var decoder: AudioDecoder
    private var encoder: AudioEncoder
    private var lock: AudioLock
    private var times: UnitTimes
    private var progress: NetworkProgress
    private let delay: Int64
    /// End of the previous packet; nil after a break.
    private var nextNanoseconds: Int64?
    /// Whether what the camera sends now can be recorded.
    private var isUsable = true

    init(
        _ sound: ForeignSound, _ plan: AudioEncoderSettings, durationNanoseconds: Int64?,
        delayNanoseconds: Int64 = 0
    ) throws(EncodingError) {
        delay = delayNanoseconds
        self.sound = sound
        decoder = try Self.decoder(sound)
        encoder = try AudioEncoder(plan)
        lock = AudioLock(sampleRate: plan.sampleRate, channels: plan.channels)
        times = UnitTimes(clockRate: sound.sampleRate, delayNanoseconds: delay)
        progress = NetworkProgress(
            .audio, durationNanoseconds: durationNanoseconds,
            intervalNanoseconds: Self.nanoseconds(plan.codec.packetFrames, plan.sampleRate))
        text = CaptureDescription.sound(plan, from: "\(sound.codec)")
    }

    private static func decoder(_ sound: ForeignSound) throws(EncodingError) -> AudioDecoder {
        let codec =
            switch sound.codec {
            case .muLaw: "pcm_mulaw"
            case .aLaw: "pcm_alaw"
            case .linear16: "pcm_s16be"
            case .opus: "opus"
            }
        let block = sound.frameBytes ?? 0
        return try AudioDecoder(
            CodedTrack(
                codec: codec, codecTag: 0, configuration: [],
                content: .sound(
                    CodedTrack.Audio(
                        sampleRate: Int(sound.sampleRate), channels: sound.channels,
                        blockBytes: block, bitsPerSample: 8 * block / sound.channels, bitRate: 0))))
    }

    private static func nanoseconds(_ frames: Int, _ sampleRate: Int) -> Int64 {
        saturatingRescale(
            Int64(frames), from: Timescale(UInt32(sampleRate)), to: .nanoseconds)
    }

    private static func end(of sound: RawAudio) -> Int64 {
        sound.captureNanoseconds + nanoseconds(sound.frameCount, sound.layout.sampleRate)
    }

    var format: TrackFormat { .audio(encoder.format) }

    func begin(startNanoseconds: Int64) {
        progress.limit.begin(startNanoseconds: startNanoseconds)
    }

    func take(_ items: [DepacketizedItem], _ output: CaptureOutput) throws(EncodingError) {
        for item in items {
            try record(times.add(item, now: output.nowNanoseconds), output)
        }
    }

    func tick(_ output: CaptureOutput) throws(EncodingError) {
        try record(times.tick(now: output.nowNanoseconds), output)
        if progress.isMissing {
            let end = output.nowNanoseconds - Self.silenceDelayNanoseconds
            try silence(untilNanoseconds: end, output)
        }
        progress.tick(output)
    }

    func interrupt(_ reason: String, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        try stop(output)
        progress.miss(.deviceLost, reason)
        isFlowing = false
    }

    func resume(
        _ description: CameraTrackDescription, _ output: CaptureOutput
    ) throws(EncodingError) {
        times = UnitTimes(clockRate: description.clockRate, delayNanoseconds: delay)
        guard case .foreign(let sound) = description.coding else {
            isUsable = false
            return
        }
        isUsable = true
        self.sound = sound
        decoder = try Self.decoder(sound)
    }

    func finish(atNanoseconds end: Int64, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        try stop(output)
        if progress.isMissing { try silence(untilNanoseconds: end, output) }
        progress.finish(atNanoseconds: end, output)
        try encoder.finish(emit: output.sample)
    }

    // MARK: Packets

    private func record(
        _ items: [UnitTimes.Item], _ output: CaptureOutput
    ) throws(EncodingError) {
        for item in items {
            switch item {
            case .unit(let timed): try record(timed, output)
            case .hole(let hole):
                try stop(output)
                progress.note(hole)
            }
        }
    }

    private func record(
        _ timed: UnitTimes.Timed, _ output: CaptureOutput
    ) throws(EncodingError) {
        progress.note(times.takeFindings(), atNanoseconds: timed.ptsNanoseconds, output)
        if isDone || progress.limit.isReached(atNanoseconds: timed.ptsNanoseconds) {
            isDone = true
            return
        }
        // A camera may begin with sound that it has buffered.
        guard isFlowing || timed.ptsNanoseconds >= progress.dueNanoseconds else { return }
        guard isUsable else {
            try stop(output)
            progress.miss(.deviceLost, Self.otherCodec)
            return progress.drop("")
        }
        let bytes = timed.unit.data.withUnsafeBytes { PaddedBytes($0) }
        let packet = CodedPacket(
            track: .audio, ptsNanoseconds: timed.ptsNanoseconds,
            dtsNanoseconds: timed.ptsNanoseconds, durationNanoseconds: 0, isKeyframe: true,
            isDiscarded: false, skippedAtStart: 0, skippedAtEnd: 0, newConfiguration: nil,
            bytes: bytes.bytes, owner: bytes)
        do throws(EncodingError) {
            try decoder.decode(packet) { (decoded) throws(EncodingError) in
                try take(decoded, output)
            }
        } catch .damagedPacket(_, _, let reason) {
            try stop(output)
            progress.miss(.damagedInput, "the camera sent sound that cannot be read: \(reason)")
            progress.drop("")
        }
    }

    /// Takes decoded sound, with the time of its first frame.
    private func take(_ decoded: RawAudio, _ output: CaptureOutput) throws(EncodingError) {
        let part = progress.limit.part(of: decoded)
        guard part.frameCount > 0 else { return }
        let start = part.captureNanoseconds
        if let next = nextNanoseconds {
            let offset = start - next + lock.lagNanoseconds
            if offset.magnitude > Self.largestOffsetNanoseconds {
                try stop(output)
                if offset < 0 { tellOverlap(from: start, output) }
            }
        }
        nextNanoseconds = Self.end(of: part)
        progress.close(atNanoseconds: start, output)
        // The times of the packets follow the camera's clock: the lock closes what they gain or lose.
        try lock.take(part, stretchPPB: 0) { (locked) throws(EncodingError) in
            try encode(locked, output)
        }
        isFlowing = true
    }

    /// The sound's times went back: what overlaps is dropped.
    private func tellOverlap(from start: Int64, _ output: CaptureOutput) {
        let overlap = max(0, progress.dueNanoseconds - start) / 1_000_000
        progress.tell(
            "\(overlap) ms of the camera's sound came for a time that had sound already: they are dropped",
            atNanoseconds: start, output)
    }

    // MARK: Recording

    /// The sound breaks off: what comes next is placed at its time, after silence.
    private func stop(_ output: CaptureOutput) throws(EncodingError) {
        try lock.interrupt { (locked) throws(EncodingError) in try encode(locked, output) }
        nextNanoseconds = nil
    }

    /// - Precondition: the sound has broken off.
    private func silence(
        untilNanoseconds end: Int64, _ output: CaptureOutput
    ) throws(EncodingError) {
        try lock.fill(untilNanoseconds: end) { (silent) throws(EncodingError) in
            try encode(progress.limit.part(of: silent), output)
        }
    }

    private func encode(_ locked: RawAudio, _ output: CaptureOutput) throws(EncodingError) {
        guard locked.frameCount > 0 else { return }
        try encoder.encode(locked, emit: output.sample)
        progress.reach(Self.end(of: locked))
        if let levels = encoder.takeLevels() {
            output.heard(AudioReport(levels: levels, skewPPM: nil))
        }
    }
}
