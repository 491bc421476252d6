import Devices
import Encoding
import TestMedia
import Testing

/// A device's clock and the servo in a closed loop, with an ideal resampler whose steps are as coarse as the real
/// one's.
@Suite struct AudioSkewTests {
    /// The loop, from the driver's readings to each frame's output time.
    private struct Loop {
        var card: SimulatedAudioCard
        var clock = AudioClock(sampleRate: 48_000)
        var servo = AudioServo()
        /// Output time of the next period's first frame; nil before the first.
        var outNanoseconds: Double?
        var worstSkew = 0.0
        var largestStep = 0.0
        var hasGoneBack = false
        private var stretch = 0.0

        init(_ card: SimulatedAudioCard) { self.card = card }

        /// One period of 20 ms.
        mutating func step() -> AudioClock.Event {
            let period = card.capture(960)
            let event = clock.observe(
                AudioReading(frames: period.readingFrames, nanoseconds: period.readingNanoseconds))
            guard clock.isSettled else { return event }
            let due = Double(clock.nanoseconds(ofFrame: period.firstFrame))
            let out = outNanoseconds ?? due
            let isFirst = outNanoseconds == nil
            let next = servo.stretch(
                measuredPPB: clock.stretchPPB, lagNanoseconds: due - out, seconds: 0.02)
            if !isFirst { largestStep = max(largestStep, abs(next - stretch)) }
            stretch = next
            worstSkew = max(worstSkew, abs(out - period.trueNanoseconds))
            // libswresample turns in steps of about a millionth.
            let turned = (next / 1_000).rounded() * 1_000
            let end = out + 20_000_000 * (1 + turned * 1e-9)
            hasGoneBack = hasGoneBack || end <= out
            outNanoseconds = end
            return event
        }

        /// Loses frames that the driver counts; silence replaces them, and the following sound is placed by the clock.
        /// - Returns: the gap's length less the lost duration, nanoseconds.
        mutating func overrun(frames: Int64) -> Double {
            let first = card.capturedFrames
            let length = Double(frames) * card.nanosecondsPerFrame
            card.lose(frames)
            let start = clock.nanoseconds(ofFrame: first)
            let end = clock.nanoseconds(ofFrame: first + frames)
            hasGoneBack = hasGoneBack || Double(end) <= outNanoseconds ?? 0
            // To the nearest frame.
            outNanoseconds = (Double(end) * 48e-6).rounded() / 48e-6
            return Double(end - start) - length
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `sound stays with the picture for a day, overruns or not`(_ seed: UInt64) {
        var loop = Loop(SimulatedAudioCard(seed: seed))
        for second in 0..<24 * 3600 {
            for _ in 0..<50 {
                if case .shifted = loop.step() { Issue.record("a shift, seed \(seed)") }
            }
            // Now and then, seconds are lost.
            if second % 3_607 == 3_606 {
                let lost = Int64(loop.card.unit() * 144_000) + 1
                let error = loop.overrun(frames: lost)
                #expect(error.magnitude < 1e9 / 48_000, "\(error) ns, seed \(seed)")
            }
        }
        #expect(loop.worstSkew <= 250_000, "\(loop.worstSkew) ns, seed \(seed)")
        #expect(!loop.hasGoneBack)
    }

    @Test(arguments: [-1000.0, -500, 0, 500, 1000], [11, 12, 13] as [UInt64])
    func `audio is within a millisecond from its start at any device skew`(
        _ skew: Double, _ seed: UInt64
    ) {
        var card = SimulatedAudioCard(seed: seed)
        card.skewPPM = skew
        var loop = Loop(card)
        for _ in 0..<600 * 50 { _ = loop.step() }
        #expect(loop.worstSkew <= 1_000_000, "\(loop.worstSkew) ns, seed \(seed)")
        #expect(!loop.hasGoneBack)
        // Pitch glides: by less than a cent in a second.
        #expect(loop.largestStep <= 0.02 * AudioServo.largestGlidePPBPerSecond + 1)
    }

    @Test func `the servo's correction is limited and changes gradually`() {
        var servo = AudioServo()
        #expect(servo.stretch(measuredPPB: 300_000, lagNanoseconds: 0, seconds: 0.02) == 300_000)
        var last = 300_000.0
        for _ in 0..<500 {
            let next = servo.stretch(measuredPPB: 300_000, lagNanoseconds: 1e9, seconds: 0.02)
            #expect(next - last <= 10_001 && next <= 800_000)
            last = next
        }
        #expect(last == 800_000)
    }
}
