import Devices
import Media
import TestMedia
import Testing

@testable import AgentCore

/// Real resampling of a simulated card: the output time of captured sound.
@Suite struct DeviceAudioTests {
    private static let start: Int64 = 70_000_000_000_007

    /// A microphone, the processing of its sound, and the output.
    private struct Rig: ~Copyable {
        var microphone: Microphone
        var sound: DeviceAudio
        let record = AudioRecord()

        init(skewPPM: Double = 300, seed: UInt64 = 1, delayNanoseconds: Int64 = 5_000_000) {
            var card = SimulatedAudioCard(
                startNanoseconds: DeviceAudioTests.start + delayNanoseconds, seed: seed)
            card.skewPPM = skewPPM
            microphone = Microphone(card)
            sound = DeviceAudio(
                sampleRate: 48_000, channels: 1, deviceRate: 48_000,
                startNanoseconds: DeviceAudioTests.start)
        }

        mutating func run(seconds: Double) throws {
            for _ in 0..<Int(seconds * 50) { try sound.take(microphone.chunk(), record.outlet) }
        }

        mutating func finish(at now: Int64 = .max / 2) throws {
            try sound.finish(nowNanoseconds: now, record.outlet)
        }
    }

    /// Samples that a break's edges do not reach.
    private static let margin = 600

    @Test(arguments: [-1000.0, -300, 0, 300, 1000])
    func `every sample is within a millisecond of its capture time`(
        _ skew: Double
    ) throws {
        var rig = Rig(skewPPM: skew)
        try rig.run(seconds: 60)
        try rig.finish()
        let record = rig.record
        #expect(!record.isBroken)
        #expect(record.losses.isEmpty)
        #expect(record.worstSkew(in: 0..<record.samples.count - Self.margin) < 1_000_000)
        #expect(record.worstSkew(in: 30 * 48_000..<59 * 48_000) < 100_000)
        // 60 nominal seconds of a device that is fast are less by the clock.
        let length = Double(record.endNanoseconds - (record.startNanoseconds ?? 0)) * 1e-9
        #expect(abs(length - 60 / (1 + skew * 1e-6)) < 0.001)
    }

    @Test func `lost frames are replaced by silence of the same length, and reported`() throws {
        var rig = Rig()
        try rig.run(seconds: 20)
        let lost: Int64 = 3 * 48_000 + 17
        let trueLength = Double(lost) * rig.microphone.card.nanosecondsPerFrame
        rig.microphone.card.lose(lost)
        try rig.run(seconds: 20)
        try rig.finish()
        let record = rig.record
        let loss = try #require(record.losses.first)
        #expect(record.losses.count == 1 && loss.cause == .overrun && loss.track == .audio)
        // Exact to the sample, of which there are 48 in a millisecond.
        #expect(abs(Double(loss.durationNanoseconds) - trueLength) < 1e9 / 48_000)
        let first = record.sample(atNanoseconds: loss.startNanoseconds)
        let end = record.sample(atNanoseconds: loss.startNanoseconds + loss.durationNanoseconds)
        #expect(record.isSilent(in: first..<end))
        #expect(record.samples[first - 1] != 0 && record.samples[end] != 0)
        #expect(!record.isBroken)
        #expect(record.worstSkew(in: 10 * 48_000..<first - Self.margin) < 100_000)
        #expect(record.worstSkew(in: end + Self.margin..<end + 15 * 48_000) < 100_000)
    }

    @Test func `a device that had to be started again is measured by its times`() throws {
        var rig = Rig(skewPPM: -700)
        try rig.run(seconds: 20)
        let lost: Int64 = 12_345
        let trueLength = Double(lost) * rig.microphone.card.nanosecondsPerFrame
        rig.microphone.card.lose(lost)
        rig.microphone.restart()
        try rig.sound.interrupt(.overrun, text: "it ran over", rig.record.outlet)
        try rig.run(seconds: 20)
        try rig.finish()
        let loss = try #require(rig.record.losses.first)
        #expect(rig.record.losses.count == 1)
        #expect(abs(Double(loss.durationNanoseconds) - trueLength) < 200_000)
        let end = rig.record.sample(
            atNanoseconds: loss.startNanoseconds + loss.durationNanoseconds)
        #expect(rig.record.worstSkew(in: end + Self.margin..<end + 15 * 48_000) < 200_000)
    }

    @Test func `an absent device is recorded as silence, reported at least once a minute`() throws {
        var rig = Rig()
        try rig.run(seconds: 10)
        try rig.sound.interrupt(.deviceLost, text: "unplugged", rig.record.outlet)
        let awayFrom = rig.record.endNanoseconds
        for second in 1...150 {
            try rig.sound.wait(
                nowNanoseconds: awayFrom + Int64(second) * 1_000_000_000, rig.record.outlet)
            #expect(rig.record.endNanoseconds < awayFrom + Int64(second) * 1_000_000_000)
        }
        #expect(rig.record.losses.count == 2)
        rig.microphone.card.lose(151 * 48_000)
        rig.microphone.restart()
        rig.sound.restart(deviceRate: 48_000)
        try rig.run(seconds: 10)
        try rig.finish()
        let losses = rig.record.losses
        #expect(losses.count == 3)
        #expect(losses.first?.startNanoseconds == awayFrom)
        for (loss, next) in zip(losses, losses.dropFirst()) {
            #expect(next.startNanoseconds == loss.startNanoseconds + loss.durationNanoseconds)
        }
        let total = losses.reduce(0) { $0 + $1.durationNanoseconds }
        #expect(abs(Double(total) - 151e9 / 1.0003) < 1_000_000)
        #expect(!rig.record.isBroken)
    }

    @Test func `frames lost without a count are detected and filled`() throws {
        var rig = Rig()
        try rig.run(seconds: 20)
        rig.microphone.card.lose(2_400)
        rig.microphone.uncounted = 2_400
        try rig.run(seconds: 20)
        try rig.finish()
        let record = rig.record
        let loss = try #require(record.losses.first)
        #expect(record.losses.count == 1 && loss.cause == .driverDrop)
        #expect(abs(loss.durationNanoseconds - 50_000_000) < 300_000)
        #expect(record.worstSkew(in: 22 * 48_000..<39 * 48_000) < 500_000)
        #expect(!record.isBroken)
    }

    @Test func `a gap with two causes is reported with the counted one`() throws {
        var rig = Rig()
        try rig.run(seconds: 20)
        rig.microphone.card.lose(2_400)
        rig.microphone.uncounted = 2_400
        // The device's clock is convinced of the loss three windows later; the buffer runs over all the while.
        for _ in 0..<60 {
            rig.microphone.card.lose(48)
            try rig.sound.take(rig.microphone.chunk(), rig.record.outlet)
        }
        try rig.run(seconds: 5)
        try rig.finish()
        #expect(rig.record.losses.allSatisfy { $0.cause == .overrun })
        #expect(rig.record.losses.contains { $0.durationNanoseconds > 50_000_000 })
        #expect(!rig.record.isBroken)
    }

    @Test func `surplus frames are dropped`() throws {
        var rig = Rig()
        try rig.run(seconds: 20)
        // The driver gives one period four times.
        var chunk = rig.microphone.chunk()
        for round in 0..<4 {
            if round > 0 {
                chunk.firstFrame += 960
                chunk.reading.frames += 960
                rig.microphone.uncounted -= 960
            }
            try rig.sound.take(chunk, rig.record.outlet)
        }
        try rig.run(seconds: 20)
        try rig.finish()
        #expect(rig.record.losses.map(\.cause) == [.driverDrop])
        #expect(!rig.record.isBroken)
        #expect(rig.record.worstSkew(in: 22 * 48_000..<39 * 48_000) < 500_000)
    }

    @Test func `a capture that ends early keeps its samples`() throws {
        var rig = Rig()
        try rig.run(seconds: 0.3)
        #expect(rig.record.samples.isEmpty)
        try rig.finish()
        #expect(abs(rig.record.samples.count - 15 * 960) < 20)
        #expect(rig.record.losses.isEmpty)
    }

    @Test func `sound from before the start is dropped`() throws {
        var rig = Rig(delayNanoseconds: -50_000_000)
        try rig.run(seconds: 2)
        try rig.finish()
        let start = try #require(rig.record.startNanoseconds)
        #expect((Self.start..<Self.start + 21_000).contains(start))
        #expect(rig.record.worstSkew(in: 0..<48_000) < 1_000_000)
    }

    @Test func `a device that never gives anything is missing from the start`() throws {
        var rig = Rig()
        try rig.sound.interrupt(.deviceLost, text: "gone", rig.record.outlet)
        try rig.finish(at: Self.start + 2_000_000_000)
        #expect(rig.record.losses.map(\.startNanoseconds) == [Self.start])
        #expect(rig.record.losses.map(\.durationNanoseconds) == [2_000_000_000])
    }
}
