import Media
import Testing

@testable import ViewerCore

private let second: Int64 = 1_000_000_000

@Suite struct PlaybackTimelineTests {
    /// Notes samples; those after a gap that is shortened.
    private func shortened(_ times: [Int64], _ timeline: inout PlaybackTimeline) -> [Int64] {
        var found: [Int64] = []
        for time in times where timeline.note(time) { found.append(time) }
        return found
    }

    @Test func `a gap of more than ten seconds is played as one second`() {
        var timeline = PlaybackTimeline()
        #expect(shortened([100 * second, 101 * second, 111 * second], &timeline).isEmpty)
        #expect(timeline.played(111 * second) == 111 * second)
        let after = 121 * second + 1
        // Sound precedes the first picture after the gap.
        #expect(shortened([after, 120 * second], &timeline) == [after])
        #expect(timeline.played(after) == 112 * second)
        #expect(timeline.played(120 * second) == 111 * second - 1)
        #expect(shortened([1_000 * second], &timeline) == [1_000 * second])
        #expect(timeline.played(1_000 * second) == 113 * second)
    }

    @Test func `all samples of a track are moved by the same ticks`() {
        var timeline = PlaybackTimeline()
        _ = shortened([0, 20 * second + 7], &timeline)
        let moves = (0..<1_000).map { number -> Int64 in
            let ticks = 48_000 * 20 + Int64(number) * 1_024
            return ticks - timeline.played(ticks: ticks, Timescale(48_000))
        }
        #expect(moves.allSatisfy { $0 == 48_000 * 19 })
    }

    @Test func `times at the limits do not overflow`() {
        var timeline = PlaybackTimeline()
        #expect(shortened([.min, .max, .max], &timeline) == [.max])
        #expect(timeline.played(.min) == .min)
    }
}
