import Media

/// Where a source's pictures or sound come from.
package struct CaptureInput: Hashable, Sendable {
    /// All kinds, in the order in which they read an argument: devices have any name, so they are last.
    static let kinds: [any CaptureInputKind.Type] = [
        TestInput.self, FileInput.self, NetworkInput.self, SmallInput.self, V4L2Input.self,
        ALSAInput.self,
    ]

    /// The test pattern, and the beep, of the contract.
    package static let test = CaptureInput(TestInput())

    let kind: any CaptureInputKind

    init(_ kind: any CaptureInputKind) { self.kind = kind }

    /// Reads the value of an option; nil: `none`.
    package static func parse(
        _ argument: String, for option: InputOption
    ) throws(CaptureError) -> CaptureInput? {
        if argument == "none" {
            guard option != .preview else {
                throw .settings("--preview none records nothing: leave --preview out")
            }
            return nil
        }
        let kinds = kinds.filter { $0.options.contains(option) }
        if argument.isEmpty {
            let words = Self.kinds.compactMap { $0.syntax }.joined(separator: ", ")
            throw .settings("\(option.rawValue) is empty: use \(words), none or a device")
        }
        for kind in kinds {
            if kind.isDevice, argument.contains("://") {
                // Not repeated: it may contain a password.
                let schemes = kinds.flatMap { $0.schemes }.joined(separator: " and ")
                throw .settings("\(option.rawValue): of URLs, only \(schemes) are supported")
            }
            if let kind = try kind.init(argument, option) { return CaptureInput(kind) }
        }
        throw .settings("\(option.rawValue): there is no input \(argument)")
    }

    /// Its sound, for pictures without another input of sound; nil: it has none.
    package var sound: CaptureInput? { kind.hasSound ? self : nil }

    /// Whether the options for network cameras apply to it.
    package var isNetworkCamera: Bool { kind.isNetworkCamera }

    /// Whether it is a camera of this box, which may encode its pictures itself.
    var isCamera: Bool { kind.isCamera }

    package static func == (left: CaptureInput, right: CaptureInput) -> Bool {
        AnyHashable(left.kind) == AnyHashable(right.kind)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(kind)) }
}

extension CaptureInput? {
    /// The value of its option.
    package var argument: String { self?.kind.argument ?? "none" }

    /// For logs and status, without possible passwords.
    var summary: String { self?.kind.summary ?? "none" }
}

/// The options that name an input.
package enum InputOption: String, CaseIterable, Sendable {
    case video = "--video"
    case preview = "--preview"
    case audio = "--audio"
}

/// A kind of input: a folder of this module, and an entry of ``CaptureInput/kinds``. No other part of the agent names a kind,
/// except for the options of one.
protocol CaptureInputKind: Hashable, Sendable {
    // MARK: Argument

    /// The options that accept it.
    static var options: Set<InputOption> { get }
    /// Its argument in advice; nil: none.
    static var syntax: String? { get }
    /// The schemes of its URLs, with `://`.
    static var schemes: [String] { get }
    /// Whether it is a device of this box, and so accepts any name as its argument.
    static var isDevice: Bool { get }
    /// - Returns: nil for the argument of another kind.
    init?(_ argument: String, _ option: InputOption) throws(CaptureError)
    var argument: String { get }
    /// The argument without possible passwords.
    var summary: String { get }

    // MARK: Settings

    /// Checks settings in which it has the role of an option for contradictions, before anything is opened.
    func validate(_ settings: CaptureSettings, _ option: InputOption) throws(CaptureError)
    /// Checks the plan for its pictures, without opening anything.
    func checkPlan(_ settings: CaptureSettings) throws(CaptureError)
    /// Completes the settings of a preview from it; by default, it is encoded in the size of previews.
    func prepare(_ preview: inout CaptureSettings, of source: CaptureSettings)
    /// Whether its pictures are copied with any encoder setting.
    var isCopied: Bool { get }
    /// Whether bitrate and orientation of such a pipeline cannot be changed.
    func isFixed(_ plan: PipelinePlan) -> Bool

    /// Whether the options for network cameras apply to it.
    var isNetworkCamera: Bool { get }
    /// Whether it is a camera of this box, which may encode its pictures itself.
    var isCamera: Bool { get }

    // MARK: Sound

    /// Whether its sound is recorded with its pictures by default.
    var hasSound: Bool { get }
    /// Whether it has sound; true: it has, or that is found when it is opened.
    func mayHaveSound() throws(CaptureError) -> Bool
    /// Whether default sound changes with the pictures.
    var soundFollowsPictures: Bool { get }
    /// Whether one pipeline captures both tracks.
    var hasOnePipeline: Bool { get }

    // MARK: Capture

    /// Opens the input and encoders.
    func open(
        _ plan: PipelinePlan, _ opening: PipelineOpening
    ) throws(CaptureError) -> any CapturePipeline
    /// A device that can be opened only once, the same for all of its names; nil: none. Searches it.
    var device: String? { get }
    /// Permissions of this user for such devices.
    var permissions: DevicePermissions.Access { get }
}

extension CaptureInputKind {
    static var options: Set<InputOption> { Set(InputOption.allCases) }
    static var syntax: String? { nil }
    static var schemes: [String] { [] }
    static var isDevice: Bool { false }
    var summary: String { argument }

    func validate(_ settings: CaptureSettings, _ option: InputOption) throws(CaptureError) {}
    func checkPlan(_ settings: CaptureSettings) throws(CaptureError) {}
    func prepare(_ preview: inout CaptureSettings, of source: CaptureSettings) {
        preview.size = CaptureSettings.previewSize
        preview.frameRate = source.frameRate
    }
    var isCopied: Bool { false }
    func isFixed(_ plan: PipelinePlan) -> Bool { false }
    var isNetworkCamera: Bool { false }
    var isCamera: Bool { false }

    var hasSound: Bool { false }
    func mayHaveSound() throws(CaptureError) -> Bool { true }
    var soundFollowsPictures: Bool { false }
    var hasOnePipeline: Bool { false }

    var device: String? { nil }
    var permissions: DevicePermissions.Access { .unclear }
}
