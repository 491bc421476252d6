package import Media

/// Locks a device's audio to the clock: the output has a fixed number of frames per second of the clock, whatever the
/// device's actual rate.
///
/// Output frame k is at start + k ÷ rate, computed from k. Audio passes a resampler whose stretch ``AudioServo``
/// controls; a break is filled with silence of exactly its length. Belongs to one thread.
package struct AudioLock: ~Copyable {
    package let sampleRate: Int
    package let channels: Int

    /// Maximum frames of silence per call, which bounds memory.
    private static let silentRun: Int64 = 4096

    private var servo = AudioServo()
    private var converter: AudioConverter?
    private var startNanoseconds: Int64?
    private var framesOut: Int64 = 0
    /// Duration of the previous chunk, for the servo's glide.
    private var secondsBefore = 0.0

    /// The parameters are those of the output; the first audio determines the input's layout.
    package init(sampleRate: Int, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = channels
    }

    /// The end of the output; nil before the start.
    package var endNanoseconds: Int64? { startNanoseconds.map { $0 + time(of: framesOut) } }

    /// Lag of the output behind the device's clock, at the last audio; negative: lead.
    package private(set) var lagNanoseconds: Int64 = 0

    /// Sets the start of the output, with silence if necessary; without it, output starts at the first audio.
    package mutating func begin(atNanoseconds start: Int64) {
        if startNanoseconds == nil { startNanoseconds = start }
    }

    /// Processes audio that follows the previous audio, or the first after a break; `emit` receives planar floats.
    ///
    /// - Parameters:
    ///   - sound: with the capture time of its first frame, by the clock.
    ///   - stretchPPB: excess of the device's time for its frames over the nominal time.
    package mutating func take(
        _ sound: RawAudio, stretchPPB: Double,
        emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        var sound = sound
        if startNanoseconds == nil { startNanoseconds = sound.captureNanoseconds }
        if let source = converter?.source, source != sound.layout { try interrupt(emit: emit) }
        if converter == nil {
            try fill(untilNanoseconds: sound.captureNanoseconds, emit: emit)
            let overlap = nearestFrame(at: sound.captureNanoseconds) - framesOut
            if overlap < 0 {
                sound = sound.dropFirst(
                    Int(-overlap * Int64(sound.layout.sampleRate) / Int64(sampleRate)))
            }
            guard sound.frameCount > 0 else { return }
            converter = try AudioConverter(
                from: sound.layout, toRate: sampleRate, channels: channels, pace: .adjustable)
        }
        let inside = converter?.delayNanoseconds ?? 0
        lagNanoseconds =
            sound.captureNanoseconds - (startNanoseconds ?? 0) - time(of: framesOut) - inside
        let stretch = servo.stretch(
            measuredPPB: stretchPPB, lagNanoseconds: Double(lagNanoseconds),
            seconds: secondsBefore)
        secondsBefore = Double(sound.frameCount) / Double(sound.layout.sampleRate)
        converter?.stretch(byPPB: stretch)
        try convert(sound, emit: emit)
    }

    /// A break in the audio: flushes the resampler; the next audio is placed at its time, after silence.
    package mutating func interrupt(
        emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        if converter == nil { return }
        try convert(nil, emit: emit)
        converter = nil
    }

    /// Inserts silence up to a time; does nothing if the output is already further, or has not started.
    ///
    /// - Precondition: the audio is interrupted.
    package mutating func fill(
        untilNanoseconds end: Int64, emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        precondition(converter == nil, "silence is put where sound has been interrupted")
        guard startNanoseconds != nil else { return }
        var missing = nearestFrame(at: end) - framesOut
        while missing > 0 {
            let count = min(missing, Self.silentRun)
            let memory = FloatPlanes(channels: channels, frames: Int(count))
            try give(memory, frames: Int(count), emit: emit)
            missing -= count
        }
    }

    private mutating func convert(
        _ sound: RawAudio?, emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        let capacity = converter?.maximumOutput(for: sound?.frameCount ?? 0) ?? 0
        guard capacity > 0 else { return }
        let memory = FloatPlanes(channels: channels, frames: capacity)
        let count = converter?.convert(sound, into: memory.planes, capacity: capacity) ?? 0
        if count > 0 { try give(memory, frames: count, emit: emit) }
    }

    private mutating func give(
        _ memory: FloatPlanes, frames: Int, emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        let layout = AudioLayout(
            sampleType: .float, isPlanar: true, sampleRate: sampleRate, channels: channels)
        let start = (startNanoseconds ?? 0) + time(of: framesOut)
        framesOut += Int64(frames)
        try emit(
            RawAudio(
                layout: layout, planes: memory.planes.map { UnsafeRawPointer($0) },
                frameCount: frames, captureNanoseconds: start, owner: memory))
    }

    private func time(of frame: Int64) -> Int64 { nanoseconds(frames: frame, rate: sampleRate) }

    private func nearestFrame(at time: Int64) -> Int64 {
        frames(nanoseconds: time - (startNanoseconds ?? 0), rate: sampleRate)
    }
}

/// Memory for planar floats.
// @unchecked: written before it is shared, only read from then on.
private final class FloatPlanes: @unchecked Sendable {
    let planes: [UnsafeMutablePointer<Float>]

    init(channels: Int, frames: Int) {
        planes = (0..<channels).map { _ in
            let plane = UnsafeMutablePointer<Float>.allocate(capacity: frames)
            plane.initialize(repeating: 0, count: frames)
            return plane
        }
    }

    deinit { for plane in planes { plane.deallocate() } }
}
