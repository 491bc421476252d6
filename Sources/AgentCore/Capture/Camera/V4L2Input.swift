import Devices

/// A camera of this box, by one of its names; "first" is the first one found.
struct V4L2Input: CaptureInputKind {
    static let options: Set<InputOption> = [.video, .preview]
    static let isDevice = true

    let argument: String
    var isCamera: Bool { true }

    init(_ name: String) { argument = name }

    init?(_ argument: String, _ option: InputOption) { self.argument = argument }

    func validate(_ settings: CaptureSettings, _ option: InputOption) throws(CaptureError) {
        if option == .preview, settings.video == CaptureInput(self) {
            throw .settings(
                "--preview is the camera of --video, which cannot be opened twice: use --preview small, or another camera"
            )
        }
    }

    func checkPlan(_ settings: CaptureSettings) throws(CaptureError) {
        _ = try settings.cameraRequest()
    }

    func open(
        _ plan: PipelinePlan, _ opening: PipelineOpening
    ) throws(CaptureError) -> any CapturePipeline {
        try CameraPipeline(v4l2: argument, settings: plan.settings, clock: MonotonicClock())
    }

    var device: String? {
        do throws(DeviceError) {
            return try CameraAddress(name: argument).camera().node
        } catch {
            return "camera \(argument)"
        }
    }

    var permissions: DevicePermissions.Access { DevicePermissions.ofCameras() }
}
