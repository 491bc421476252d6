package import Media

/// Keeps a device's sound locked to the clock: what comes out has a fixed number of frames per second of the clock, however
/// fast the device is.
///
/// Output frame k lies at the start plus k ÷ rate, computed from k: its number is its time. Sound goes through a resampler
/// that is stretched by what ``AudioServo`` says; a break is filled with silence of exactly its length. Belongs to one
/// thread.
package struct AudioLock: ~Copyable {
    package let sampleRate: Int
    package let channels: Int

    /// Silence comes in runs of so many frames, which bounds memory.
    private static let silentRun: Int64 = 4096

    private var servo = AudioServo()
    private var converter: AudioConverter?
    private var startNanoseconds: Int64?
    private var framesOut: Int64 = 0
    /// How long the run before was, which the servo's glide is measured by.
    private var secondsBefore = 0.0

    /// Nothing is known of the sound yet but what is to become of it.
    package init(sampleRate: Int, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = channels
    }

    /// Where what has come out ends; nil before the start.
    package var endNanoseconds: Int64? { startNanoseconds.map { $0 + time(of: framesOut) } }

    /// How far what came out lies behind where the device's clock has it, as of the last sound; negative: before it.
    package private(set) var lagNanoseconds: Int64 = 0

    /// Output begins then, with silence if need be; the first sound's own time is the start otherwise.
    package mutating func begin(atNanoseconds start: Int64) {
        if startNanoseconds == nil { startNanoseconds = start }
    }

    /// Takes sound that follows the sound before it, or the first after a break; `emit` gets planar floats.
    ///
    /// - Parameters:
    ///   - sound: its time is when the device captured its first frame, by the clock.
    ///   - stretchPPB: how much longer the device takes for its frames than it says.
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

    /// The sound breaks here: what is still inside comes out, and the next sound is put where it belongs, after silence.
    package mutating func interrupt(
        emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        if converter == nil { return }
        try convert(nil, emit: emit)
        converter = nil
    }

    /// Silence up to then, where there is no sound; nothing if what has come out reaches further, or nothing has yet.
    ///
    /// - Precondition: the sound is interrupted.
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
// @unchecked: written before anyone else sees it, only read from then on.
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
