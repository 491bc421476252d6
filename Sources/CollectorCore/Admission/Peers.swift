import Messaging
import Trust
import Wire

/// Who is at the other end of a connection. Belongs to the receiving thread.
final class Peer {
    /// Tells this connection from another one that comes under the same routing identity.
    fileprivate let connection: UnsafeRawPointer?
    /// Keeps that mark from being used again.
    private let kept: ReceivedPart?
    let id: PeerID
    /// Connections are numbered from 1 as they are first heard.
    let number: UInt32
    let address: String
    /// What it has proved to hold; nil where no keys are asked for.
    fileprivate let key: PublicKey?
    /// What that key allows; nil where no keys are asked for, and when it is not admitted any more.
    fileprivate(set) var right: WritingRight?
    let socket: PeerSocket?
    /// When the connection is to be cut; what it says meanwhile counts for nothing.
    fileprivate(set) var endsAt: Int64?
    /// Where what it sends is counted; nil where that cannot be known.
    fileprivate(set) var account: ConnectionAccount?
    /// What it may still send while it is leaving.
    fileprivate var farewellBytes = 0
    fileprivate var probes: TokenBucket
    fileprivate var welcomes: TokenBucket

    /// - Parameter hasKeys: whether connections prove keys here. Where they do not, a peer may call itself anything, "User-Id" included.
    fileprivate init(
        _ header: ReceivedPart, peer: PeerID, number: UInt32, hasKeys: Bool, now: Int64
    ) {
        welcomes = TokenBucket(
            perSecond: Peers.welcomesPerSecond, burst: Peers.welcomeBurst, now: now)
        probes = TokenBucket(
            perSecond: WireLimits.clockProbesPerSecond, burst: WireLimits.clockProbeBurst, now: now)
        self.number = number
        // What is larger gets its sender refused, who is not heard then: nobody could profit from the mix-up.
        kept = header.count <= WireLimits.headerBytes ? header : nil
        connection = header.connection
        id = peer
        address = PeerAddress.of(header)
        key = hasKeys ? header.metadata("User-Id").flatMap(Self.key) : nil
        socket = header.descriptor.flatMap { PeerSocket(descriptor: $0) }
    }

    /// What the authenticator has called a connection; nil when that is no key, so that the connection is not admitted.
    private static func key(_ text: String) -> PublicKey? {
        do throws(TrustError) {
            return try PublicKey(text: text)
        } catch {
            return nil
        }
    }
}

/// The connections that have said something: what libzmq knows of each is asked for once.
///
/// A routing identity is what a peer chooses to be called, and may be used again by another one as soon as a connection is
/// gone; what was found out about the first must not count for the second. So every message is checked for having come over
/// the same connection. Connections that are gone are forgotten when their descriptor is used again, so there are never more of
/// them than descriptors.
struct Peers {
    /// What a connection may do is not what it was.
    struct Change {
        var sender: Peer
        /// Why it may do nothing any more.
        var text: String
    }

    /// A peer that was refused has this long to read why.
    private static let farewellNanoseconds: Int64 = 2_000_000_000
    /// Welcomes of one connection in a second, and at once: an agent greets once, and each greeting is a line in the log.
    static let welcomesPerSecond: Int64 = 1
    static let welcomeBurst: Int64 = 10

    private var byPeer: [PeerID: Peer] = [:]
    private var byDescriptor: [Int32: Peer] = [:]
    private var leaving: [Peer] = []
    private var count: UInt32 = 0

    /// The sender of a message, if it is known.
    func known(sending header: ReceivedPart, peer: PeerID) -> Peer? {
        guard let sender = byPeer[peer], sender.connection == header.connection else { return nil }
        return sender
    }

    /// What a peer has proved to hold; nil when it is gone, or was asked for no key.
    func key(of peer: PeerID) -> PublicKey? { byPeer[peer]?.key }

    /// Makes the acquaintance of the sender of a message.
    /// - Parameters:
    ///   - hasKeys: whether connections prove keys here.
    ///   - account: of the connection at a descriptor.
    /// - Returns: it, and peers that are gone, because it has their identity or their descriptor.
    mutating func welcome(
        _ header: ReceivedPart, peer: PeerID, hasKeys: Bool, now: Int64,
        account: (Int32) -> ConnectionAccount?
    ) -> (sender: Peer, gone: [PeerID]) {
        count &+= 1
        let sender = Peer(header, peer: peer, number: count, hasKeys: hasKeys, now: now)
        sender.account = sender.socket.flatMap { account($0.descriptor) }
        var gone: [PeerID] = []
        if byPeer.updateValue(sender, forKey: peer) != nil { gone.append(peer) }
        if let descriptor = sender.socket?.descriptor {
            let other = byDescriptor.updateValue(sender, forKey: descriptor)
            if let other, other.id != peer, byPeer[other.id] === other {
                byPeer.removeValue(forKey: other.id)
                gone.append(other.id)
            }
        }
        return (sender, gone)
    }

    /// Asks what the key of a new connection allows; one that is not admitted any more is cut at once.
    mutating func judge(_ sender: Peer, _ standing: (PublicKey) -> AgentRegister.Standing) {
        sender.right = sender.key.flatMap { Self.right(standing($0)) }
        guard sender.right == nil else { return }
        sender.endsAt = 0
        leaving.append(sender)
    }

    /// Asks again what keys allow.
    /// - Returns: the connections for which it is something else now.
    func follow(_ standing: (PublicKey) -> AgentRegister.Standing) -> [Change] {
        byPeer.values.compactMap { sender in
            guard let key = sender.key else { return nil }
            let standing = standing(key)
            let right = Self.right(standing)
            guard sender.right != right else { return nil }
            sender.right = right
            switch standing {
            case .authorized(let now):
                return Change(sender: sender, text: "the key \(now.name) has changed")
            case .enrolling(let now):
                return Change(sender: sender, text: "the key \(now.name) is for enrolment alone")
            case .expired(let name):
                return Change(sender: sender, text: "the time to enrol \(name) is over")
            case .revoked(let name):
                return Change(sender: sender, text: "the key \(name) is revoked")
            case .unknown:
                return Change(
                    sender: sender, text: "the key \(key.shortText) is not authorised any more")
            }
        }
    }

    /// A connection is not heard any more, and cut soon.
    mutating func dismiss(_ peer: PeerID, now: Int64) {
        guard let sender = byPeer[peer] else { return }
        dismiss(sender, at: now + Self.farewellNanoseconds)
    }

    /// A connection is cut as soon as may be.
    mutating func cut(_ sender: Peer) { dismiss(sender, at: 0) }

    /// A connection is to be cut at a time.
    private mutating func dismiss(_ sender: Peer, at time: Int64) {
        guard sender.endsAt == nil else { return }
        sender.endsAt = time
        // What it has sent already, its credit's worth at most, is read for as long as it has to read why.
        sender.farewellBytes =
            max(1, sender.account?.sources ?? 0) * Int(WireLimits.creditWindowBytes)
        leaving.append(sender)
    }

    /// A message of so many bytes has come over a connection.
    mutating func took(_ bytes: Int, from sender: Peer) {
        sender.account?.took(bytes)
        guard sender.endsAt != nil else { return }
        sender.farewellBytes -= min(bytes, sender.farewellBytes)
        if sender.farewellBytes == 0 { sender.endsAt = 0 }
    }

    /// A connection has asked for the time.
    /// - Returns: whether it may; otherwise it is cut at once.
    mutating func mayAskForTime(_ sender: Peer, now: Int64) -> Bool {
        if sender.probes.take(now: now) { return true }
        dismiss(sender, at: 0)
        return false
    }

    /// An agent with so many sources is welcome on the connection of a peer.
    /// - Returns: the connection, and whether it greets too often, and is cut at once; nil when it is gone.
    mutating func welcomed(
        _ peer: PeerID, sources: Int, now: Int64
    ) -> (sender: Peer, isTooOften: Bool)? {
        guard let sender = byPeer[peer] else { return nil }
        sender.account?.welcomed(sources: sources)
        if sender.welcomes.take(now: now) { return (sender, false) }
        dismiss(sender, at: 0)
        return (sender, true)
    }

    /// Ends connections whose time has come.
    mutating func cutOff(now: Int64) {
        guard !leaving.isEmpty else { return }
        for sender in leaving where sender.endsAt.map({ now >= $0 }) == true {
            sender.socket?.shutDown()
            forget(sender)
        }
        leaving.removeAll { $0.endsAt.map { now >= $0 } == true }
    }

    private mutating func forget(_ sender: Peer) {
        if byPeer[sender.id] === sender { byPeer.removeValue(forKey: sender.id) }
        if let descriptor = sender.socket?.descriptor, byDescriptor[descriptor] === sender {
            byDescriptor.removeValue(forKey: descriptor)
        }
    }

    private static func right(_ standing: AgentRegister.Standing) -> WritingRight? {
        switch standing {
        case .authorized(let authorization), .enrolling(let authorization): authorization.right
        case .revoked, .expired, .unknown: nil
        }
    }
}
