import Devices
import Encoding
import Media
import Testing

@Suite struct AudioMeterTests {
    @Test func `a tone's peak and RMS levels are returned per channel, once`() throws {
        var sound = TestAudio(sampleRate: 48_000, channels: 2, startNanoseconds: 0)
        var meter = AudioMeter(channels: 2)
        func meterNext() {
            let run = sound.next(960)
            withExtendedLifetime(run.owner) {
                meter.add(
                    run.planes.map {
                        UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Float.self)
                    }, frames: run.frameCount)
            }
        }
        // The beep lasts 960 frames, and silence as long.
        for _ in 0..<2 { meterNext() }
        let taken = meter.take()
        let levels = try #require(taken)
        #expect(levels.count == 2)
        for level in levels {
            #expect(abs(AudioLevel.millibels(level.peak) - -600) <= 1)
            // A sine is 3.01 dB below its peak, and half of the time as much again.
            #expect(abs(AudioLevel.millibels(level.rms) - -1_202) <= 2)
        }
        let again = meter.take()
        #expect(again == nil)
        meterNext()
        let silence = meter.take()
        #expect(silence == [AudioLevel(peak: 0, rms: 0), AudioLevel(peak: 0, rms: 0)])
    }

    @Test(arguments: [(1.0, 0), (2.0, 602), (0.5, -602), (0, -12_000), (1e-9, -12_000)])
    func `amplitudes are converted to hundredths of a decibel`(_ amplitude: Double, _ level: Int) {
        #expect(AudioLevel.millibels(amplitude) == level)
    }
}
