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

    @Test func `it reaches to the first picture of a camera that takes its time`() {
        let losses = losses { hub in
            hub.expectSeam(
                of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "switched")
            hub.sample(sample(at: 1_190))
            hub.sample(sample(at: 1_250))
        }
        #expect(spans(losses) == [[1_060, 130]])
        #expect(losses.first?.cause == .command && losses.first?.text == "switched")
    }

    @Test func `silence that an encoder begins with is not what came next`() {
        let losses = losses { hub in
            hub.expectSeam(of: .audio, fromNanoseconds: 1_000, toNanoseconds: 1_100, text: "")
            hub.sample(sample(at: 1_079, .audio))
        }
        #expect(spans(losses) == [[1_000, 100]])
    }

    @Test func `what the new pipeline itself has lost follows it`() {
        let losses = losses { hub in
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "")
            hub.lost(
                CaptureLoss(
                    track: .video, cause: .deviceLost, startNanoseconds: 1_100,
                    durationNanoseconds: 500, samples: 5, text: ""))
        }
        #expect(spans(losses) == [[1_060, 40], [1_100, 500]])
    }

    @Test func `a second change before anything has come is told with the first`() {
        let losses = losses { hub in
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "one")
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_500, text: "two")
            hub.sample(sample(at: 1_560))
        }
        #expect(spans(losses) == [[1_060, 500]])
    }

    /// A camera that is away is stopped by a command: its pipeline reports the loss up to the command.
    @Test func `it begins after the losses that are reported already`() {
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

    @Test func `a capture that ends before anything has come says so`() {
        let losses = losses { hub in
            hub.expectSeam(of: .video, fromNanoseconds: 1_060, toNanoseconds: 1_100, text: "")
        }
        #expect(spans(losses) == [[1_060, 40]])
    }
}
