import Devices
import Media
import Testing

@Suite struct TestAudioTests {
    /// All samples of the first channel for `seconds` from `start`.
    private func samples(start: Int64, seconds: Int, rate: Int) -> [Float] {
        var sound = TestAudio(sampleRate: rate, channels: 2, startNanoseconds: start)
        var result: [Float] = []
        var left = seconds * rate
        while left > 0 {
            let part = sound.next(min(left, 1024))
            #expect(
                part.captureNanoseconds
                    == start + Int64(result.count) * 1_000_000_000 / Int64(rate))
            #expect(part.planes.count == 2)
            let plane = part.planes[0].assumingMemoryBound(to: Float.self)
            withExtendedLifetime(part.owner) {
                result += UnsafeBufferPointer(start: plane, count: part.frameCount)
            }
            left -= part.frameCount
        }
        return result
    }

    @Test(arguments: [0, 1, 123_456_789, 999_999_999, 345_678_901_234_567] as [Int64])
    func `beeps begin at whole seconds of the clock and last 20 ms`(start: Int64) {
        let rate = 48_000
        let sound = samples(start: start, seconds: 3, rate: rate)
        for (index, sample) in sound.enumerated() {
            let time = start + Int64(index) * 1_000_000_000 / Int64(rate)
            let phase = time % 1_000_000_000
            if phase >= 20_000_000 { #expect(sample == 0) }
        }
        // A quarter of a period (12 frames) into the beep is its crest: −6 dBFS.
        let beginning = sound.indices.first {
            let time = start + Int64($0) * 1_000_000_000 / Int64(rate)
            return time % 1_000_000_000 < 1_000_000_000 / Int64(rate)
        }
        let first = beginning ?? 0
        #expect(abs(sound[first]) < 0.07)
        #expect(sound[first + 3] > 0)
        #expect(abs((sound[first..<first + 960].max() ?? 0) - 0.501) < 0.003)
        #expect(abs((sound[first..<first + 960].min() ?? 0) + 0.501) < 0.003)
    }

    @Test func `a beep has twenty periods of one millisecond`() {
        let sound = samples(start: 2_000_000_000, seconds: 1, rate: 48_000)
        let rises = (1..<960).filter { sound[$0 - 1] <= 0 && sound[$0] > 0 }
        #expect(rises.count == 20)
    }
}
