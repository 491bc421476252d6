/// The cookie of a log-in (RFC 6265).
package struct SessionCookie: Hashable, Sendable {
    /// Longer headers are not read.
    private static let maximumHeaderBytes = 16_384

    /// Whether browsers reach the viewer over TLS. Browsers then take the cookie from this host alone: the prefix `__Host-`.
    package let isSecure: Bool

    package var name: String { isSecure ? "__Host-tributary" : "tributary" }

    /// A value for `Set-Cookie` that stores a log-in.
    /// - Parameter now: seconds since 1970.
    package func setting(_ session: LogInSession, key: AccessKey, now: Int64) -> String {
        text(session.text(key: key), lifeSeconds: max(0, session.expires - now))
    }

    /// A value for `Set-Cookie` that removes it.
    package var clearing: String { text("", lifeSeconds: 0) }

    private func text(_ value: String, lifeSeconds: Int64) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(lifeSeconds); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }

    /// The value in a `Cookie` header; nil when it is not there, or when there are two different ones: another host of the domain
    /// may have set one of them.
    package func value(in header: String) -> String? {
        guard header.utf8.count <= Self.maximumHeaderBytes else { return nil }
        var found: Substring?
        for part in header.split(separator: ";") {
            let pair = part.drop { $0 == " " || $0 == "\t" }
            guard let sign = pair.firstIndex(of: "="), pair[..<sign] == name else { continue }
            var value = pair[pair.index(after: sign)...]
            while value.last == " " || value.last == "\t" { value.removeLast() }
            if let found, found != value { return nil }
            found = value
        }
        return found.map { String($0) }
    }
}
