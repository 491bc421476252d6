import Media

/// The test pattern, and the beep, of the contract.
struct TestInput: CaptureInputKind {
    static let syntax: String? = "test"

    var argument: String { "test" }
    var hasSound: Bool { true }

    init() {}

    init?(_ argument: String, _ option: InputOption) {
        guard argument == "test" else { return nil }
    }

    func validate(_ settings: CaptureSettings, _ option: InputOption) throws(CaptureError) {
        if option == .video, settings.encoder == .copy {
            throw .settings("--encoder copy does not work with the test pattern: leave it out")
        }
    }

    func checkPlan(_ settings: CaptureSettings) throws(CaptureError) {
        _ = try settings.testPicturePlan()
    }

    func open(
        _ plan: PipelinePlan, _ opening: PipelineOpening
    ) throws(CaptureError) -> any CapturePipeline {
        plan.kinds == [.video]
            ? try TestPicturePipeline(plan.settings) : try TestAudioPipeline(plan.settings)
    }
}
