/// Why a connection to a camera is over.
package enum SessionEnd: Hashable, Sendable, CustomStringConvertible {
    /// The camera names another place.
    case redirected(RTSPURL)
    /// The camera does not do what is asked of it: "SETUP: 453 Not Enough Bandwidth".
    case refused(request: String, status: Int, summary: String)
    /// The camera does not accept the login, or wants one; one line that says what to do.
    case unauthorised(String)
    /// The camera, or the network to it, has fallen silent.
    case silent(String)
    /// The camera has ended the stream or the connection.
    case closed(String)
    /// The camera sends what cannot be read.
    case broken(String)
    /// We have left.
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
}
