/// Decides under which host names the viewer answers.
///
/// The owner of a foreign page can make its name resolve to this machine (DNS rebinding). To the browser, the page's
/// requests to the viewer are then same-origin; the `Host` header still has the foreign name.
package struct HostCheck: Hashable, Sendable {
    private static let thisMachine = ["localhost", "127.0.0.1", "::1"]
    /// Listen addresses that mean all addresses of the machine.
    private static let wildcards: Set<HostName> = [
        .address([UInt8](repeating: 0, count: IPAddress.version4Bytes)),
        .address([UInt8](repeating: 0, count: IPAddress.version6Bytes)),
    ]

    private var hosts: Set<HostName> = []
    /// Domains of wildcard certificates: `*.example.org` is stored as `example.org`.
    private var parents: Set<String> = []
    /// The server listens on all addresses, so any numeric address is accepted: DNS rebinding needs a name.
    private let allowsAddresses: Bool

    /// - Parameters:
    ///   - listenHost: without brackets.
    ///   - certificateNames: those that are not host names are ignored.
    ///   - allowed: configured names and addresses, without ports.
    /// - Throws: if one of `allowed` is neither.
    package init(
        listenHost: String, certificateNames: [String] = [], allowed: [String] = []
    ) throws(AccessError) {
        let listening = HostName(listenHost)
        allowsAddresses = listening.map { Self.wildcards.contains($0) } ?? false
        for name in Self.thisMachine + [listenHost] + certificateNames { _ = add(name) }
        for name in allowed {
            guard add(name) else { throw .notAHostName(name) }
        }
    }

    /// - Returns: whether it is a host.
    private mutating func add(_ text: String) -> Bool {
        if text.hasPrefix("*."), case .name(let parent)? = HostName(String(text.dropFirst(2))) {
            parents.insert(parent)
            return true
        }
        guard let host = HostName(text) else { return false }
        hosts.insert(host)
        return true
    }

    /// Whether a `Host` header has one of the names, with any port.
    package func allows(_ header: String?) -> Bool {
        guard let header, let host = HostAndPort(header)?.host else { return false }
        if hosts.contains(host) { return true }
        switch host {
        case .address: return allowsAddresses
        case .name(let name):
            guard let dot = name.firstIndex(of: ".") else { return false }
            return parents.contains(String(name[name.index(after: dot)...]))
        }
    }
}
