import Encoding
import Media
import Testing

@testable import AgentCore

struct `The doctor's encoding speed` {
    private func settings(threads: Int) -> VideoEncoderSettings {
        var settings = VideoEncoderSettings(
            size: PictureSize(width: 1_280, height: 720), frameRate: FrameRate(30),
            hasConstantRate: true)
        settings.threads = threads
        return settings
    }

    @Test func `an encoder on all processors encodes as many cameras as its speed`() {
        let finding = EncoderSpeed.judge(3.14, settings(threads: 0), processors: 4)
        #expect(finding.verdict == .ok)
        #expect(finding.text.hasSuffix("about 3.1 such cameras at once"))
    }

    @Test func `an encoder of one thread leaves the other processors to further cameras`() {
        let finding = EncoderSpeed.judge(1.6, settings(threads: 1), processors: 4)
        #expect(finding.verdict == .ok)
        #expect(finding.text.contains("at 1.6 times real time"))
        #expect(finding.text.hasSuffix("about 6.4 such cameras at once"))
        let crowded = EncoderSpeed.judge(1.6, settings(threads: 8), processors: 4)
        #expect(crowded.text.hasSuffix("about 1.6 such cameras at once"))
    }

    @Test func `a preview is judged together with its source's encoder`() {
        let alone = EncoderSpeed.judge(preview: 20, settings(threads: 1), source: nil)
        #expect(alone.verdict == .ok)
        #expect(alone.text.contains("at 20.0 times real time"))
        let both = EncoderSpeed.judge(preview: 20, settings(threads: 1), source: 5)
        #expect(both.verdict == .ok)
        #expect(both.text.hasSuffix("source and preview together at 4.0 times"))
        #expect(
            EncoderSpeed.judge(preview: 20, settings(threads: 1), source: 1.4).verdict == .warning)
        let slow = EncoderSpeed.judge(preview: 20, settings(threads: 1), source: 1.02)
        #expect(slow.verdict == .problem)
        #expect(slow.text.contains("--preview small:320x320, or none"))
    }

    @Test func `one camera that is too slow is a problem, even with free processors`() {
        let finding = EncoderSpeed.judge(0.7, settings(threads: 1), processors: 4)
        #expect(finding.verdict == .problem)
        #expect(
            finding.text.contains("about 2.8 such cameras at once, so pictures would be dropped"))
    }
}
