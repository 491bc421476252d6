import Hashing
import RTSP

/// The credentials of a request, not yet checked.
package enum ClientCredentials: Hashable, Sendable {
    /// Query item `token` of the URL.
    case token(String)
    /// HTTP Basic authentication (RFC 7617), for which clients use `rtsp://NAME:PASSWORD@HOST/`. The password may be a token.
    case basic(name: String, password: String)

    private static let maximumBytes = 1_024

    /// Nil if the request has no usable credentials.
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
