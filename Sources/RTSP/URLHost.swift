/// The host of a URL: a name, an IPv4 address, or an IPv6 address, whose zone (`fe80::1%eth0`) is written after `%25` (RFC 6874 §2).
package enum URLHost {
    /// The host without the brackets of the URL.
    package static func parse(bracketed text: Substring) -> String {
        guard let percent = text.firstIndex(of: "%") else { return String(text) }
        let zone = text[percent...]
        return text[..<percent] + "%" + zone.dropFirst(zone.hasPrefix("%25") ? 3 : 1)
    }

    /// The host as users write it.
    package static func text(_ host: String) -> String {
        guard host.contains(":") else { return host }
        guard let percent = host.firstIndex(of: "%") else { return "[\(host)]" }
        return "[\(host[..<percent])%25\(host[percent...].dropFirst())]"
    }

    /// The host in requests: without the zone, which other machines do not know (RFC 6874 §1).
    package static func requestText(_ host: String) -> String {
        text(withoutZone(host))
    }

    package static func withoutZone(_ host: String) -> String {
        host.contains(":") ? String(host.prefix { $0 != "%" }) : host
    }
}
