import Devices
import Encoding
import Media
import RTSP

/// One pipeline according to the settings: pipelines with equal plans are interchangeable.
struct PipelinePlan: Hashable, Sendable {
    /// Where its samples come from.
    enum Source: Hashable, Sendable {
        case testPicture
        case testAudio
        case file(path: String)
        case camera(String)
        case microphone(String)
        case network(RTSPURL)
        /// The pictures of the source that this one is the preview of.
        case shared
    }

    var source: Source
    /// The wanted tracks, video first.
    var kinds: [TrackKind]
    /// The settings that affect it; those that can be changed during a capture have their initial values.
    var settings: CaptureSettings

    init(_ source: Source, _ kinds: [TrackKind], _ settings: CaptureSettings) {
        self.source = source
        self.kinds = kinds
        self.settings = settings
    }

    /// Opens source and encoders.
    /// - Parameter shared: opens the pipeline of a preview of another source's pictures.
    func open(
        shared: (CaptureSettings) throws(CaptureError) -> any CapturePipeline = Self.noPictures
    ) throws(CaptureError) -> any CapturePipeline {
        switch source {
        case .testPicture: try TestPicturePipeline(settings)
        case .testAudio: try TestAudioPipeline(settings)
        case .file(let path): try FilePipeline(path: path, kinds: kinds, settings: settings)
        case .camera(let name):
            try CameraPipeline(v4l2: name, settings: settings, clock: MonotonicClock())
        case .microphone(let name): try AudioDevicePipeline(alsa: name, settings: settings)
        case .network(let url):
            try NetworkPipeline(
                NetworkCameraWish(
                    url: url, login: settings.cameraLogin, transport: settings.cameraTransport,
                    trust: settings.cameraTrust, kinds: kinds, agent: "tributary-agent"),
                isSoundNeeded: settings.audio == .network(url), settings: settings)
        case .shared: try shared(settings)
        }
    }

    /// Refuses a preview of shared pictures where no source shares any.
    private static func noPictures(
        _ settings: CaptureSettings
    ) throws(CaptureError) -> any CapturePipeline {
        throw .settings("'small' makes a preview of a source's pictures: use --preview small")
    }

    /// A device that can be opened only once, a camera by its node under any name; nil: none. Searches the camera.
    var device: String? {
        switch source {
        case .testPicture, .testAudio, .file, .shared: return nil
        case .camera(let name):
            do throws(DeviceError) {
                return try CameraAddress(name: name).camera().node
            } catch {
                return "camera \(name)"
            }
        case .microphone(let name): return "sound \(name)"
        // Many cameras allow one connection only.
        case .network(let url): return "network \(url.text)"
        }
    }

    /// Whether a pipeline of this plan can be kept for the other one: only settings that can be changed during a capture differ.
    func isSame(as other: PipelinePlan) -> Bool { steady == other.steady }

    /// A copied file's pictures cannot be changed while it runs.
    private var isCopiedFile: Bool {
        guard case .file = source, kinds.contains(.video) else { return false }
        return settings.encoder == .copy
    }

    /// Without settings that can be changed during a capture.
    private var steady: PipelinePlan {
        var plan = self
        let usual = CaptureSettings(sourceName: settings.sourceName)
        if !isCopiedFile {
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
        var plans: [PipelinePlan] = []
        let audio = try audioThatIsThere()
        if case .file(let path) = video, case .file(path) = audio {
            return [PipelinePlan(.file(path: path), [.video, .audio], self)]
        }
        if case .network(let url) = video,
            audio == .network(url) || audio == .networkIfPresent(url)
        {
            return [PipelinePlan(.network(url), [.video, .audio], self)]
        }
        switch video {
        case .none: break
        case .test: plans.append(PipelinePlan(.testPicture, [.video], self))
        case .file(let path): plans.append(PipelinePlan(.file(path: path), [.video], self))
        case .device(let name): plans.append(PipelinePlan(.camera(name), [.video], self))
        case .network(let url): plans.append(PipelinePlan(.network(url), [.video], self))
        case .small: plans.append(PipelinePlan(.shared, [.video], self))
        }
        switch audio {
        case .none: break
        case .test: plans.append(PipelinePlan(.testAudio, [.audio], self))
        case .device(let name): plans.append(PipelinePlan(.microphone(name), [.audio], self))
        case .file(let path), .fileIfPresent(let path):
            plans.append(PipelinePlan(.file(path: path), [.audio], self))
        case .network(let url), .networkIfPresent(let url):
            plans.append(PipelinePlan(.network(url), [.audio], self))
        }
        return plans
    }

    /// The choice of sound, without an "if present".
    private func audioThatIsThere() throws(CaptureError) -> AudioChoice {
        guard case .fileIfPresent(let path) = audio else { return audio }
        do throws(DeviceError) {
            _ = try FileSource(path: path, kinds: [.audio], loops: false)
            return .file(path: path)
        } catch {
            if case .noTrack(.audio, _) = error { return .none }
            throw .source(error.description)
        }
    }
}
