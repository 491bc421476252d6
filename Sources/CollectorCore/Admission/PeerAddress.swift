import Glibc
import Messaging

/// Where peers are, as people write it.
enum PeerAddress {
    /// Of the connection that a message came over.
    static func of(_ part: ReceivedPart) -> String {
        guard let address = part.metadata("Peer-Address") else { return "this machine" }
        // For ipc:// libzmq gives "host:uid:gid:pid" of the peer.
        let parts = address.split(separator: ":")
        if address.hasPrefix("localhost:"), parts.count == 4 {
            return "this machine, process \(parts[3])"
        }
        return withoutMapping(address)
    }

    /// An IPv4 address as people know it: a socket that understands both writes it as `::ffff:10.0.0.1`.
    static func withoutMapping(_ address: String) -> String {
        let plain = address.replacing("[::ffff:", with: "").replacing("::ffff:", with: "")
        return plain == address ? address : plain.replacing("]", with: "")
    }
}

/// The other end of a connection that libzmq owns: to tell connections apart that had the same descriptor, and to end one.
///
/// libzmq 4.3 cannot end a single connection of a ROUTER. Shutting its descriptor down can: libzmq then finds the connection
/// closed by its peer. The descriptor stays libzmq's to close. Between the look at who is there and the shutdown it
/// could close it and accept another connection under the same number; that one would be cut, and come back.
struct PeerSocket: Hashable, Sendable {
    let descriptor: Int32
    /// Address and port, as the kernel has them; for ipc:// all are alike.
    private let name: [UInt8]
    /// The address for people, without the port.
    let address: String
    /// What counts as one place: the address, or for IPv6 its network of 64 bits (RFC 4291 §2.5.1), in which one machine may have any.
    let origin: String

    /// - Returns: nil when the connection is gone already.
    init?(descriptor: Int32) {
        guard let name = Self.peerName(of: descriptor) else { return nil }
        self.descriptor = descriptor
        self.name = name
        address = Self.text(of: name)
        origin = Self.network(of: name) ?? address
    }

    /// Ends the connection, if it is still there.
    func shutDown() {
        guard Self.peerName(of: descriptor) == name else { return }
        // Fails only when the peer has gone in this very moment.
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Ends the connection at once, if it is still there, and drops what it has sent and libzmq has not read: up to `tcp_rmem`, which
    /// shutdown(2) would leave to be read. connect(2) to no address does both (`AF_UNSPEC`).
    func abort() {
        guard Self.peerName(of: descriptor) == name else { return }
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        // Where it cannot be had (`ipc://`), the orderly end remains.
        guard connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size)) != 0 else {
            return
        }
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// The network of an IPv6 address; nil for other addresses, and for IPv4 ones that are written as such.
    private static func network(of name: [UInt8]) -> String? {
        guard name.count >= MemoryLayout<sockaddr_in6>.size else { return nil }
        return name.withUnsafeBytes { memory -> String? in
            let address = memory.loadUnaligned(as: sockaddr_in6.self)
            guard address.sin6_family == sa_family_t(AF_INET6) else { return nil }
            return withUnsafeBytes(of: address.sin6_addr) { bytes -> String? in
                // RFC 4291 §2.5.5.2: ::ffff:0:0/96.
                if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
                    return nil
                }
                return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ".") + "/64"
            }
        }
    }

    private static func peerName(of descriptor: Int32) -> [UInt8]? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { memory -> [UInt8]? in
            guard let start = memory.baseAddress,
                getpeername(descriptor, start.assumingMemoryBound(to: sockaddr.self), &size) == 0
            else { return nil }
            return Array(memory.prefix(Int(size)))
        }
    }

    private static func text(of name: [UInt8]) -> String {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = name.withUnsafeBytes { memory -> Int32 in
            guard let start = memory.baseAddress, memory.count >= MemoryLayout<sockaddr_in>.size
            else { return EAI_FAMILY }
            return getnameinfo(
                start.assumingMemoryBound(to: sockaddr.self), socklen_t(memory.count), &host,
                socklen_t(host.count), nil, 0, NI_NUMERICHOST)
        }
        guard result == 0 else { return "this machine" }
        let bytes = host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return PeerAddress.withoutMapping(String(decoding: bytes, as: UTF8.self))
    }
}
