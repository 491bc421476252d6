import Media
import Testing
import Timing

@testable import Archive
@testable import MP4

@Suite struct MappingBuilderTests {
    /// Pictures that were recorded 0.3 ms early. The clock's exchange corrects them, but for picture 60: its recorded
    /// bound is too small for that.
    @Test func `times beside one that stays are moved at a limited rate`() throws {
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

    /// A clock whose exchange says that all pictures were recorded too late, by this much.
    private struct LateClock {
        let key = ClockKey(epoch: EpochID(high: 1, low: 1), collectorZeroNanoseconds: 0)
        let lateNanoseconds: Int64
        let timeline: RetroTimeline

        init(lateNanoseconds: Int64) throws {
            self.lateNanoseconds = lateNanoseconds
            let exchange = ClockExchange(
                t1Nanoseconds: 2_900_000_000, t2Nanoseconds: 2_900_100_000,
                t3Nanoseconds: 2_900_100_000, t4Nanoseconds: 2_900_200_000)
            timeline = RetroTimeline(
                sessionZeroNanoseconds: 0, history: try #require(ClockHistory([exchange])))
        }

        /// Pictures at 30 a second, 30 in each run.
        func track(fromNanoseconds begin: Int64, pictures: Int) throws -> ClockEvidence.Track {
            var track = ClockEvidence.Track(timescale: .video, mediaTimeShift: 0)
            func ticks(_ picture: Int) throws -> Int64 {
                try rescale(
                    Int64(picture) * 33_333_333, from: .nanoseconds, to: track.timescale)
            }
            for picture in stride(from: 0, to: pictures, by: 30) {
                let session = begin + Int64(picture) * 33_333_333
                track.runs.append(
                    RecordedRun(
                        clock: key, firstTicks: try ticks(picture),
                        lastTicks: try ticks(min(picture + 29, pictures - 1)),
                        stampNanoseconds: session - lateNanoseconds,
                        appliedOffsetNanoseconds: lateNanoseconds, compositionOffset: 0,
                        boundNanoseconds: 400_000_000))
            }
            return track
        }

        /// Session times of pictures by a mapping.
        func times(
            _ pictures: Int, _ track: ClockEvidence.Track, _ knots: [RetimingRecord.Knot],
            fromNanoseconds begin: Int64
        ) throws -> [Int64] {
            var retiming = TrackRetiming(
                RetimingRecord.Track(
                    kind: .video, startTicks: RetimingRecord.Track.startsByMapping, knots: knots),
                timescale: track.timescale, mediaTimeShift: 0)
            return try (0..<pictures).map { picture in
                let ticks = try rescale(
                    Int64(picture) * 33_333_333, from: .nanoseconds, to: track.timescale)
                let place = retiming.place(
                    ticks, compositionOffset: 0, isFirstPresented: picture == 0)
                return begin + (try rescale(place, from: track.timescale, to: .nanoseconds))
            }
        }
    }

    /// Nothing is presented before its file begins. The pictures on both sides of the joint move, so that none is squeezed.
    @Test func `around a file's beginning times keep their distances`() throws {
        let clock = try LateClock(lateNanoseconds: 2_000_000)
        let begin = 600 * Int64(33_333_333)
        let before = try clock.track(fromNanoseconds: 0, pictures: 600)
        let after = try clock.track(fromNanoseconds: begin, pictures: 600)
        var next = FileOpening.Track(originNanoseconds: begin, track: after)
        next.track.runs = Array(after.runs.prefix(1))
        var timelines = [clock.key.epoch: SourceTimeline(clock.timeline)]
        let first = try #require(
            MappingBuilder(
                .video, before, originNanoseconds: 0, boundBefore: 1_000_000, next: next
            ).mapping(&timelines))
        let second = try #require(
            MappingBuilder(.video, after, originNanoseconds: begin, boundBefore: 1_000_000)
                .mapping(&timelines))
        let times =
            try clock.times(600, before, first, fromNanoseconds: 0)
            + clock.times(600, after, second, fromNanoseconds: begin)
        // The session's beginning is such a limit, too.
        #expect(times[0] == 0)
        #expect(times[600] == begin)
        for (index, (one, next)) in zip(times, times.dropFirst()).enumerated() {
            // 250 ppm, rounding to ticks, and the mapping's tolerance.
            let change = abs(next - one - 33_333_333)
            #expect(change <= 8_333 + 22_300 + 2_000, "\(index): \(change)")
        }
        // In the middle of a file and at its end, all are where the exchanges say.
        for index in [300, 900, 1199] {
            let captured = Int64(index) * 33_333_333 - 2_000_000
            #expect(abs(times[index] - captured) <= 120_000, "\(index): \(times[index] - captured)")
        }
    }

    @Test(
        arguments: [
            // Composition offsets of a file's first pictures, ticks, and what they say.
            ([54, 0, 0], moved: 54, unsure: 0), ([54], moved: 54, unsure: 0),
            ([0, 0], moved: nil, unsure: nil),
            ([3_054, 3_000, 6_000, 0], moved: 0, unsure: 600_000),
            ([3_001, 3_000, 6_000, 0], moved: 0, unsure: 0),
            ([3_000], moved: 0, unsure: 1_011_112),
        ] as [([Int32], moved: Int64?, unsure: UInt64?)])
    func `a first picture that was moved to its file's beginning is recognised`(
        _ offsets: [Int32], moved: Int64?, unsure: UInt64?
    ) {
        var samples = offsets.enumerated().map { index, offset in
            ScannedSample(
                offset: 0, sizeBytes: 1, duration: 3_000,
                dts: 9_000 - Int64(offsets[0]) + Int64(index) * 3_000, compositionOffset: offset,
                isSync: index == 0)
        }
        let track = ClockEvidence.Track(timescale: .video, mediaTimeShift: 9_000)
        let found = track.moved(.video, samples[...])
        #expect(found?.ticks == moved && found?.unsureNanoseconds == unsure)
        // Presented later than at the beginning, it was not moved.
        samples[0].dts += 1
        #expect(track.moved(.video, samples[...]) == nil)
    }

    /// A correction that is too large for that is made at the beginning of the file.
    @Test func `a large correction does not move a whole file`() throws {
        let clock = try LateClock(lateNanoseconds: 300_000_000)
        let begin = 60_000_000_000 + 600 * Int64(33_333_333)
        let before = try clock.track(fromNanoseconds: 60_000_000_000, pictures: 600)
        let next = FileOpening.Track(
            originNanoseconds: begin,
            track: try clock.track(fromNanoseconds: begin, pictures: 1))
        var timelines = [clock.key.epoch: SourceTimeline(clock.timeline)]
        let knots = try #require(
            MappingBuilder(
                .video, before, originNanoseconds: 60_000_000_000, boundBefore: 1_000_000,
                next: next
            ).mapping(&timelines))
        #expect(knots.allSatisfy { abs($0.shiftNanoseconds + 300_000_000) <= 120_000 })
    }
}
