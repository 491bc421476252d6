import Media
import Testing
import Timing

@testable import Archive

@Suite struct MappingBuilderTests {
    /// Pictures that were recorded 0.3 ms early. The clock's exchange corrects them, but for picture 60: its recorded
    /// bound is too small for that.
    @Test func `runs beside one that keeps its recorded time move slowly`() throws {
        let exchange = ClockExchange(
            t1Nanoseconds: 2_900_000_000, t2Nanoseconds: 8_900_100_000,
            t3Nanoseconds: 8_900_100_000, t4Nanoseconds: 2_900_200_000)
        let history = try #require(ClockHistory([exchange]))
        let clock = ClockKey(epoch: EpochID(high: 1, low: 1), collectorZeroNanoseconds: 0)
        var retro = RetroTimeline(sessionZeroNanoseconds: 0, history: history)
        var timelines = [clock.epoch: SourceTimeline(retro)]
        var track = ClockEvidence.Track(timescale: .video, mediaTimeShift: 0)
        for picture in 0..<120 {
            let stamp = 1_000_000_000 + Int64(picture) * 33_333_333
            let offset = retro.estimate(at: stamp).offsetNanoseconds
            let applied = offset - 300_000
            let ticks = try rescale(stamp + applied, from: .nanoseconds, to: track.timescale)
            track.runs.append(
                RecordedRun(
                    clock: clock, firstTicks: ticks, lastTicks: ticks, stampNanoseconds: stamp,
                    appliedOffsetNanoseconds: applied, compositionOffset: 0,
                    boundNanoseconds: picture == 60 ? 50_000 : 3_000_000))
        }
        let knots = try #require(
            MappingBuilder(.video, track, originNanoseconds: 0, boundBefore: 1_000_000)
                .mapping(&timelines))
        // All but those near picture 60 are corrected.
        let shifts = knots.map(\.shiftNanoseconds)
        #expect(try abs(#require(shifts.first) - 300_000) <= 2_000)
        #expect(try abs(#require(shifts.last) - 300_000) <= 2_000)
        #expect(try abs(#require(shifts.min())) <= 2_000)
        for (one, next) in zip(knots, knots.dropFirst()) {
            let apart = try rescale(next.ticks - one.ticks, from: track.timescale, to: .nanoseconds)
            let change = abs(next.shiftNanoseconds - one.shiftNanoseconds)
            #expect(change <= apart / 1_000_000 * 250 + 2_000, "\(one) \(next)")
        }
    }
}
