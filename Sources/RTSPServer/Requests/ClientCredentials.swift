import Hashing
import RTSP

/// Who a client says it is: nothing of it is checked here.
package enum ClientCredentials: Hashable, Sendable {
    /// `?token=` of the address.
    case token(String)
    /// HTTP Basic authentication (RFC 7617), which clients make of `rtsp://NAME:PASSWORD@HOST/`. The password may be a token.
    case basic(name: String, password: String)

    private static let maximumBytes = 1_024

    /// Nil: the request has none, or none that can be used.
    init?(_ request: ClientRequest, _ address: ServedAddress) {
        if let token = address.token {
            self = .token(token)
            return
        }
        guard let header = request.head.value("authorization"),
            header.utf8.count <= Self.maximumBytes
        else { return nil }
        let words = header.split(separator: " ")
        guard words.count == 2 else { return nil }
        switch words[0].lowercased() {
        case "bearer": self = .token(String(words[1]))
        case "basic":
            guard let bytes = ByteText.decode(base64: words[1]),
                let text = String(validating: bytes, as: UTF8.self),
                let colon = text.firstIndex(of: ":")
            else { return nil }
            self = .basic(
                name: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
        default: return nil
        }
    }
}
