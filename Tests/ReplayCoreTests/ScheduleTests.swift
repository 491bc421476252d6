import Media
import Messaging
import Testing
import Wire

@testable import ReplayCore

private let second: Int64 = 1_000_000_000

/// A source of pictures at given times.
private struct FakePipeline: SourcePlayer {
    let name: String
    let formats: [TrackFormat] = []
    var times: ArraySlice<Int64>
    var hasPriming = false

    mutating func next() throws(ReplayError) -> ReplayItem? {
        guard let time = times.popFirst() else { return nil }
        var flags: [SampleFlags] = [.keyframe]
        if hasPriming {
            hasPriming = false
            flags = [[.keyframe, .priming]]
        }
        return ReplayItem(
            timeNanoseconds: time,
            content: .samples(
                ReplayedSamples(
                    runs: [
                        SampleRun(
                            track: .audio, sizes: [2], dtsNanoseconds: [time],
                            ptsOffsetsNanoseconds: [], durationsNanoseconds: [second],
                            flags: flags)
                    ], payload: SharedBytes([1, 2]), digest: [])))
    }
}

@Suite struct ScheduleTests {
    private func played(
        _ schedule: inout ReplaySchedule, _ count: Int
    ) throws -> [(source: Int, time: Int64)] {
        var played: [(source: Int, time: Int64)] = []
        while played.count < count, let next = schedule.nextNanoseconds,
            let entry = try schedule.take()
        {
            #expect(entry.item.timeNanoseconds == next)
            played.append((entry.source, next / second))
        }
        return played
    }

    @Test func `sources take turns on their common timeline`() throws {
        var schedule = try ReplaySchedule(loops: false) { () throws(ReplayError) in
            [
                FakePipeline(name: "a", times: [1 * second, 4 * second, 5 * second]),
                FakePipeline(name: "b", times: [2 * second, 3 * second, 9 * second]),
            ]
        }
        #expect(schedule.start == second)
        let all = try played(&schedule, 10)
        #expect(all.map(\.time) == [1, 2, 3, 4, 5, 9])
        #expect(all.map(\.source) == [0, 1, 1, 0, 0, 1])
        #expect(try schedule.take() == nil)
    }

    @Test func `a loop continues at the recording's end, without the encoder delay`() throws {
        var schedule = try ReplaySchedule(loops: true) { () throws(ReplayError) in
            [FakePipeline(name: "a", times: [0, second, 2 * second], hasPriming: true)]
        }
        // Presented from 1 on, until 3: a round is two seconds.
        #expect(try played(&schedule, 7).map(\.time) == [0, 1, 2, 3, 4, 5, 6])
        #expect(schedule.rounds == 4)
    }

    @Test func `a recording without samples is not looped`() throws {
        var schedule = try ReplaySchedule(loops: true) { () throws(ReplayError) in
            [FakePipeline(name: "a", times: [])]
        }
        #expect(schedule.nextNanoseconds == nil)
        #expect(try schedule.take() == nil)
    }

    @Test func `lateness is measured as median, percentile and maximum`() {
        var meter = LatenessMeter()
        #expect(meter.lateness == nil)
        for _ in 0..<98 { meter.add(100_000) }
        meter.add(1_500_000)
        meter.add(30_000_000)
        #expect(meter.lateness?.greatest == 30_000_000)
        #expect(meter.lateness?.percentile99 == 1_520_000)
        #expect(meter.lateness?.median == 120_000)
    }
}
