import Glibc
import Messaging

/// Addresses of peers in readable form.
enum PeerAddress {
    /// The address of the connection that delivered a message.
    static func of(_ part: ReceivedPart) -> String {
        guard let address = part.metadata("Peer-Address") else { return "this machine" }
        // For ipc:// libzmq gives "host:uid:gid:pid" of the peer.
        let parts = address.split(separator: ":")
        if address.hasPrefix("localhost:"), parts.count == 4 {
            return "this machine, process \(parts[3])"
        }
        return withoutMapping(address)
    }

    /// An IPv4 address in dotted form: a socket that supports both versions reports it as `::ffff:10.0.0.1`.
    static func withoutMapping(_ address: String) -> String {
        let plain = address.replacing("[::ffff:", with: "").replacing("::ffff:", with: "")
        return plain == address ? address : plain.replacing("]", with: "")
    }
}

/// The remote end of a connection that libzmq owns. It distinguishes connections that had the same descriptor, and can close one.
///
/// libzmq 4.3 cannot close a single connection of a ROUTER. Shutting down its descriptor does: libzmq then treats the connection
/// as closed by its peer. The descriptor remains libzmq's to close. Between the check of the socket and the shutdown, libzmq
/// could close the descriptor and accept another connection under the same number. That connection would then be closed, and
/// would reconnect.
struct PeerSocket: Hashable, Sendable {
    let descriptor: Int32
    /// The kernel's number of the socket (`SO_COOKIE`), which no other one gets; nil if the kernel has none (before Linux 4.12).
    private let cookie: UInt64?
    /// Address and port as the kernel reports them; equal for all `ipc://` connections.
    private let name: [UInt8]
    /// The address for log lines, without the port.
    let address: String
    /// The address; for IPv6 its /64 network (RFC 4291 §2.5.1), within which one machine may use any address.
    let origin: String

    /// - Returns: nil when the connection is already closed.
    init?(descriptor: Int32) {
        guard let name = Self.peerName(of: descriptor) else { return nil }
        self.descriptor = descriptor
        self.name = name
        cookie = Self.cookie(of: descriptor)
        address = Self.text(of: name)
        origin = Self.network(of: name) ?? address
    }

    /// Whether the descriptor is still that of the connection.
    private var isOpen: Bool {
        Self.peerName(of: descriptor) == name && Self.cookie(of: descriptor) == cookie
    }

    /// Closes the connection, if it is still open.
    func shutDown() {
        guard isOpen else { return }
        // Fails only when the peer has just disconnected.
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Closes the connection immediately, if it is still open, and discards received data that libzmq has not read: up
    /// to `tcp_rmem`, which shutdown(2) would leave readable. connect(2) with `AF_UNSPEC` does both.
    func abort() {
        guard isOpen else { return }
        var unspecified = sockaddr()
        unspecified.sa_family = sa_family_t(AF_UNSPEC)
        // If that is not possible (`ipc://`), the connection is shut down in order.
        guard connect(descriptor, &unspecified, socklen_t(MemoryLayout<sockaddr>.size)) != 0 else {
            return
        }
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// The network of an IPv6 address; nil for other addresses and for IPv4-mapped ones.
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

    private static func cookie(of descriptor: Int32) -> UInt64? {
        var cookie: UInt64 = 0
        var size = socklen_t(MemoryLayout<UInt64>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : nil
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
