import CLinux
import Glibc

/// An address of a network interface from which cameras can be searched: IPv4, or IPv6 of the link (RFC 4291 §2.5.6).
struct NetworkInterface {
    enum Address {
        case version4(sockaddr_in)
        /// With the interface's index as its scope.
        case version6(sockaddr_in6)
    }

    /// "eth0".
    let name: String
    let address: Address
    /// Whether it is up, and supports link-local multicast.
    let isForMulticast: Bool

    /// Addresses of this machine; an interface with several has several entries.
    static func list() -> [NetworkInterface] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [NetworkInterface] = []
        var next = first
        while let own = next?.pointee {
            next = own.ifa_next
            guard let address = own.ifa_addr.flatMap(address) else { continue }
            let flags = Int(own.ifa_flags)
            found.append(
                NetworkInterface(
                    name: String(cString: own.ifa_name), address: address,
                    isForMulticast: flags & IFF_UP != 0 && flags & IFF_MULTICAST != 0
                        && flags & IFF_LOOPBACK == 0))
        }
        return found
    }

    private static func address(_ name: UnsafeMutablePointer<sockaddr>) -> Address? {
        switch Int32(name.pointee.sa_family) {
        case AF_INET:
            return .version4(
                name.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee })
        case AF_INET6:
            let address = name.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                $0.pointee
            }
            let isOfLink = withUnsafeBytes(of: address.sin6_addr) {
                $0[0] == 0xFE && $0[1] & 0xC0 == 0x80
            }
            return isOfLink && address.sin6_scope_id != 0 ? .version6(address) : nil
        default: return nil
        }
    }
}
