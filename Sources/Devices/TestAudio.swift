import Glibc
package import Media

/// Generates the test audio of the contract: silence with a 20 ms beep (−6 dBFS, 1 kHz) that begins, at a zero
/// crossing, at every whole second of the capture clock.
///
/// Frame n was captured at start + n / rate, exactly: the beep is computed from that time, not from the frame's number.
package struct TestAudio {
    package let layout: AudioLayout
    private let startNanoseconds: Int64
    private var framesMade: Int64 = 0

    private static let beepNanoseconds: Int64 = 20_000_000
    private static let beepHertz = 1000.0
    /// −6 dBFS.
    private static let amplitude = 0.501_187_233_627_272_2

    package init(sampleRate: Int, channels: Int, startNanoseconds: Int64) {
        layout = AudioLayout(
            sampleType: .float, isPlanar: true, sampleRate: sampleRate, channels: channels)
        self.startNanoseconds = startNanoseconds
    }

    /// Capture time of frame `number`: all earlier frames are available from this time on.
    package func captureNanoseconds(ofFrame number: Int64) -> Int64 {
        startNanoseconds + Int64(Int128(number) * 1_000_000_000 / Int128(layout.sampleRate))
    }

    /// The next `count` frames.
    package mutating func next(_ count: Int) -> RawAudio {
        let memory = AudioMemory(frames: count)
        let first = framesMade
        framesMade += Int64(count)
        // Whether the beep of the last whole second before the end reaches into these frames.
        let end = captureNanoseconds(ofFrame: framesMade)
        let start = captureNanoseconds(ofFrame: first)
        if (end - 1) / 1_000_000_000 * 1_000_000_000 + Self.beepNanoseconds > start {
            for index in 0..<count {
                memory.samples[index] = Self.value(
                    atNanoseconds: captureNanoseconds(ofFrame: first + Int64(index)))
            }
        }
        return RawAudio(
            layout: layout,
            planes: Array(repeating: UnsafeRawPointer(memory.samples), count: layout.channels),
            frameCount: count, captureNanoseconds: start, owner: memory)
    }

    private static func value(atNanoseconds time: Int64) -> Float {
        let phase = time % 1_000_000_000
        guard phase < beepNanoseconds else { return 0 }
        return Float(amplitude * sin(2 * .pi * beepHertz * Double(phase) / 1_000_000_000))
    }
}

/// The samples of one channel, shared by all channels.
// @unchecked: written before it is shared, only read from then on.
private final class AudioMemory: @unchecked Sendable {
    let samples: UnsafeMutablePointer<Float>

    init(frames: Int) {
        samples = .allocate(capacity: frames)
        samples.initialize(repeating: 0, count: frames)
    }

    deinit { samples.deallocate() }
}
