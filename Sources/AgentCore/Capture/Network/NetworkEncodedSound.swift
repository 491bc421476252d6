import Encoding
import Media
import RTSP

/// Records a network camera's audio in a codec that recordings do not have: decodes it, aligns it to the agent's clock, and encodes it
/// as AAC.
///
/// Lost audio is replaced by silence, and reported as a loss.
final class NetworkEncodedSound: NetworkTrack {
    /// Largest deviation that is corrected by resampling. A larger one, after a pause or a burst, is a discontinuity.
    private static let largestOffsetNanoseconds: UInt64 = 60_000_000
    /// During a loss, silence is written up to this long before the present and the delay, so that it ends before new audio
    /// arrives. Audio that is later is lost.
    private static let silenceDelayNanoseconds: Int64 = 2_000_000_000

    let kind = TrackKind.audio
    let text: String
    var times: UnitTimes
    var progress: NetworkProgress
    /// Not recorded: the encoder's packets are not those of the camera, to which reports apply.
    var reports: [CameraReport] = []
    private var sound: ForeignSound
    private var decoder: AudioDecoder
    private var encoder: AudioEncoder
    private var lock: AudioLock
    private let delay: Int64
    /// End of the previous packet; nil after a discontinuity.
    private var nextNanoseconds: Int64?
    /// The camera sends a codec that can be decoded.
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
        times = Self.times(sound, delay)
        progress = NetworkProgress(
            .audio, durationNanoseconds: durationNanoseconds,
            intervalNanoseconds: Self.nanoseconds(plan.codec.packetFrames, plan.sampleRate),
            delayNanoseconds: delay)
        text = CaptureDescription.sound(plan, from: "\(sound.codec)")
    }

    private static func decoder(_ sound: ForeignSound) throws(EncodingError) -> AudioDecoder {
        let block = sound.frameBytes ?? 0
        return try AudioDecoder(
            CodedTrack(
                codec: sound.codec.libraryName, codecTag: 0, configuration: [],
                content: .sound(
                    CodedTrack.Audio(
                        sampleRate: Int(sound.sampleRate), channels: sound.channels,
                        blockBytes: block, bitsPerSample: 8 * block / sound.channels))))
    }

    private static func times(_ sound: ForeignSound, _ delay: Int64) -> UnitTimes {
        UnitTimes(
            clockRate: sound.sampleRate,
            length: sound.frameBytes.map { .bytesPerTick($0) } ?? .unknown,
            delayNanoseconds: delay)
    }

    private static func nanoseconds(_ frames: Int, _ sampleRate: Int) -> Int64 {
        Timescale(UInt32(sampleRate)).nanoseconds(Int64(frames))
    }

    private static func end(of sound: RawAudio) -> Int64 {
        sound.captureNanoseconds + nanoseconds(sound.frameCount, sound.layout.sampleRate)
    }

    var format: TrackFormat { .audio(encoder.format) }

    func tick(_ output: CaptureOutput, nowNanoseconds now: Int64) throws(EncodingError) {
        try record(times.tick(now: now), output)
        progress.tick(output, nowNanoseconds: now)
        if progress.isMissing {
            if nextNanoseconds != nil { try stop(output) }
            try silence(
                untilNanoseconds: now - delay - Self.silenceDelayNanoseconds, output)
        }
    }

    func discontinue(isHarmless: Bool, _ output: CaptureOutput) throws(EncodingError) {
        try stop(output)
    }

    func resume(
        _ description: CameraTrackDescription, _ output: CaptureOutput
    ) throws(EncodingError) {
        guard case .foreign(let sound) = description.coding else {
            times = UnitTimes(clockRate: description.clockRate, delayNanoseconds: delay)
            isUsable = false
            return
        }
        times = Self.times(sound, delay)
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

    func record(_ timed: UnitTimes.Timed, _ output: CaptureOutput) throws(EncodingError) {
        guard progress.isNew(atNanoseconds: timed.ptsNanoseconds) else { return }
        guard isUsable else {
            try stop(output)
            return progress.dropOtherCodec()
        }
        do throws(EncodingError) {
            try decoder.decode(CodedPacket(timed, .audio)) { (decoded) throws(EncodingError) in
                try take(decoded, output)
            }
        } catch .damagedPacket(_, _, let reason) {
            try stop(output)
            progress.miss(.damagedInput, "the camera sent sound that cannot be read: \(reason)")
            progress.drop("")
        }
    }

    private func take(_ decoded: RawAudio, _ output: CaptureOutput) throws(EncodingError) {
        let part = progress.limit.part(of: decoded)
        guard part.frameCount > 0 else { return }
        let start = part.captureNanoseconds
        if let next = nextNanoseconds {
            let offset = start - next + lock.lagNanoseconds
            if offset.magnitude > Self.largestOffsetNanoseconds {
                try stop(output)
                if offset < 0 {
                    progress.noteOverlap(progress.dueNanoseconds - start, atNanoseconds: start)
                }
            }
        }
        nextNanoseconds = Self.end(of: part)
        progress.follow(atNanoseconds: start)
        // The lock drops the part of late sound whose time already has silence: that part belongs to the gap.
        if start < progress.dueNanoseconds { progress.noteLateSound() }
        progress.close(atNanoseconds: max(start, progress.dueNanoseconds), output)
        // Packet times follow the camera's clock: the lock resamples to correct its drift.
        try lock.take(part, stretchPPB: 0) { (locked) throws(EncodingError) in
            try encode(locked, output)
        }
        progress.isFlowing = true
        progress.forgetSilence()
    }

    // MARK: Recording

    /// Ends continuous audio: the next packet is preceded by silence up to its time.
    private func stop(_ output: CaptureOutput) throws(EncodingError) {
        try lock.interrupt { (locked) throws(EncodingError) in try encode(locked, output) }
        nextNanoseconds = nil
    }

    /// - Precondition: ``stop(_:)`` was called after the last packet.
    private func silence(
        untilNanoseconds end: Int64, _ output: CaptureOutput
    ) throws(EncodingError) {
        try lock.fill(untilNanoseconds: end) { (silent) throws(EncodingError) in
            progress.keepGap()
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
