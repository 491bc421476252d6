/// The endpoint of a store other than Amazon's: `https://HOST`, `http://HOST:PORT`.
///
/// Its buckets use path-style addresses, which every store supports without DNS names and certificates per bucket.
package struct StoreEndpoint: Hashable, Sendable, CustomStringConvertible {
    private static let maximumBytes = 512

    package let isSecure: Bool
    /// A name, an IPv4 address, or an IPv6 address in brackets; lower case.
    package let host: String
    /// `nil` for the scheme's default.
    package let port: UInt16?

    /// The error of an endpoint. Each text continues "the endpoint …".
    package enum Flaw: Error, Hashable, CustomStringConvertible {
        /// Neither `http://` nor `https://`.
        case scheme
        case host
        case port
        /// A user and a password.
        case credentials
        /// A path, a query or a fragment.
        case path

        package var description: String {
            switch self {
            case .scheme: "must begin with https:// or http://"
            case .host: "has no valid host: give a name or an address"
            case .port: "has no valid port: give 1 to 65535"
            case .credentials:
                "must not contain a user or password: credentials come from \(StoreAddress.credentialsHelp)"
            case .path: "must not have a path: the bucket is named in \(StoreAddress.form)"
            }
        }
    }

    /// Parses an endpoint; a trailing `/` is ignored.
    package init(_ text: String) throws(Flaw) {
        guard text.utf8.count <= Self.maximumBytes else { throw .host }
        var rest: Substring
        if text.hasPrefix("https://") {
            isSecure = true
            rest = text.dropFirst("https://".count)
        } else if text.hasPrefix("http://") {
            isSecure = false
            rest = text.dropFirst("http://".count)
        } else {
            throw .scheme
        }
        guard !rest.contains("@") else { throw .credentials }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.contains(where: { "/?#".contains($0) }) else { throw .path }
        var name = rest
        var port: UInt16?
        // The colons of an IPv6 address are in brackets.
        let bracket = rest.lastIndex(of: "]") ?? rest.startIndex
        if let colon = rest[bracket...].lastIndex(of: ":") {
            name = rest[..<colon]
            guard let number = UInt16(rest[rest.index(after: colon)...]), number > 0 else {
                throw .port
            }
            port = number
        }
        let host = name.lowercased()
        guard Self.isHost(host) else { throw .host }
        self.host = host
        self.port = port == (isSecure ? 443 : 80) ? nil : port
    }

    /// Host and port, for the `Host` header.
    var authority: String { port.map { "\(host):\($0)" } ?? host }

    package var description: String { "\(isSecure ? "https" : "http")://\(authority)" }

    private static func isHost(_ host: String) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = host.dropFirst().dropLast()
            return address.contains(":")
                && address.utf8.allSatisfy { byte in "0123456789abcdef:.".utf8.contains(byte) }
        }
        guard let first = host.utf8.first, URIEncoding.isLetterOrDigit(first) else { return false }
        return host.utf8.count <= 253
            && host.utf8.allSatisfy { byte in
                URIEncoding.isLetterOrDigit(byte) || ".-_".utf8.contains(byte)
            }
    }
}
