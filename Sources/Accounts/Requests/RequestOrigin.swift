/// CSRF check: whether a request that changes something comes from the viewer's own pages.
///
/// Browsers add the cookie also to requests caused by other sites, but no page can forge the headers about a request's origin.
package struct RequestOrigin: Hashable, Sendable {
    package enum Flaw: Hashable, Sendable, CustomStringConvertible {
        case foreignHost
        case missingOrigin
        case foreignOrigin

        package var description: String {
            switch self {
            case .foreignHost:
                "the viewer does not answer under this name: use its own, or add --host-name"
            case .missingOrigin:
                "a change needs an Origin header, or a token instead of a cookie"
            case .foreignOrigin: "this change was asked for by another site"
            }
        }
    }

    private static let ownSite = "same-origin"

    private let hosts: HostCheck
    /// Whether browsers reach the viewer over TLS.
    private let isSecure: Bool

    package init(hosts: HostCheck, isSecure: Bool) {
        self.hosts = hosts
        self.isSecure = isSecure
    }

    /// The reason to refuse a request that changes something; nil if it is allowed.
    /// - Parameters:
    ///   - identity: requests without automatic log-in by the browser are always allowed.
    ///   - host: the `Host` header, or `:authority`.
    ///   - origin: the `Origin` header.
    ///   - fetchSite: the `Sec-Fetch-Site` header.
    package func flaw(
        _ identity: Identity, host: String?, origin: String?, fetchSite: String?
    ) -> Flaw? {
        switch identity {
        case .script, .link: nil
        case .user: flaw(host: host, origin: origin, fetchSite: fetchSite, needsOrigin: true)
        // Programs of this machine, which send no such headers. Browsers send at least one with every change.
        case .anonymous: flaw(host: host, origin: origin, fetchSite: fetchSite, needsOrigin: false)
        }
    }

    /// The same for a request without an identity, such as a log-in.
    /// - Parameter needsOrigin: whether it has to come from a browser.
    package func flaw(host: String?, origin: String?, fetchSite: String?, needsOrigin: Bool)
        -> Flaw?
    {
        guard let host, hosts.allows(host), let own = HostAndPort(host) else { return .foreignHost }
        if let fetchSite, fetchSite != Self.ownSite { return .foreignOrigin }
        guard let origin else {
            return needsOrigin || fetchSite != nil ? .missingOrigin : nil
        }
        let scheme = isSecure ? "https://" : "http://"
        let usualPort: UInt16 = isSecure ? 443 : 80
        guard origin.hasPrefix(scheme),
            let other = HostAndPort(String(origin.dropFirst(scheme.count))),
            other.host == own.host, other.port ?? usualPort == own.port ?? usualPort
        else { return .foreignOrigin }
        return nil
    }
}
