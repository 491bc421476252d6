import Devices
import Foundation
import Glibc
import Media
import TestMedia

@testable import AgentCore

/// A simulated sound card with something to hear: a tone of 100 Hz of the true time, so that every sample says when it
/// was captured.
struct Microphone {
    static let hertz = 100.0
    static let sampleRate = 48_000

    var card: SimulatedAudioCard
    /// Frames that the device has captured and does not count.
    var uncounted: Int64 = 0
    private var firstOfCard: Int64 = 0

    init(_ card: SimulatedAudioCard) {
        self.card = card
    }

    /// The sound at that time, nanoseconds.
    static func value(atNanoseconds time: Double) -> Float {
        // The phase of a whole second first: a sine of a large number is not precise.
        let second = (time / 1e9).rounded(.down) * 1e9
        return Float(0.5 * sin(2 * .pi * hertz * (time - second) * 1e-9) + 0.25)
    }

    /// Captures a period of 20 ms.
    mutating func chunk() -> AudioChunk {
        let step = card.nanosecondsPerFrame
        let period = card.capture(960)
        let memory = Memory(
            (0..<960).map {
                Self.value(atNanoseconds: period.trueNanoseconds + Double($0) * step)
            })
        let first = period.firstFrame - firstOfCard - uncounted
        let sound = RawAudio(
            layout: AudioLayout(
                sampleType: .float, isPlanar: false, sampleRate: Self.sampleRate, channels: 1),
            planes: [UnsafeRawPointer(memory.samples)], frameCount: 960, captureNanoseconds: 0,
            owner: memory)
        return AudioChunk(
            firstFrame: first, sound: sound,
            reading: AudioReading(
                frames: period.readingFrames - firstOfCard - uncounted,
                nanoseconds: period.readingNanoseconds))
    }

    /// The device is started again: it counts from 0.
    mutating func restart() {
        firstOfCard = card.capturedFrames
        uncounted = 0
    }

    private final class Memory: @unchecked Sendable {
        let samples: UnsafeMutablePointer<Float>

        init(_ values: [Float]) {
            samples = .allocate(capacity: values.count)
            samples.initialize(from: values, count: values.count)
        }

        deinit { samples.deallocate() }
    }
}

/// Collects the output of a device's sound.
final class AudioRecord {
    private(set) var startNanoseconds: Int64?
    private(set) var samples: [Float] = []
    private(set) var losses: [CaptureLoss] = []
    /// A run did not begin where the one before it ended.
    private(set) var isBroken = false

    var outlet: DeviceAudio.Outlet {
        DeviceAudio.Outlet(sound: { [self] in add($0) }, lost: { [self] in losses.append($0) })
    }

    private func add(_ sound: RawAudio) {
        if startNanoseconds == nil { startNanoseconds = sound.captureNanoseconds }
        if sound.captureNanoseconds != time(ofSample: samples.count) { isBroken = true }
        samples += UnsafeBufferPointer(
            start: sound.planes[0].assumingMemoryBound(to: Float.self), count: sound.frameCount)
    }

    /// Sample k lies at the start plus k ÷ rate, to the nearest nanosecond.
    func time(ofSample number: Int) -> Int64 {
        (startNanoseconds ?? 0)
            + Int64((Double(number) * 1e9 / Double(Microphone.sampleRate)).rounded())
    }

    var endNanoseconds: Int64 { time(ofSample: samples.count) }

    /// The number of the sample at that time.
    func sample(atNanoseconds time: Int64) -> Int {
        Int(
            (Double(time - (startNanoseconds ?? 0)) * 1e-9 * Double(Microphone.sampleRate))
                .rounded())
    }

    /// Largest distance of sound from its capture time in a range of samples, nanoseconds.
    func worstSkew(in range: Range<Int>) -> Double {
        var worst = 0.0
        // Compares the phase of each period with that of its time.
        let length = 480
        for start in stride(from: range.lowerBound, to: range.upperBound - length, by: length) {
            var (sine, cosine) = (0.0, 0.0)
            for index in start..<start + length {
                let time = Double(time(ofSample: index) % 1_000_000_000) * 1e-9
                let phase = 2 * Double.pi * Microphone.hertz * time
                sine += Double(samples[index]) * sin(phase)
                cosine += Double(samples[index]) * cos(phase)
            }
            worst = max(worst, abs(atan2(cosine, sine)) / (2 * .pi * Microphone.hertz) * 1e9)
        }
        return worst
    }

    /// Whether all of it is silent.
    func isSilent(in range: Range<Int>) -> Bool { samples[range].allSatisfy { $0 == 0 } }
}
