import Glibc

/// The addresses of a host name.
package struct HostAddresses: Hashable, Sendable {
    /// Addresses that other machines can have.
    private var ipv4: Set<UInt32> = []
    /// 16 bytes each.
    private var ipv6: Set<[UInt8]> = []
    /// The resolver's first address of each kind, as in an endpoint.
    private var firstIPv4: String?
    private var firstIPv6: String?

    package init() {}

    /// Adds an address of the resolver.
    mutating func add(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return }
        noteFirst(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                add(ipv4: UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                add(ipv6: withUnsafeBytes(of: $0.pointee.sin6_addr, Array.init))
            }
        default:
            break
        }
    }

    private mutating func noteFirst(_ address: UnsafePointer<sockaddr>) {
        let family = Int32(address.pointee.sa_family)
        let isIPv6 = family == AF_INET6
        guard isIPv6 ? firstIPv6 == nil : family == AF_INET && firstIPv4 == nil else { return }
        let size = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        // Includes the interface of a link-local address.
        guard
            getnameinfo(
                address, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
                == 0
        else { return }
        let host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        if isIPv6 { firstIPv6 = "[\(host)]" } else { firstIPv4 = host }
    }

    /// The endpoint with an address in place of its host, as libzmq selects it: the first IPv6 one, or the first IPv4 one of a host
    /// that has no others. Nil without an address.
    func endpoint(of endpoint: String) -> String? {
        guard let address = firstIPv6 ?? firstIPv4,
            let range = HostLookup.hostRange(of: endpoint)
        else { return nil }
        return "\(endpoint[..<range.lowerBound])\(address)\(endpoint[range.upperBound...])"
    }

    /// Adds an address that other machines can have, unless it is a loopback one.
    mutating func add(ipv4 address: UInt32) {
        if address >> 24 != 127 { ipv4.insert(address) }
    }

    /// Adds an address that other machines can have, unless it is a loopback or link-local one.
    /// - Parameter address: 16 bytes, in network order.
    mutating func add(ipv6 address: [UInt8]) {
        let isLoopback = address == [UInt8](repeating: 0, count: 15) + [1]
        let isMapped =
            address.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
        // fe80::/10: only with the name of an interface.
        let isLinkLocal = address[0] == 0xFE && address[1] & 0xC0 == 0x80
        if !isLoopback, !isMapped, !isLinkLocal { ipv6.insert(address) }
    }

    /// A `tcp://` endpoint for each of several addresses, in their order; the original one if there are none or one.
    ///
    /// A machine with one address of each kind is one collector: the IPv4 addresses count, or the IPv6 ones of a name that has no
    /// others.
    func endpoints(of endpoint: String) -> [String] {
        let hosts = ipv4.isEmpty ? ipv6Hosts : ipv4Hosts
        guard hosts.count > 1, let colon = endpoint.lastIndex(of: ":") else { return [endpoint] }
        return hosts.map { "tcp://\($0)\(endpoint[colon...])" }
    }

    private var ipv4Hosts: [String] {
        ipv4.sorted().map { address in
            [24, 16, 8, 0].map { String(address >> UInt32($0) & 255) }.joined(separator: ".")
        }
    }

    private var ipv6Hosts: [String] {
        ipv6.sorted { $0.lexicographicallyPrecedes($1) }.map { address in
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            // RFC 5952: all programs write an address in the same way.
            inet_ntop(AF_INET6, address, &text, socklen_t(text.count))
            return "[\(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))]"
        }
    }
}
