import Messaging
import Wire

/// Where peers are, for logs: libzmq makes a string of it for every message that asks.
struct PeerAddresses {
    /// Far more than there are agents; strangers come and go.
    private static let maximum = 8_192

    private var byPeer: [PeerID: String] = [:]

    mutating func address(of peer: PeerID, header: ReceivedPart) -> String {
        if let known = byPeer[peer] { return known }
        if byPeer.count >= Self.maximum { byPeer.removeAll() }
        let address = Self.readable(header.metadata("Peer-Address"))
        byPeer[peer] = address
        return address
    }

    private static func readable(_ address: String?) -> String {
        guard let address else { return "this machine" }
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
