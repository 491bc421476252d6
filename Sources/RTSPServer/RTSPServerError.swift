/// Why bytes of a client cannot be used: one line, for the answer and the log.
package enum RTSPServerError: Error, Hashable, CustomStringConvertible {
    /// A message cannot be read; the connection cannot be read on.
    case malformedMessage(String)
    /// A message, or a part of it, is longer than any client's.
    case tooLarge(part: String, limitBytes: Int)
    /// The client sends requests or bytes faster than any player.
    case tooFast(String)

    package var description: String {
        switch self {
        case .malformedMessage(let reason): "malformed RTSP message: \(reason)"
        case .tooLarge(let part, let limit): "the \(part) is longer than \(limit) bytes"
        case .tooFast(let what): "too many \(what) a second"
        }
    }
}
