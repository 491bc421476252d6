import Devices
import Media
import RTSP

/// A network camera; its pictures are recorded unchanged.
struct NetworkInput: CaptureInputKind {
    static let syntax: String? = "rtsp://…"
    static let schemes = RTSPURL.schemes

    var url: RTSPURL

    init?(_ argument: String, _ option: InputOption) throws(CaptureError) {
        guard RTSPURL.scheme(of: argument) != nil else { return nil }
        do throws(RTSPError) {
            url = try RTSPURL(parsing: argument)
        } catch {
            throw .settings("\(option.rawValue): \(error)")
        }
    }

    var argument: String { url.argument }
    var summary: String { url.summary }
    var isCopied: Bool { true }
    var isNetworkCamera: Bool { true }
    var hasSound: Bool { true }
    var soundFollowsPictures: Bool { true }
    var hasOnePipeline: Bool { true }
    /// Identifies the camera, because many cameras allow only one connection.
    var device: String? { "network \(url.argument)" }

    func validate(_ settings: CaptureSettings, _ option: InputOption) throws(CaptureError) {
        // A preview has settings of its own.
        if option == .preview { return }
        // RTP over UDP is not encrypted, even if the RTSP connection is.
        if url.isSecure, settings.cameraTransport == .udp {
            throw .settings(
                "--camera-transport udp is not encrypted: use tcp for rtsps://, or rtsp:// in a network that you trust"
            )
        }
        if !url.isSecure, settings.cameraTrust != CameraTrust() {
            throw .settings(
                "--camera-ca and --camera-fingerprint are for rtsps:// addresses: leave them out")
        }
        guard option == .video else { return }
        if settings.changesPictures {
            throw .settings(
                "the pictures of a network camera are recorded unchanged: leave --preset, --size, --fps and --crop out, and set "
                    + "them at the camera")
        }
        if case .named = settings.encoder {
            throw .settings(
                "the pictures of a network camera are recorded unchanged: leave --encoder out, or use copy"
            )
        }
    }

    func prepare(_ preview: inout CaptureSettings, of source: CaptureSettings) {
        preview.cameraLogin = source.cameraLogin
        preview.cameraTransport = source.cameraTransport
        preview.cameraDelay = source.cameraDelay
        if url.isSecure { preview.cameraTrust = source.cameraTrust }
    }

    func open(
        _ plan: PipelinePlan, _ opening: PipelineOpening
    ) throws(CaptureError) -> any CapturePipeline {
        let settings = plan.settings
        return try NetworkPipeline(
            NetworkCameraRequest(
                url: url, login: settings.cameraLogin, transport: settings.cameraTransport,
                trust: settings.cameraTrust, kinds: plan.kinds, agent: "tributary-agent"),
            isSoundNeeded: settings.audio == CaptureInput(self) && !settings.isAudioOptional,
            settings: settings, isStopping: opening.isStopping)
    }
}
