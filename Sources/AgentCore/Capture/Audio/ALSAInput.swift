/// A sound device, by ALSA's name; "first" is the first one found.
struct ALSAInput: CaptureInputKind {
    static let options: Set<InputOption> = [.audio]
    static let isDevice = true

    let argument: String

    init(_ name: String) { argument = name }

    init?(_ argument: String, _ option: InputOption) { self.argument = argument }

    func validate(_ settings: CaptureSettings, _ option: InputOption) throws(CaptureError) {
        if settings.encoder == .copy, settings.video?.isCamera != true {
            throw .settings(
                "--encoder copy does not work with an audio device: leave it out, or use --audio none"
            )
        }
    }

    func open(
        _ plan: PipelinePlan, _ opening: PipelineOpening
    ) throws(CaptureError) -> any CapturePipeline {
        try AudioDevicePipeline(alsa: argument, settings: plan.settings)
    }

    var device: String? { "sound \(argument)" }
    var permissions: DevicePermissions.Access { DevicePermissions.ofMicrophones() }
}
