/// Why bytes of a camera, or an address of one, cannot be used.
package enum RTSPError: Error, Hashable, CustomStringConvertible {
    /// The address of a camera is wrong; one line that never repeats it, because it may hold a password.
    case invalidURL(String)
    /// A message of the control connection cannot be read.
    case malformedMessage(String)
    /// A part of a message is longer than any camera's.
    case tooLarge(part: String, limitBytes: Int)
    /// The session description has nothing that can be used.
    case unusableDescription(String)
    /// A packet of RTP or RTCP cannot be read.
    case malformedPacket(String)
    /// The payload of a packet contradicts its format.
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

/// A camera's words for logs: printable ASCII, and not too much of it.
func printable(_ text: some StringProtocol, limit: Int = 80) -> String {
    String(
        text.unicodeScalars.prefix(limit).map {
            $0.value >= 0x20 && $0.value < 0x7F ? Character($0) : "?"
        })
}
