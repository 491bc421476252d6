import Foundation
import Testing
import Timing

@Suite("A simulated day of a drifting clock")
struct SimulationTests {
    /// More with `TIMING_SEEDS=1000 swift test -c release`; a failure names its seed.
    static let seeds: ClosedRange<UInt64> =
        1...(ProcessInfo.processInfo.environment["TIMING_SEEDS"].flatMap(UInt64.init) ?? 2)

    /// A day with every fault that the limits allow, different for each seed.
    private func roughDay(seed: UInt64) -> SimulatedDay {
        var random = SeededGenerator(seed: seed ^ 0xC10C)
        var day = SimulatedDay(stepSeconds: 8)
        day.clock.baseOffsetNanoseconds = Int64.random(
            in: -1_000_000_000_000_000...1_000_000_000_000_000, using: &random)
        day.clock.skewPPB = (random.unit() * 2 - 1) * 500_000
        day.clock.wanderPPB = random.unit() * 8_000
        day.clock.wanderPeriodSeconds = 1_800 + random.unit() * 20_000
        day.clock.skewSteps = (1..<24).map { hour in
            (Double(hour) * 3600 + random.unit() * 2600, (random.unit() * 2 - 1) * 9_000)
        }
        day.link = .rough(
            thereNanoseconds: random.unit() * 5e6, backNanoseconds: random.unit() * 5e6)
        let first = 3600 * (1 + random.unit() * 5)
        day.outages = [first...(first + 3600), (first + 20_000)...(first + 20_600)]
        let sign: Int64 = random.unit() < 0.5 ? -1 : 1
        day.clock.jumps = [(3600 * 15, sign * 400_000_000), (3600 * 20, -sign * 90_000_000_000)]
        return day
    }

    @Test(arguments: seeds)
    func `the bound is never violated and the timeline never steps`(seed: UInt64) throws {
        let day = roughDay(seed: seed)
        let outcome = day.run(seed: seed)
        #expect(outcome.samples > 20_000)
        #expect(outcome.violations.prefix(3) == [])
        #expect(outcome.timelineViolations.prefix(3) == [])
        #expect(outcome.backwards == 0)
        #expect(outcome.fastestSlewPPB <= 500_000)
        #expect(outcome.steepestPPB <= 500_000 + ClockLimits.skewPPB)
        #expect(outcome.skewChanges == 0)
        #expect(outcome.discontinuities == 0)
        try #require(outcome.jumps.count == 2)
        for (seen, made) in zip(outcome.jumps, day.clock.jumps) {
            #expect(abs(seen - made.nanoseconds) < 20_000_000)
        }
        #expect(outcome.largestBoundNanoseconds > 100_000_000, "an outage widens the bound")
        #expect(outcome.lastBoundNanoseconds < 10_000_000, "and its end narrows it")
    }

    @Test(arguments: seeds)
    func `on a quiet link the estimate is within some microseconds`(seed: UInt64) {
        var day = SimulatedDay(hours: 3)
        day.clock.skewPPB = 312_345
        let outcome = day.run(seed: seed)
        #expect(outcome.violations.prefix(3) == [])
        #expect(outcome.error(permille: 500) < 5_000)
        #expect(outcome.error(permille: 990) < 20_000)
        #expect(outcome.lastBoundNanoseconds < 250_000)
    }

    @Test(arguments: seeds)
    func `through 0 to 20 ms of random delay the estimate stays below 500 µs`(seed: UInt64) {
        var day = SimulatedDay(link: .proxy, hours: 0.5, stepSeconds: 0.25)
        day.clock.skewPPB = -200_000
        let outcome = day.run(seed: seed)
        #expect(outcome.violations.prefix(3) == [])
        #expect(outcome.error(permille: 990) < 500_000)
    }

    @Test func `a rate step of 200 ppm by a time daemon is detected and measured again`() {
        var day = SimulatedDay(hours: 1, stepSeconds: 1)
        day.clock.skewSteps = [(1_800, 200_000)]
        let outcome = day.run(seed: 5)
        #expect(outcome.skewChanges >= 1)
        #expect(outcome.jumps == [])
        #expect(outcome.lastBoundNanoseconds < 250_000)
        #expect(outcome.error(permille: 990) < 100_000)
    }
}
