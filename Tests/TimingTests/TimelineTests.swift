import Testing
import Timing

@Suite("A source's timeline")
struct TimelineTests {
    private static let second: Int64 = 1_000_000_000
    private static let zero: Int64 = 7_000 * second

    /// A model whose reference is second 100 of the agent's clock.
    private func model(offset: Int64, skewPPB: Int64 = 0) -> ClockModel {
        ClockModel(
            referenceAgentNanoseconds: 100 * Self.second, offsetNanoseconds: offset,
            skewPPB: skewPPB, boundNanoseconds: 50_000, boundGrowthPPB: 20_000,
            validFromAgentNanoseconds: 90 * Self.second)
    }

    private func timeline(skewPPB: Int64 = 0) -> Timeline {
        Timeline(
            sessionZeroNanoseconds: Self.zero,
            model: model(offset: 7_000 * Self.second, skewPPB: skewPPB))
    }

    @Test func `it locks to the first model at once, for earlier moments, too`() {
        var timeline = timeline(skewPPB: 100_000)
        #expect(timeline.map(100 * Self.second) == 100 * Self.second)
        #expect(timeline.map(101 * Self.second) == 101 * Self.second + 100_000)
        #expect(timeline.map(0) == -10_000_000)
        #expect(timeline.slewPPB(at: 101 * Self.second) == 0)
    }

    @Test(arguments: [100_000_000, -100_000_000] as [Int64])
    func `a correction of 100 ms takes 200 seconds`(correction: Int64) {
        var timeline = timeline()
        let start = 110 * Self.second
        let update = timeline.update(
            model(offset: 7_000 * Self.second + correction), at: start)
        #expect(update == .slewing(restNanoseconds: correction))
        let sign = correction.signum()
        #expect(timeline.sessionNanoseconds(at: start) == start)
        #expect(timeline.slewPPB(at: start) == sign * 500_000)
        #expect(
            timeline.sessionNanoseconds(at: start + 100 * Self.second)
                == start + 100 * Self.second + correction / 2)
        #expect(
            timeline.sessionNanoseconds(at: start + 300 * Self.second)
                == start + 300 * Self.second + correction)
        #expect(timeline.slewPPB(at: start + 201 * Self.second) == 0)
    }

    @Test func `a correction of some microseconds is spread over one second`() {
        var timeline = timeline()
        let start = 110 * Self.second
        _ = timeline.update(model(offset: 7_000 * Self.second + 40_000), at: start)
        #expect(timeline.slewPPB(at: start) == 40_000)
        #expect(
            timeline.sessionNanoseconds(at: start + Self.second) == start + Self.second + 40_000)
    }

    @Test func `the bound includes the rest of a correction that is being slewed`() {
        var timeline = timeline()
        let start = 110 * Self.second
        let newer = model(offset: 7_000 * Self.second + 100_000_000)
        _ = timeline.update(newer, at: start)
        #expect(timeline.boundNanoseconds(at: start) == newer.bound(at: start) + 100_000_000)
        let later = start + 100 * Self.second
        #expect(timeline.boundNanoseconds(at: later) == newer.bound(at: later) + 50_000_000)
        #expect(timeline.appliedOffsetNanoseconds(at: later) == 7_000 * Self.second + 50_000_000)
    }

    @Test(arguments: [500_000_001, -500_000_001, .max / 4] as [Int64])
    func `a correction too large to slew is a discontinuity, earlier samples keep their times`(
        correction: Int64
    ) {
        var timeline = timeline()
        let update = timeline.update(
            model(offset: 7_000 * Self.second + correction), at: 110 * Self.second)
        #expect(update == .discontinuity(restNanoseconds: correction))
        #expect(timeline.map(500 * Self.second) == 500 * Self.second)
    }

    @Test func `an update does not move times that have been mapped`() {
        var timeline = timeline()
        let mapped = timeline.map(120 * Self.second)
        _ = timeline.update(
            model(offset: 7_000 * Self.second - 50_000_000), at: 105 * Self.second)
        #expect(timeline.map(120 * Self.second) == mapped)
        #expect(timeline.map(110 * Self.second) == 110 * Self.second)
        #expect(timeline.map(121 * Self.second) < 121 * Self.second)
    }

    @Test func `a timestamp an hour ahead does not delay corrections`() {
        var timeline = timeline()
        _ = timeline.map(3_700 * Self.second)
        _ = timeline.update(
            model(offset: 7_000 * Self.second + 1_000_000), at: 110 * Self.second)
        #expect(timeline.sessionNanoseconds(at: 120 * Self.second) == 120_001_000_000)
    }

    @Test func `a backlog keeps the line that was in force when it was captured`() {
        var timeline = timeline()
        _ = timeline.map(110 * Self.second)
        let reconnected: Int64 = 7_200
        for second in 0..<2_000 as Range<Int64> {
            let now = (reconnected + second) * Self.second
            _ = timeline.update(
                model(offset: 7_000 * Self.second + 10_000_000 + second % 7 * 1_000), at: now)
            let captured = (120 + second * 7 / 2) * Self.second
            #expect(timeline.map(captured) == captured)
        }
        let caughtUp = timeline.map(9_300 * Self.second) - 9_300 * Self.second
        #expect(abs(caughtUp - 10_000_000) <= 10_000)
    }

    @Test func `mapped times keep their order, whatever the models are`() {
        var random = SeededGenerator(seed: 21)
        var timeline = timeline(skewPPB: -400_000)
        var agent = 100 * Self.second
        var last = timeline.map(agent)
        for _ in 0..<20_000 {
            if random.unit() < 0.2 {
                _ = timeline.update(
                    model(
                        offset: 7_000 * Self.second + Int64((random.unit() - 0.5) * 4e8),
                        skewPPB: Int64((random.unit() - 0.5) * 1e6)),
                    at: agent - Int64(random.unit() * 3e9))
            }
            let step = random.unit() < 0.5 ? 2 : Int64(random.unit() * 1e8) + 2
            agent += step
            let next = timeline.map(agent)
            #expect(next > last)
            #expect(abs((next - last) - step) <= step / 900 + 3)
            last = next
        }
    }

    @Test(arguments: [Int64.min, .max])
    func `the ends of time do not trap`(moment: Int64) {
        var timeline = timeline(skewPPB: -500_000)
        _ = timeline.map(moment)
        _ = timeline.update(model(offset: 7_000 * Self.second + 5), at: 110 * Self.second)
        _ = timeline.update(model(offset: 7_000 * Self.second + 9), at: moment)
        _ = timeline.boundNanoseconds(at: moment)
        #expect(timeline.sessionNanoseconds(at: 100 * Self.second) == 100 * Self.second)
    }
}
