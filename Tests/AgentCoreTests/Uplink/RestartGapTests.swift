import Media
import Testing
import Wire

@testable import AgentCore

/// The gap between an agent's runs.
@Suite struct RestartGapTests {
    private let ms: Int64 = 1_000_000

    private func run(_ track: TrackKind, _ start: Int64) -> SampleRun {
        SampleRun(
            track: track, sizes: [1], dtsNanoseconds: [start], ptsOffsetsNanoseconds: [],
            durationsNanoseconds: [10], flags: [[]], camera: nil)
    }

    private func text(_ losses: [Loss]) -> [String] {
        losses.map {
            let track = $0.track.map(\.description) ?? "all"
            return "\(track) \($0.startNanoseconds / ms)+\($0.durationNanoseconds / ms)"
        }
    }

    @Test func `each track's gap is from its own end to its own first sample`() {
        var gap = RestartGap(ends: [.video: 5_000 * ms, .audio: 6_293 * ms], text: "away")
        // Sound comes first, in several batches.
        #expect(text(gap.losses(before: [run(.audio, 6_900 * ms)])) == ["audio 6293+607"])
        #expect(!gap.isReported)
        #expect(gap.losses(before: [run(.audio, 6_910 * ms)]).isEmpty)
        #expect(
            text(gap.losses(before: [run(.video, 6_914 * ms), run(.audio, 6_920 * ms)]))
                == ["video 5000+1914"])
        #expect(gap.isReported)
    }

    @Test func `both tracks in one batch have two gaps`() {
        var gap = RestartGap(ends: [.video: 500 * ms, .audio: 1_600 * ms], text: "away")
        let losses = gap.losses(before: [run(.video, 1_900 * ms), run(.audio, 1_880 * ms)])
        #expect(text(losses) == ["video 500+1400", "audio 1600+280"])
        #expect(losses.allSatisfy { $0.cause == .restart && $0.text == "away" })
        #expect(gap.isReported)
    }

    @Test func `without the ends of all tracks there is one gap`() {
        var one = RestartGap(ends: [.video: 500 * ms], text: "away")
        #expect(text(one.losses(before: [run(.video, 900 * ms)])) == ["all 500+400"])
        #expect(one.isReported)
        var unknown = RestartGap(text: "away")
        #expect(text(unknown.losses(before: [run(.video, 900 * ms)])) == ["all 900+0"])
        #expect(unknown.isReported)
    }

    @Test func `samples before the end make no negative gap`() {
        var gap = RestartGap(ends: [.video: 500 * ms, .audio: 1_600 * ms], text: "away")
        #expect(text(gap.losses(before: [run(.video, 400 * ms)])) == ["video 500+0"])
    }
}
