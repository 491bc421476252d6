package import RTSP

/// A client's message is rejected; one line for the response and the log.
package enum RTSPServerError: Error, Hashable, CustomStringConvertible {
    /// The connection cannot be parsed further.
    case malformedMessage(String)
    /// A message, or a part of it, exceeds its limit.
    case tooLarge(part: String, limitBytes: Int)
    /// The rate of requests or bytes exceeds its limit.
    case tooFast(String)

    package init(_ error: RTSPError) {
        self =
            switch error {
            case .tooLarge(let part, let limit): .tooLarge(part: part, limitBytes: limit)
            case .malformedMessage(let reason), .invalidURL(let reason),
                .unusableDescription(let reason), .malformedPacket(let reason),
                .malformedPayload(let reason):
                .malformedMessage(reason)
            }
    }

    package var description: String {
        switch self {
        case .malformedMessage(let reason): "malformed RTSP message: \(reason)"
        case .tooLarge(let part, let limit): "the \(part) is longer than \(limit) bytes"
        case .tooFast(let what): "too many \(what) a second"
        }
    }
}
