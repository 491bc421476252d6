import Encoding
import Media
import Testing

@testable import AgentCore

/// Gaps for the time between a pipeline and its replacement.
@Suite struct CaptureSeamTests {
    private func sample(at time: Int64, _ track: TrackKind = .video) -> EncodedSample {
        EncodedSample(
            track: track, ptsNanoseconds: time, dtsNanoseconds: time, durationNanoseconds: 60,
            flags: .keyframe, data: [1])
    }

    private func losses(_ body: (CaptureHub) -> Void) -> [CaptureLoss] {
        let sink = CollectingSink()
        let hub = CaptureHub(sink: sink, clock: JumpingClock())
        hub.pipelineBegan(1)
        hub.sample(sample(at: 1_000))
        body(hub)
        hub.pipelineEnded(1, .stopped, isRetired: false)
        return sink.wait().losses
    }

    private func spans(_ losses: [CaptureLoss]) -> [[Int64]] {
        losses.map { [$0.startNanoseconds, $0.durationNanoseconds] }
    }

    @Test func `it lasts until the first picture of a slow camera`() {
        let losses = losses { hub in
            hub.expectSeam(
                of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "switched")
            hub.sample(sample(at: 1_190))
            hub.sample(sample(at: 1_250))
        }
        #expect(spans(losses) == [[1_060, 130]])
        #expect(losses.first?.cause == .command && losses.first?.text == "switched")
    }

    @Test func `it does not end at the silence with which an encoder begins`() {
        let losses = losses { hub in
            hub.expectSeam(of: .audio, fromNanoseconds: 1_000, toNanoseconds: 1_100, text: "")
            hub.sample(sample(at: 1_079, .audio))
        }
        #expect(spans(losses) == [[1_000, 100]])
    }

    @Test func `it ends where a loss of the new pipeline begins`() {
        let losses = losses { hub in
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "")
            hub.lost(
                CaptureLoss(
                    track: .video, cause: .deviceLost, startNanoseconds: 1_100,
                    durationNanoseconds: 500, samples: 5, text: ""))
        }
        #expect(spans(losses) == [[1_060, 40], [1_100, 500]])
    }

    @Test func `it includes a second change before the first sample`() {
        let losses = losses { hub in
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "one")
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_500, text: "two")
            hub.sample(sample(at: 1_560))
        }
        #expect(spans(losses) == [[1_060, 500]])
    }

    /// A camera that is away is stopped by a command: its pipeline reports the loss up to the command.
    @Test func `it begins after losses that were already reported`() {
        let losses = losses { hub in
            #expect(hub.reportedEnd(of: .video) == 1_060)
            hub.lost(
                CaptureLoss(
                    track: .video, cause: .deviceLost, startNanoseconds: 1_060,
                    durationNanoseconds: 500, samples: 5, text: ""))
            hub.expectSeam(
                of: .video, fromNanoseconds: hub.reportedEnd(of: .video) ?? 0,
                toNanoseconds: 1_700, text: "")
            hub.sample(sample(at: 1_800))
            #expect(hub.reportedEnd(of: .video) == 1_860 && hub.reportedEnd(of: .audio) == nil)
        }
        #expect(spans(losses) == [[1_060, 500], [1_560, 240]])
    }

    @Test func `it is reported if the capture ends before the first sample`() {
        let losses = losses { hub in
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "")
        }
        #expect(spans(losses) == [[1_060, 40]])
    }
}
