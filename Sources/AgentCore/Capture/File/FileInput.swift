import Devices
import Media

/// A media file.
struct FileInput: CaptureInputKind {
    private static let prefix = "file:"
    static let syntax: String? = "\(prefix)PATH"

    var path: String

    init(path: String) { self.path = path }

    init?(_ argument: String, _ option: InputOption) throws(CaptureError) {
        guard argument.hasPrefix(Self.prefix) else { return nil }
        path = String(argument.dropFirst(Self.prefix.count))
        if path.isEmpty {
            throw .settings("\(option.rawValue) file: needs a path after the colon")
        }
    }

    var argument: String { "\(Self.prefix)\(path)" }
    var hasSound: Bool { true }
    var hasOnePipeline: Bool { true }

    func mayHaveSound() throws(CaptureError) -> Bool {
        do throws(DeviceError) {
            _ = try FileSource(path: path, kinds: [.audio], loops: false)
            return true
        } catch {
            if case .noTrack(.audio, _) = error { return false }
            throw .source(error.description)
        }
    }

    func prepare(_ preview: inout CaptureSettings, of source: CaptureSettings) {
        if source.encoder == .copy { preview.encoder = .copy }
    }

    /// A copied file's pictures cannot be changed while it runs.
    func isFixed(_ plan: PipelinePlan) -> Bool {
        plan.kinds.contains(.video) && plan.settings.encoder == .copy
    }

    func open(
        _ plan: PipelinePlan, _ opening: PipelineOpening
    ) throws(CaptureError) -> any CapturePipeline {
        try FilePipeline(path: path, kinds: plan.kinds, settings: plan.settings)
    }
}
