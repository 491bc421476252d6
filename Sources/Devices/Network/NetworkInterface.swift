import CLinux
import Glibc

/// A network interface with an IPv4 address.
struct NetworkInterface {
    /// "eth0".
    let name: String
    let address: in_addr
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
            guard let address = own.ifa_addr, Int32(address.pointee.sa_family) == AF_INET else {
                continue
            }
            let flags = Int(own.ifa_flags)
            let value = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                $0.pointee.sin_addr
            }
            found.append(
                NetworkInterface(
                    name: String(cString: own.ifa_name), address: value,
                    isForMulticast: flags & IFF_UP != 0 && flags & IFF_MULTICAST != 0
                        && flags & IFF_LOOPBACK == 0))
        }
        return found
    }
}
