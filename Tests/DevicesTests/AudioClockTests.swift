import Devices
import Foundation
import TestMedia
import Testing

@Suite struct AudioClockTests {
    private static let period: Int64 = 960

    /// Runs a card and its clock for a while; `check` gets every period once the clock is settled.
    private func run(
        _ card: inout SimulatedAudioCard, _ clock: inout AudioClock, seconds: Int,
        check: (SimulatedAudioCard.Period, AudioClock, AudioClock.Event) -> Void
    ) {
        for _ in 0..<seconds * 50 {
            let period = card.capture(Self.period)
            let event = clock.observe(period.reading)
            if clock.isSettled { check(period, clock, event) }
        }
    }

    @Test(arguments: [-1000.0, -300, 0, 300, 1000])
    func `a card's rate is measured to 5 ppm within half a minute`(_ skew: Double) {
        var card = SimulatedAudioCard(seed: 1)
        card.skewPPM = skew
        card.wanderPPM = 0
        var clock = AudioClock(sampleRate: 48_000)
        run(&card, &clock, seconds: 30) { _, _, _ in }
        #expect(abs(clock.skewPPM - skew) < 5)
    }

    @Test(arguments: [1, 2, 3, 4, 5])
    func `late readings and coarse counts do not move the sound`(_ seed: UInt64) {
        var card = SimulatedAudioCard(startNanoseconds: 1_000_000_000_000, seed: seed)
        card.jitterNanoseconds = 500_000
        card.lateOneIn = 10
        card.countedFrames = 48
        card.skewPPM = 1000
        var clock = AudioClock(sampleRate: 48_000)
        var worst = 0.0
        run(&card, &clock, seconds: 600) { period, clock, event in
            #expect(event == .none || event == .settled)
            let time = Double(clock.nanoseconds(ofFrame: period.firstFrame))
            worst = max(worst, abs(time - period.trueNanoseconds))
        }
        #expect(worst < 1_000_000, "\(worst) ns, seed \(seed)")
    }

    @Test func `a wandering crystal is followed`() {
        var card = SimulatedAudioCard(seed: 7)
        card.wanderPPM = 20
        card.wanderPeriodSeconds = 600
        var clock = AudioClock(sampleRate: 48_000)
        var worst = 0.0
        run(&card, &clock, seconds: 1800) { period, clock, _ in
            let time = Double(clock.nanoseconds(ofFrame: period.firstFrame))
            worst = max(worst, abs(time - period.trueNanoseconds))
        }
        #expect(worst < 500_000, "\(worst) ns")
    }

    @Test func `counted losses do not disturb the clock`() {
        var card = SimulatedAudioCard(seed: 3)
        var clock = AudioClock(sampleRate: 48_000)
        run(&card, &clock, seconds: 20) { _, _, _ in }
        card.lose(3 * 48_000 + 17)
        run(&card, &clock, seconds: 20) { period, clock, event in
            #expect(event == .none)
            let time = Double(clock.nanoseconds(ofFrame: period.firstFrame))
            #expect(abs(time - period.trueNanoseconds) < 500_000)
        }
    }

    @Test(arguments: [Int64(480), 2_400, 48_000])
    func `frames that were lost without a count are found`(_ lost: Int64) throws {
        var card = SimulatedAudioCard(seed: 4)
        var clock = AudioClock(sampleRate: 48_000)
        run(&card, &clock, seconds: 20) { _, _, _ in }
        card.lose(lost)
        var events: [AudioClock.Event] = []
        for _ in 0..<500 {
            // The driver's position does not include the lost frames.
            var period = card.capture(Self.period)
            period.readingFrames -= lost
            let event = clock.observe(period.reading)
            if event != .none { events.append(event) }
        }
        guard case .shifted(let frames, let place)? = events.first else {
            Issue.record("nothing was found")
            return
        }
        #expect(events.count == 1)
        #expect(abs(frames - lost) <= 10, "\(frames) frames instead of \(lost)")
        #expect((1_000 * 960...1_020 * 960).contains(place))
    }

    @Test func `surplus frames are detected`() {
        var card = SimulatedAudioCard(seed: 5)
        var clock = AudioClock(sampleRate: 48_000)
        run(&card, &clock, seconds: 20) { _, _, _ in }
        var frames: [Int64] = []
        for _ in 0..<500 {
            var period = card.capture(Self.period)
            period.readingFrames += 960
            if case .shifted(let count, _) = clock.observe(period.reading) { frames.append(count) }
        }
        #expect(frames.count == 1)
        #expect(frames.allSatisfy { (-970 ... -950).contains($0) })
    }

    @Test func `a new clock starts with the earlier one's rate`() {
        var card = SimulatedAudioCard(seed: 6)
        card.skewPPM = 800
        var clock = AudioClock(sampleRate: 48_000)
        run(&card, &clock, seconds: 60) { _, _, _ in }
        let next = AudioClock(sampleRate: 48_000, measuredBefore: clock)
        #expect(abs(next.skewPPM - 800) < 10)
        #expect(AudioClock(sampleRate: 44_100, measuredBefore: clock).skewPPM == 0)
    }
}

extension SimulatedAudioCard.Period {
    var reading: AudioReading {
        AudioReading(frames: readingFrames, nanoseconds: readingNanoseconds)
    }
}
