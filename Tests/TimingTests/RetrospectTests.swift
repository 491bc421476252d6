import Foundation
import Testing
import Timing

@Suite("A timeline computed again")
struct RetrospectTests {
    typealias Outcome = SimulatedRetrospect.Outcome

    /// More with `TIMING_SEEDS=1000 swift test -c release`; a failure names its seed.
    static let seeds = SimulationTests.seeds

    private func clock(seed: UInt64) -> SimulatedClock {
        var random = SeededGenerator(seed: seed ^ 0xBEEF)
        var clock = SimulatedClock()
        clock.baseOffsetNanoseconds = Int64.random(
            in: -1_000_000_000_000_000...1_000_000_000_000_000, using: &random)
        clock.skewPPB = (random.unit() * 2 - 1) * 500_000
        clock.wanderPPB = random.unit() * 8_000
        clock.wanderPeriodSeconds = 1_800 + random.unit() * 20_000
        return clock
    }

    @Test(arguments: seeds)
    func `through random delay no bound is violated, and bounds are better than they were live`(
        seed: UInt64
    ) {
        let run = SimulatedRetrospect(clock: clock(seed: seed), link: .proxy, seconds: 120)
        let outcome = run.run(seed: seed)
        #expect(outcome.violations.prefix(3) == [])
        #expect(
            Outcome.rank(outcome.boundsNanoseconds, permille: 500)
                <= Outcome.rank(outcome.liveBoundsNanoseconds, permille: 500))
    }

    /// Over all seeds together, since the fastest exchange of a minute varies.
    @Test func `through random delay the first minute becomes much better than it was live`() {
        var errors: [Int64] = []
        var live: [Int64] = []
        for seed in UInt64(1)...8 {
            let run = SimulatedRetrospect(clock: clock(seed: seed), link: .proxy, seconds: 120)
            let outcome = run.run(seed: seed)
            errors += outcome.errorsNanoseconds
            live += outcome.liveErrorsNanoseconds
        }
        #expect(Outcome.rank(errors, permille: 990) < Outcome.rank(live, permille: 990) / 2)
        #expect(Outcome.rank(errors, permille: 990) < 500_000)
    }

    @Test(arguments: seeds)
    func `on a quiet link it stays within microseconds`(seed: UInt64) {
        let outcome = SimulatedRetrospect(clock: clock(seed: seed), seconds: 200).run(seed: seed)
        #expect(outcome.violations.prefix(3) == [])
        #expect(Outcome.rank(outcome.errorsNanoseconds, permille: 990) < 10_000)
    }

    @Test(arguments: seeds)
    func `an outage, a daemon's step and a jump do not break the bound`(seed: UInt64) {
        var run = SimulatedRetrospect(clock: clock(seed: seed), seconds: 3_000)
        run.link = .rough(thereNanoseconds: 2e6, backNanoseconds: 1e6)
        run.lookSeconds = 2
        run.outages = [600...1_800]
        run.clock.skewSteps = [(1_000, 9_000), (2_000, -9_000)]
        run.clock.jumps = [(2_400, 3_000_000_000)]
        let outcome = run.run(seed: seed)
        #expect(outcome.violations.prefix(3) == [])
        // In the middle of the outage both ends constrain the clock, much better than one.
        let greatest = Outcome.rank(
            outcome.boundsNanoseconds.filter { $0 < 1_000_000_000 }, permille: 1_000)
        #expect(greatest < 60_000_000, "\(greatest)")
        #expect(outcome.boundsNanoseconds.contains { $0 > 2_000_000_000 }, "around the jump")
    }

    @Test func `there is no history without a valid exchange`() {
        #expect(ClockHistory([]) == nil)
        let lie = ClockExchange(
            t1Nanoseconds: 10, t2Nanoseconds: 5, t3Nanoseconds: 4, t4Nanoseconds: 12)
        #expect(ClockHistory([lie]) == nil)
    }

    @Test func `one exchange gives its offset and a bound that grows both ways`() throws {
        let exchange = ClockExchange(
            t1Nanoseconds: 1_000_000_000, t2Nanoseconds: 7_000_100_000,
            t3Nanoseconds: 7_000_110_000, t4Nanoseconds: 1_000_210_000)
        let history = try #require(ClockHistory([exchange]))
        var retro = RetroTimeline(sessionZeroNanoseconds: 0, history: history)
        let here = retro.estimate(at: 1_000_100_000)
        #expect(abs(here.offsetNanoseconds - 6_000_000_000) <= 1)
        #expect(here.boundNanoseconds >= 100_000 && here.boundNanoseconds < 110_000)
        let later = retro.estimate(at: 11_000_000_000)
        #expect(later.boundNanoseconds > 5_000_000, "550 ppm for ten seconds")
        #expect(retro.estimate(at: .max / 2).boundNanoseconds > 1_000_000_000)
        #expect(retro.estimate(at: .min / 2).boundNanoseconds > 1_000_000_000)
    }

    @Test func `the order of exchanges that repeat does not matter`() throws {
        let truth = clock(seed: 9)
        let exchanges = (1...40).map {
            truth.exchange(
                at: Int64($0) * 1_000_000_000, thereNanoseconds: 40_000, backNanoseconds: 60_000)
        }
        let once = try #require(ClockHistory(exchanges))
        let twice = try #require(ClockHistory(exchanges + exchanges.suffix(20)))
        var (one, two) = (
            RetroTimeline(sessionZeroNanoseconds: 0, history: once),
            RetroTimeline(sessionZeroNanoseconds: 0, history: twice)
        )
        for moment in stride(from: Int64(0), to: 60_000_000_000, by: 777_777_777) {
            #expect(one.estimate(at: moment) == two.estimate(at: moment))
        }
    }
}
