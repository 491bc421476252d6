/// Why a session with a camera ended.
package enum SessionEnd: Hashable, Sendable, CustomStringConvertible {
    /// The camera redirects to another URL.
    case redirected(RTSPURL)
    /// The camera rejected a request: "SETUP: 453 Not Enough Bandwidth".
    case refused(request: String, status: Int, summary: String)
    /// The credentials are missing or wrong; one line with the remedy.
    case unauthorised(String)
    /// The camera stopped sending.
    case silent(String)
    /// The camera closed the stream or the connection.
    case closed(String)
    /// The camera sent malformed data.
    case broken(String)
    /// The caller stopped it.
    case stopped

    package var description: String {
        switch self {
        case .redirected(let url): "it redirects to \(url.summary)"
        case .refused(let request, _, let summary): "it answers \(request) with \(summary)"
        case .unauthorised(let reason), .silent(let reason), .closed(let reason),
            .broken(let reason):
            reason
        case .stopped: "stopped"
        }
    }

    /// The remedy for a refused request, as the rest of a sentence; nil: unknown.
    static func remedy(
        _ method: RTSPRequest.Method, _ status: Int, _ transport: CameraSession.Transport
    ) -> String? {
        switch (method, status) {
        case (.describe, 404), (.describe, 400):
            ": check the path of the URL; 'tributary-agent devices --camera HOST' lists the streams of an ONVIF camera"
        case (.setup, 461): ": use --camera-transport \(transport == .tcp ? "udp" : "tcp")"
        default: nil
        }
    }
}
