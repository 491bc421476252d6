import Testing
import Timing

/// The difference of two collectors' clocks, from exchanges in one direction or both.
@Suite struct ClockDifferenceTests {
    static let seeds = SimulationTests.seeds

    /// Exchanges of two clocks over some minutes. The simulated clock is the first one; its offset is second − first.
    private struct Exchanges {
        var clock = SimulatedClock()
        var forth: [ClockExchange] = []
        var back: [ClockExchange] = []

        /// - Parameter link: delays to and from the other, different in each direction.
        init(seed: UInt64, seconds: Double = 600, link: SimulatedLink) {
            var random = SeededGenerator(seed: seed)
            // Minutes apart, and as far from each other in rate as the two crystals of the requirements.
            clock.baseOffsetNanoseconds = Int64.random(
                in: -1_800_000_000_000...1_800_000_000_000, using: &random)
            clock.skewPPB = (random.unit() * 2 - 1) * 400_000
            clock.wanderPPB = random.unit() * 5_000
            clock.wanderPeriodSeconds = 1_800 + random.unit() * 20_000
            var time = 1.0
            while time < seconds {
                let (there, back) = link.delays(&random)
                forth.append(
                    clock.exchange(
                        at: Int64(time * 1e9), thereNanoseconds: there, backNanoseconds: back))
                let (toFirst, toSecond) = link.delays(&random)
                self.back.append(
                    asked(at: Int64((time + 0.4) * 1e9), there: toFirst, back: toSecond))
                time += time < 60 ? 1 : 8
            }
        }

        /// The second clock asks, when the first one shows `moment`.
        private func asked(at moment: Int64, there: Int64, back: Int64) -> ClockExchange {
            let received = moment + there
            let sent = received + 20_000
            let answered = sent + back
            return ClockExchange(
                t1Nanoseconds: moment + clock.offset(at: moment), t2Nanoseconds: received,
                t3Nanoseconds: sent, t4Nanoseconds: answered + clock.offset(at: answered))
        }

        /// Moments at which the true difference is outside of the bound, and the bounds.
        func check(_ difference: inout ClockDifference) -> (faults: [String], bounds: [Int64]) {
            var faults: [String] = []
            var bounds: [Int64] = []
            for moment in stride(from: Int64(0), to: 620_000_000_000, by: 1_370_000_000) {
                let found = difference.estimate(at: moment)
                let error = (found.offsetNanoseconds - clock.offset(at: moment)).magnitude
                if error > found.boundNanoseconds.magnitude {
                    faults.append("\(moment): \(error) > \(found.boundNanoseconds)")
                }
                bounds.append(found.boundNanoseconds)
            }
            return (faults, bounds)
        }
    }

    @Test(arguments: seeds)
    func `the true difference is within the bound at any delay`(seed: UInt64) throws {
        for link in [
            SimulatedLink.quiet, .proxy, .rough(thereNanoseconds: 6e6, backNanoseconds: 1e6),
        ] {
            let exchanges = Exchanges(seed: seed, link: link)
            var forth = try #require(ClockDifference(forth: exchanges.forth, back: []))
            var back = try #require(ClockDifference(forth: [], back: exchanges.back))
            var both = try #require(
                ClockDifference(forth: exchanges.forth, back: exchanges.back))
            let (one, other) = (exchanges.check(&forth), exchanges.check(&back))
            let together = exchanges.check(&both)
            #expect(one.faults.prefix(3) == [])
            #expect(other.faults.prefix(3) == [])
            #expect(together.faults.prefix(3) == [])
            // Both directions are never worse than the better one.
            for (sum, parts) in zip(together.bounds, zip(one.bounds, other.bounds)) {
                #expect(sum <= min(parts.0, parts.1) + 2)
            }
        }
    }

    @Test(arguments: seeds)
    func `on a quiet link, two collectors are within a fifth of a millisecond`(seed: UInt64) throws
    {
        let exchanges = Exchanges(seed: seed, link: .quiet)
        var both = try #require(ClockDifference(forth: exchanges.forth, back: exchanges.back))
        for moment in stride(from: Int64(2_000_000_000), to: 590_000_000_000, by: 3_100_000_000) {
            #expect(both.estimate(at: moment).boundNanoseconds < 170_000)
        }
    }

    @Test(arguments: seeds)
    func `between two moments the difference is within the bounds and the slack`(seed: UInt64)
        throws
    {
        let exchanges = Exchanges(seed: seed, link: .quiet)
        var both = try #require(ClockDifference(forth: exchanges.forth, back: exchanges.back))
        let spacing: Int64 = 10_000_000_000
        let slack = ClockDifference.interpolationSlack(over: spacing)
        #expect(slack < 60_000)
        for start in stride(from: Int64(0), to: 590_000_000_000, by: Int(spacing)) {
            let (one, other) = (both.estimate(at: start), both.estimate(at: start + spacing))
            let bound = max(one.boundNanoseconds, other.boundNanoseconds) + slack
            let tenth = (other.offsetNanoseconds - one.offsetNanoseconds) / 10
            for part in 0..<Int64(10) {
                let truth = exchanges.clock.offset(at: start + spacing / 10 * part)
                let error = one.offsetNanoseconds + tenth * part - truth
                // Tenths are rounded.
                #expect(error.magnitude <= bound.magnitude + 10)
            }
        }
    }

    @Test func `there is no difference without an exchange`() {
        #expect(ClockDifference(forth: [], back: []) == nil)
    }

    @Test func `an extreme time has a large bound and does not trap`() throws {
        let exchanges = Exchanges(seed: 2, seconds: 5, link: .quiet)
        var both = try #require(ClockDifference(forth: exchanges.forth, back: exchanges.back))
        for moment in [Int64.min, .min / 2, .max / 2, .max] {
            #expect(both.estimate(at: moment).boundNanoseconds > 1_000_000_000)
        }
    }

    @Test func `contradictory exchanges give a bound that covers both`() throws {
        let one = Exchanges(seed: 1, link: .quiet)
        var other = one
        other.back = other.back.map { exchange in
            var wrong = exchange
            wrong.t1Nanoseconds += 5_000_000_000
            wrong.t4Nanoseconds += 5_000_000_000
            return wrong
        }
        var both = try #require(ClockDifference(forth: one.forth, back: other.back))
        #expect(both.estimate(at: 300_000_000_000).boundNanoseconds >= 5_000_000_000)
    }
}
