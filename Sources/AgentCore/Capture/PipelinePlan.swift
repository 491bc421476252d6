import Encoding
import Media

/// One pipeline according to the settings: pipelines with equal plans are interchangeable.
struct PipelinePlan: Hashable, Sendable {
    /// Where its samples come from.
    var input: CaptureInput
    /// The wanted tracks, video first.
    var kinds: [TrackKind]
    /// The settings that affect it; those that can be changed during a capture have their initial values.
    var settings: CaptureSettings

    init(_ input: CaptureInput, _ kinds: [TrackKind], _ settings: CaptureSettings) {
        self.input = input
        self.kinds = kinds
        self.settings = settings
    }

    /// Opens source and encoders.
    func open(
        _ opening: PipelineOpening = PipelineOpening()
    ) throws(CaptureError) -> any CapturePipeline {
        try input.kind.open(self, opening)
    }

    /// Whether a pipeline of this plan can be kept for the other one: only settings that can be changed during a capture differ.
    func isSame(as other: PipelinePlan) -> Bool { steady == other.steady }

    /// The plan with defaults for all settings that can change without a new pipeline.
    private var steady: PipelinePlan {
        var plan = self
        let usual = CaptureSettings(sourceName: settings.sourceName)
        if !input.kind.isFixed(self) {
            plan.settings.videoBitrate = usual.videoBitrate
            plan.settings.videoBitrateCap = usual.videoBitrateCap
            plan.settings.orientation = usual.orientation
        }
        // The remaining duration and the selected encoder change without a request.
        plan.settings.duration = usual.duration
        plan.settings.encoderCandidates = usual.encoderCandidates
        // Settings of the other track.
        plan.settings.video = usual.video
        plan.settings.audio = usual.audio
        plan.settings.isAudioOptional = usual.isAudioOptional
        if !kinds.contains(.video) {
            plan.settings.size = usual.size
            plan.settings.frameRate = usual.frameRate
            plan.settings.crop = usual.crop
        }
        return plan
    }
}

extension CaptureSettings {
    /// Plans the pipelines for these settings.
    func pipelinePlans() throws(CaptureError) -> [PipelinePlan] {
        let hasSound = try isAudioOptional ? audio?.kind.mayHaveSound() ?? false : true
        let audio = hasSound ? audio : nil
        if let video, video == audio, video.kind.hasOnePipeline {
            return [PipelinePlan(video, [.video, .audio], self)]
        }
        return [(video, TrackKind.video), (audio, .audio)].compactMap { input, track in
            input.map { PipelinePlan($0, [track], self) }
        }
    }
}
