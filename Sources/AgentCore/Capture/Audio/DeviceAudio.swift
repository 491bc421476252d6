import Devices
import Encoding
import Media

/// Converts a sound device's data to continuous audio on the monotonic clock. Missing audio is replaced by silence of the same
/// length, and reported as a loss.
///
/// The first audio of a device is delayed until its clock is measured, for somewhat more than half a second.
struct DeviceAudio: ~Copyable {
    /// Receives the output.
    struct Outlet {
        /// Planar floats, each run where the last one ended.
        var sound: (RawAudio) throws(EncodingError) -> Void
        var lost: (CaptureLoss) -> Void
    }

    /// Sound is missing from here on, until the next chunk.
    private struct Gap {
        var startNanoseconds: Int64
        var cause: CaptureLossCause
        var text: String
    }

    /// Interval at which a continuing loss is reported, which bounds what a crash loses of the report.
    private static let longestUntoldNanoseconds: Int64 = 60_000_000_000
    /// During a loss, silence ends this long before the present, so that it ends before new audio arrives.
    private static let silenceDelayNanoseconds: Int64 = 500_000_000

    private var clock: AudioClock
    /// The device's clock before its last interruption.
    private var measured: AudioClock?
    private var lock: AudioLock
    /// Audio before this time is discarded.
    private let startNanoseconds: Int64
    /// End of the capture, past which no sound is missing.
    private let endNanoseconds: Int64
    /// Data from before the device's clock was known.
    private var held: [AudioChunk] = []
    /// Number of the frame that should come next; nil after a break.
    private var nextFrame: Int64?
    private var gap: Gap?

    /// Outputs sound at `sampleRate` with that many channels, for the duration if there is one.
    init(
        sampleRate: Int, channels: Int, deviceRate: Int, startNanoseconds: Int64,
        durationNanoseconds: Int64? = nil
    ) {
        clock = AudioClock(sampleRate: deviceRate)
        lock = AudioLock(sampleRate: sampleRate, channels: channels)
        self.startNanoseconds = startNanoseconds
        endNanoseconds = durationNanoseconds.map { startNanoseconds + $0 } ?? .max
    }

    /// Deviation of the device's rate, ppm, positive if it is fast; nil until it is known.
    var skewPPM: Double? { clock.isSettled ? clock.skewPPM : nil }

    /// Deviation of the output from the device's clock, nanoseconds.
    var lagNanoseconds: Int64 { lock.lagNanoseconds }

    /// Processes data of the device.
    mutating func take(_ chunk: AudioChunk, _ outlet: Outlet) throws(EncodingError) {
        let event = clock.observe(chunk.reading)
        if case .shifted(let frames, _) = event { try shift(by: frames, outlet) }
        held.append(chunk)
        if clock.isSettled { try giveHeld(outlet) }
    }

    /// The device has stopped and will restart its frame count: the times of the next data determine the loss.
    mutating func interrupt(
        _ cause: CaptureLossCause, text: String, _ outlet: Outlet
    ) throws(EncodingError) {
        clock.settle()
        try giveHeld(outlet)
        // Without any audio so far, the loss starts with the capture.
        lock.begin(atNanoseconds: startNanoseconds)
        try open(cause, text: text, outlet)
        nextFrame = nil
        restart(deviceRate: clock.sampleRate)
    }

    /// After an interruption, the device's frames are counted from 0 at that rate.
    mutating func restart(deviceRate: Int) {
        if clock.isSettled { measured = clock }
        clock = AudioClock(sampleRate: deviceRate, measuredBefore: measured)
    }

    /// Silence while the device is away.
    ///
    /// - Precondition: it was interrupted.
    mutating func wait(nowNanoseconds: Int64, _ outlet: Outlet) throws(EncodingError) {
        guard let gap else { return }
        let safe = nowNanoseconds - Self.silenceDelayNanoseconds
        try lock.fill(untilNanoseconds: min(safe, endNanoseconds), emit: outlet.sound)
        let end = lock.endNanoseconds ?? gap.startNanoseconds
        if end - gap.startNanoseconds >= Self.longestUntoldNanoseconds {
            tell(gap, outlet)
            self.gap?.startNanoseconds = end
        }
    }

    /// Ends the capture: outputs pending audio, and silence up to now if the device is missing.
    mutating func finish(nowNanoseconds: Int64, _ outlet: Outlet) throws(EncodingError) {
        clock.settle()
        try giveHeld(outlet)
        try lock.interrupt(emit: outlet.sound)
        guard let gap else { return }
        try lock.fill(untilNanoseconds: min(nowNanoseconds, endNanoseconds), emit: outlet.sound)
        tell(gap, outlet)
        self.gap = nil
    }

    // MARK: In order

    private mutating func giveHeld(_ outlet: Outlet) throws(EncodingError) {
        for chunk in held { try give(chunk, outlet) }
        held.removeAll(keepingCapacity: true)
    }

    private mutating func give(_ chunk: AudioChunk, _ outlet: Outlet) throws(EncodingError) {
        if let nextFrame, nextFrame != chunk.firstFrame {
            let count = chunk.firstFrame - nextFrame
            try open(
                .overrun,
                text: "the audio device's buffer overran: \(count) frames replaced by silence",
                outlet)
        }
        nextFrame = chunk.firstFrame + Int64(chunk.sound.frameCount)
        var sound = chunk.sound
        sound.captureNanoseconds = clock.nanoseconds(ofFrame: chunk.firstFrame)
        let early = startNanoseconds - sound.captureNanoseconds
        if early > 0 {
            let rate = Int128(sound.layout.sampleRate)
            sound = sound.dropFirst(
                Int(clamping: (Int128(early) * rate + 999_999_999) / 1_000_000_000))
            if sound.frameCount == 0 { return }
        }
        if let gap {
            try lock.fill(untilNanoseconds: sound.captureNanoseconds, emit: outlet.sound)
            tell(gap, outlet)
            self.gap = nil
        }
        try lock.take(sound, stretchPPB: clock.stretchPPB, emit: outlet.sound)
    }

    /// An unknown number of frames was lost, or there were too many.
    private mutating func shift(by frames: Int64, _ outlet: Outlet) throws(EncodingError) {
        if frames > 0 {
            try open(
                .driverDrop,
                text: "the audio device dropped \(frames) frames without an error: replaced by "
                    + "silence", outlet)
        } else {
            try lock.interrupt(emit: outlet.sound)
            outlet.lost(
                CaptureLoss(
                    track: .audio, cause: .driverDrop,
                    startNanoseconds: lock.endNanoseconds ?? startNanoseconds,
                    durationNanoseconds: 0, samples: 0,
                    text: "the audio device delivered \(-frames) frames more than real time: "
                        + "they are dropped"))
        }
    }

    /// Sound is missing from the present end on.
    private mutating func open(
        _ cause: CaptureLossCause, text: String, _ outlet: Outlet
    ) throws(EncodingError) {
        try lock.interrupt(emit: outlet.sound)
        guard let end = lock.endNanoseconds else { return }
        // One gap may have several reasons: a jump of the count is more specific than contradictory times.
        gap = Gap(startNanoseconds: gap?.startNanoseconds ?? end, cause: cause, text: text)
    }

    /// The gap extends to the end of the silence.
    private func tell(_ gap: Gap, _ outlet: Outlet) {
        let duration = (lock.endNanoseconds ?? gap.startNanoseconds) - gap.startNanoseconds
        if duration <= 0 { return }
        outlet.lost(
            CaptureLoss(
                track: .audio, cause: gap.cause, startNanoseconds: gap.startNanoseconds,
                durationNanoseconds: duration, samples: 0, text: gap.text))
    }
}
