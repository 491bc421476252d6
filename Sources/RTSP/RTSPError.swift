/// A camera's data or address is invalid.
package enum RTSPError: Error, Hashable, CustomStringConvertible {
    /// The URL is invalid. The message never contains it, because it may contain a password.
    case invalidURL(String)
    /// A message on the control connection is malformed.
    case malformedMessage(String)
    /// A part of a message exceeds its limit.
    case tooLarge(part: String, limitBytes: Int)
    /// The session description has nothing that can be recorded.
    case unusableDescription(String)
    /// An RTP or RTCP packet is malformed.
    case malformedPacket(String)
    /// A packet's payload violates its format.
    case malformedPayload(String)

    package var description: String {
        switch self {
        case .invalidURL(let reason): reason
        case .malformedMessage(let reason): "malformed RTSP message: \(reason)"
        case .tooLarge(let part, let limit): "the \(part) is longer than \(limit) bytes"
        case .unusableDescription(let reason): reason
        case .malformedPacket(let reason): "malformed packet: \(reason)"
        case .malformedPayload(let reason): "malformed payload: \(reason)"
        }
    }
}

/// Text from a camera, for logs: printable ASCII of limited length.
func printable(_ text: some StringProtocol, limit: Int = 80) -> String {
    String(
        text.unicodeScalars.prefix(limit).map {
            $0.value >= 0x20 && $0.value < 0x7F ? Character($0) : "?"
        })
}
