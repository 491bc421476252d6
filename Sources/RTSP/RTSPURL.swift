/// URL of a camera's stream: `rtsp://HOST[:PORT]/PATH` (RFC 2326 §3.2), or `rtsps://` for RTSP over TLS (RFC 7826 §4.2), without
/// credentials.
package struct RTSPURL: Hashable, Sendable {
    private static let plainScheme = "rtsp://"
    private static let secureScheme = "rtsps://"
    package static let schemes = [plainScheme, secureScheme]
    package static let defaultPort: UInt16 = 554
    /// Default port of `rtsps://`.
    package static let securePort: UInt16 = 322
    /// Maximum length of a URL.
    package static let maximumBytes = 2_048

    /// RTSP over TLS.
    package let isSecure: Bool
    /// A host name or an address; IPv6 without brackets, with its zone (`fe80::1%eth0`).
    package let host: String
    package let port: UInt16
    /// Path and query with the leading slash; may be empty.
    package let path: String

    package init(parsing text: String) throws(RTSPError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw .invalidURL("the camera's URL is longer than \(Self.maximumBytes) bytes")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalidURL(
                "the camera's URL has a blank or a character that must be written as %XX")
        }
        guard let scheme = Self.scheme(of: text) else {
            throw .invalidURL("the camera's URL must begin with rtsp:// or rtsps://")
        }
        isSecure = scheme == Self.secureScheme
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.contains("@") else {
            throw .invalidURL(
                "a user name or password in the camera's URL can be read by every user of this machine: "
                    + "put USER:PASSWORD into a file that only the agent's user can read, and use --camera-login FILE"
            )
        }
        path = String(rest[end...].prefix { $0 != "#" })
        let portText: Substring?
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else {
                throw .invalidURL("the camera's IPv6 address has no closing bracket")
            }
            host = URLHost.parse(
                bracketed: authority[authority.index(after: authority.startIndex)..<close])
            let behind = authority[authority.index(after: close)...]
            guard behind.isEmpty || behind.hasPrefix(":") else {
                throw .invalidURL(
                    "the camera's URL has something else than a port behind its address")
            }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let parts = authority.split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = String(parts[0])
            portText = parts.count > 1 ? parts[1] : nil
        }
        guard !host.isEmpty else { throw .invalidURL("the camera's URL has no host") }
        if let portText {
            guard let number = UInt16(portText), number > 0 else {
                throw .invalidURL("the port in the camera's URL must be from 1 to 65535")
            }
            port = number
        } else {
            port = isSecure ? Self.securePort : Self.defaultPort
        }
    }

    /// The lower-case scheme of a URL; nil if it is not one of a camera.
    package static func scheme(of text: String) -> String? {
        let start = text.prefix(secureScheme.count).lowercased()
        return schemes.first { start.hasPrefix($0) }
    }

    private var scheme: String { isSecure ? Self.secureScheme : Self.plainScheme }

    /// The URL for request lines.
    package var text: String { "\(scheme)\(authority(URLHost.requestText(host)))\(path)" }

    /// The URL as users write it.
    package var argument: String { "\(scheme)\(authority(URLHost.text(host)))\(path)" }

    /// The URL without the query, which may contain a password, for logs and status.
    package var summary: String {
        let end = path.firstIndex { "?&".contains($0) } ?? path.endIndex
        let shown = path[..<end]
        return "\(scheme)\(authority(URLHost.text(host)))"
            + (shown.lowercased().contains("password") ? "/…" : shown)
            + (end < path.endIndex ? "?…" : "")
    }

    private func authority(_ name: String) -> String {
        let usual = isSecure ? Self.securePort : Self.defaultPort
        return port == usual ? name : "\(name):\(port)"
    }

    /// The request URI of a control attribute (RFC 2326 §C.1.1).
    ///
    /// A relative one is appended to the base with a slash between, as cameras expect, not resolved like a relative URL.
    /// - Parameter base: `Content-Base`. One without a scheme, which some cameras send, is ignored.
    package func resolve(control: String?, base: String?) -> String {
        let own = base.flatMap(Self.requestURI) ?? text
        guard let control, !control.isEmpty, control != "*" else { return own }
        if let whole = Self.requestURI(control) { return whole }
        guard control.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            control.utf8.count <= Self.maximumBytes
        else { return own }
        return switch (own.hasSuffix("/"), control.hasPrefix("/")) {
        case (true, true): own + control.dropFirst()
        case (false, false): "\(own)/\(control)"
        case (true, false), (false, true): own + control
        }
    }

    /// An absolute URI for a request line, without credentials, which some cameras repeat; nil if it is none.
    private static func requestURI(_ text: String) -> String? {
        guard text.utf8.count <= maximumBytes, let scheme = scheme(of: text),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let at = rest[..<end].lastIndex(of: "@") else { return text }
        return scheme + rest[rest.index(after: at)...]
    }

    /// A URL that a camera states for one of its streams, without credentials, at the host that is used for the camera: cameras state
    /// addresses of other networks.
    package init(stated text: String, host: String) throws(RTSPError) {
        guard let whole = Self.requestURI(text) else {
            throw .invalidURL("the camera states something else than an rtsp:// or rtsps:// URL")
        }
        self = try RTSPURL(parsing: whole).at(host: host)
    }

    private func at(host: String) -> RTSPURL {
        RTSPURL(isSecure: isSecure, host: host, port: port, path: path)
    }

    private init(isSecure: Bool, host: String, port: UInt16, path: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.path = path
    }

    /// The URL of a redirect's `Location`.
    package func redirected(to location: String) throws(RTSPError) -> RTSPURL {
        guard let whole = Self.requestURI(location) else {
            throw .invalidURL(
                "the camera redirects to something else than an rtsp:// or rtsps:// URL")
        }
        return try RTSPURL(parsing: whole)
    }
}
