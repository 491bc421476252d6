import Encoding
import Glibc
import Media
import Testing

/// The effect of resampling, with an exactly known clock.
@Suite struct AudioLockTests {
    private static let start: Int64 = 1_000_000_000_000

    /// A tone of 1 kHz, captured by a device whose frames are longer than nominal.
    private func tone(_ index: Int, rate: Int, stretchPPB: Double) -> RawAudio {
        let frames = rate / 50
        let period = 1 / Double(rate) * (1 + stretchPPB * 1e-9)
        let memory = Samples(
            (0..<frames).map {
                Float(0.5 * sin(2 * .pi * 1000 * Double(index * frames + $0) * period))
            })
        return RawAudio(
            layout: AudioLayout(
                sampleType: .float, isPlanar: true, sampleRate: rate, channels: 1),
            planes: [UnsafeRawPointer(memory.samples)], frameCount: frames,
            captureNanoseconds: Self.start
                + Int64((Double(index * frames) * period * 1e9).rounded()), owner: memory)
    }

    private final class Samples: @unchecked Sendable {
        let samples: UnsafeMutablePointer<Float>

        init(_ values: [Float]) {
            samples = .allocate(capacity: values.count)
            samples.initialize(from: values, count: values.count)
        }

        deinit { samples.deallocate() }
    }

    @Test(arguments: [48_000, 44_100, 16_000], [-1_000_000.0, 0, 312_345, 1_000_000])
    func `resampling keeps a tone's phase and adds no noise`(
        _ rate: Int, _ stretch: Double
    ) throws {
        var lock = AudioLock(sampleRate: 48_000, channels: 1)
        var output: [Float] = []
        for index in 0..<500 {
            try lock.take(tone(index, rate: rate, stretchPPB: stretch), stretchPPB: stretch) {
                (sound) throws(EncodingError) in
                output += UnsafeBufferPointer(
                    start: sound.planes[0].assumingMemoryBound(to: Float.self),
                    count: sound.frameCount)
            }
        }
        // Libswresample's steps are a millionth; the remaining error is compensated and stays within a few
        // microseconds.
        #expect(lock.lagNanoseconds.magnitude < 10_000)
        for second in 1..<9 {
            var (sine, cosine) = (0.0, 0.0)
            let range = second * 48_000..<(second + 1) * 48_000
            for index in range {
                let phase = 2 * Double.pi * Double(index % 48) / 48
                sine += Double(output[index]) * sin(phase) / 24_000
                cosine += Double(output[index]) * cos(phase) / 24_000
            }
            let place = atan2(cosine, sine) / (2 * .pi * 1000) * 1e9
            #expect(abs(place) < 10_000, "\(place) ns")
            var noise = 0.0
            for index in range {
                let phase = 2 * Double.pi * Double(index % 48) / 48
                let rest = Double(output[index]) - sine * sin(phase) - cosine * cos(phase)
                noise += rest * rest / 48_000
            }
            // 60 dB below the tone, and most of that is the slow walk of its phase by a microsecond.
            #expect(noise.squareRoot() < 0.5e-3, "\(noise.squareRoot())")
        }
    }

    @Test func `silence fills to the frame that is nearest`() throws {
        var lock = AudioLock(sampleRate: 48_000, channels: 2)
        var frames = 0
        lock.begin(atNanoseconds: Self.start)
        try lock.fill(untilNanoseconds: Self.start + 1_000_000_000 + 10_000) {
            (sound) throws(EncodingError) in frames += sound.frameCount
        }
        #expect(frames == 48_000)
        #expect(lock.endNanoseconds == Self.start + 1_000_000_000)
        try lock.fill(untilNanoseconds: Self.start + 1_000_000_000 + 11_000) {
            (sound) throws(EncodingError) in frames += sound.frameCount
        }
        #expect(frames == 48_001)
    }
}
