import Testing
import Timing

@Suite("The clock estimator")
struct ClockEstimatorTests {
    private static let second: Int64 = 1_000_000_000

    /// A clock 5 s behind the collector's with a constant rate.
    private func steadyClock(skewPPB: Double = 0) -> SimulatedClock {
        SimulatedClock(baseOffsetNanoseconds: 5 * Self.second, skewPPB: skewPPB, wanderPPB: 0)
    }

    /// Feeds an exchange a second, 50 µs each way.
    private func feed(
        _ estimator: inout ClockEstimator, _ clock: SimulatedClock, seconds: Range<Int64>
    ) -> [ClockEstimator.Verdict] {
        seconds.map {
            estimator.add(
                clock.exchange(
                    at: $0 * Self.second, thereNanoseconds: 50_000, backNanoseconds: 50_000))
        }
    }

    @Test func `there is no model before the first exchange`() {
        #expect(ClockEstimator().model(at: 0) == nil)
    }

    @Test func `one exchange gives the offset within half its round trip`() throws {
        var estimator = ClockEstimator()
        let exchange = steadyClock().exchange(
            at: 0, thereNanoseconds: 90_000, backNanoseconds: 10_000)
        #expect(estimator.add(exchange) == .accepted)
        let model = try #require(estimator.model(at: exchange.t4Nanoseconds))
        #expect(abs(model.offsetNanoseconds - (5 * Self.second + 40_000)) <= 200)
        #expect(model.boundNanoseconds >= 50_000 - 200)
        #expect(model.boundNanoseconds <= 51_000)
    }

    @Test(arguments: [-500_000.0, -37_000, 0, 250_000, 500_000])
    func `a constant skew is measured to 1 ppm`(skewPPB: Double) throws {
        var estimator = ClockEstimator()
        let clock = steadyClock(skewPPB: skewPPB)
        let verdicts = feed(&estimator, clock, seconds: 0..<300)
        #expect(verdicts.allSatisfy { $0 == .accepted })
        let model = try #require(estimator.model(at: 300 * Self.second))
        #expect(abs(Double(model.skewPPB) - skewPPB) < 1_000)
        #expect(abs(model.offsetNanoseconds - clock.offset(at: 300 * Self.second)) < 2_000)
        #expect(model.validFromAgentNanoseconds < 10 * Self.second)
    }

    @Test func `an outlier is counted and changes nothing`() {
        var estimator = ClockEstimator()
        let clock = steadyClock()
        _ = feed(&estimator, clock, seconds: 0..<20)
        let before = estimator.model(at: 30 * Self.second)
        var lie = clock.exchange(
            at: 20 * Self.second, thereNanoseconds: 50_000, backNanoseconds: 50_000)
        lie.t2Nanoseconds += 3_600 * Self.second
        lie.t3Nanoseconds += 3_600 * Self.second
        guard case .outlier(let nanoseconds) = estimator.add(lie) else {
            Issue.record("a lie was taken")
            return
        }
        #expect(abs(nanoseconds - 3_600 * Self.second) < 1_000_000)
        lie.t3Nanoseconds = lie.t2Nanoseconds - 1
        #expect(estimator.add(lie) == .rejected(.collectorClockBackwards))
        #expect(estimator.model(at: 30 * Self.second) == before)
        #expect(estimator.counts.outliers == 1)
        #expect(estimator.counts.rejected == [.collectorClockBackwards: 1])
    }

    @Test func `outliers that contradict each other are not taken for a jump`() {
        var estimator = ClockEstimator()
        let clock = steadyClock()
        _ = feed(&estimator, clock, seconds: 0..<5)
        for second in 5..<50 as Range<Int64> {
            var lie = clock.exchange(
                at: second * Self.second, thereNanoseconds: 50_000, backNanoseconds: 50_000)
            lie.t2Nanoseconds += second * second * Self.second
            lie.t3Nanoseconds += second * second * Self.second
            guard case .outlier = estimator.add(lie) else {
                Issue.record("the lie of second \(second) was taken")
                return
            }
        }
        #expect(feed(&estimator, clock, seconds: 50..<51) == [.accepted])
    }

    @Test(arguments: [-600, -1, 1, 600] as [Int64])
    func `a clock jump is accepted at the fourth exchange`(seconds: Int64) throws {
        var estimator = ClockEstimator()
        var clock = steadyClock(skewPPB: 100_000)
        clock.jumps = [(99.5, seconds * Self.second)]
        let verdicts = feed(&estimator, clock, seconds: 0..<104)
        #expect(verdicts[..<100].allSatisfy { $0 == .accepted })
        for verdict in verdicts[100..<103] {
            guard case .outlier = verdict else {
                Issue.record("\(verdict) is no outlier")
                return
            }
        }
        guard case .jump(let nanoseconds) = verdicts[103] else {
            Issue.record("\(verdicts[103]) is no jump")
            return
        }
        #expect(abs(nanoseconds - seconds * Self.second) < 1_000_000)
        let model = try #require(estimator.model(at: 104 * Self.second))
        #expect(
            abs(model.offsetNanoseconds - clock.offset(at: 104 * Self.second))
                <= model.boundNanoseconds)
        #expect(model.validFromAgentNanoseconds >= 100 * Self.second)
    }

    @Test func `an agent's clock that went back is a jump, too`() {
        var estimator = ClockEstimator()
        _ = feed(&estimator, steadyClock(), seconds: 1_000..<1_010)
        var restored = steadyClock()
        restored.baseOffsetNanoseconds += 1_000 * Self.second
        let verdicts = feed(&estimator, restored, seconds: 10..<14)
        guard case .jump(let nanoseconds) = verdicts[3] else {
            Issue.record("\(verdicts[3]) is no jump")
            return
        }
        #expect(abs(nanoseconds - 1_000 * Self.second) < 2_000_000)
    }

    @Test func `exchanges that are sent again after a reconnect are left out`() {
        var estimator = ClockEstimator()
        _ = feed(&estimator, steadyClock(), seconds: 0..<10)
        let before = estimator.model(at: 0)
        let verdicts = feed(&estimator, steadyClock(), seconds: 5..<10)
        #expect(verdicts.allSatisfy { $0 == .repeated })
        #expect(estimator.counts.repeated == 5)
        #expect(estimator.model(at: 0) == before)
    }

    @Test func `a bound grows through an outage and shrinks after it`() throws {
        var estimator = ClockEstimator()
        let clock = steadyClock(skewPPB: 40_000)
        _ = feed(&estimator, clock, seconds: 0..<600)
        let before = try #require(estimator.model(at: 600 * Self.second))
        let during = try #require(estimator.model(at: 4_200 * Self.second))
        #expect(before.boundNanoseconds < 150_000)
        #expect(during.boundNanoseconds > 70_000_000)
        #expect(during.boundNanoseconds < 1_000_000_000)
        _ = feed(&estimator, clock, seconds: 4_200..<4_260)
        let after = try #require(estimator.model(at: 4_260 * Self.second))
        #expect(after.boundNanoseconds < 150_000)
    }

    @Test func `a model's bound at any anchor is at least the estimator's`() throws {
        var estimator = ClockEstimator()
        _ = feed(&estimator, steadyClock(skewPPB: 40_000), seconds: 0..<100)
        for anchor in [0, 50, 100, 3_600] as [Int64] {
            let anchored = try #require(estimator.model(at: anchor * Self.second))
            for moment in [-900, 0, 99, 101, 500, 2_000] as [Int64] {
                let exact = try #require(estimator.model(at: moment * Self.second))
                let gap = abs(
                    anchored.offset(at: moment * Self.second) - exact.offsetNanoseconds)
                #expect(gap <= 2)
                #expect(anchored.bound(at: moment * Self.second) >= exact.boundNanoseconds - 2)
            }
        }
    }

    @Test(arguments: [Int64.min, .max])
    func `a model at an extreme time does not trap`(moment: Int64) throws {
        var estimator = ClockEstimator()
        _ = feed(&estimator, steadyClock(skewPPB: 500_000), seconds: 0..<5)
        let near = try #require(estimator.model(at: 0))
        #expect(near.bound(at: moment) > Self.second)
        #expect(near.offset(at: moment) != 0)
        let far = try #require(estimator.model(at: moment))
        #expect(far.bound(at: 0) > Self.second)
    }

    @Test(arguments: [-500_000.0, 500_000])
    func `slow replies do not widen the bound`(
        skewPPB: Double
    ) throws {
        var estimator = ClockEstimator()
        let clock = steadyClock(skewPPB: skewPPB)
        for second in 0..<60 as Range<Int64> {
            let exchange = clock.exchange(
                at: second * 3 * Self.second, thereNanoseconds: 1_100_000, backNanoseconds: 20_000,
                processingNanoseconds: 2 * Self.second)
            #expect(estimator.add(exchange) == .accepted)
            let model = try #require(estimator.model(at: exchange.t4Nanoseconds))
            let error = model.offsetNanoseconds - clock.offset(at: exchange.t4Nanoseconds)
            #expect(abs(error) <= model.boundNanoseconds)
        }
    }

    @Test func `exchanges at the ends of the range do not trap`() {
        var estimator = ClockEstimator()
        let far = ClockLimits.timestampNanoseconds - 1
        for t1 in [-far, 0, far - 10] {
            for t2 in [-far, 0, far - 10] {
                for step in [0, 10] as [Int64] {
                    _ = estimator.add(
                        ClockExchange(
                            t1Nanoseconds: t1, t2Nanoseconds: t2, t3Nanoseconds: t2,
                            t4Nanoseconds: t1 + step))
                    _ = estimator.add(
                        ClockExchange(
                            t1Nanoseconds: t1, t2Nanoseconds: t2, t3Nanoseconds: t2,
                            t4Nanoseconds: far))
                }
            }
        }
        #expect(estimator.model(at: 0) != nil)
    }
}
