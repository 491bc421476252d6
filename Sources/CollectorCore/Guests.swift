import Messaging
import Trust
import Wire

/// Who is at the other end of a connection. Belongs to the receiving thread.
final class Guest {
    /// Tells this connection from another one that comes under the same routing identity.
    fileprivate let connection: UnsafeRawPointer?
    /// Keeps that mark from being used again.
    private let kept: ReceivedPart?
    let peer: PeerID
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
            perSecond: Guests.welcomesPerSecond, burst: Guests.welcomeBurst, now: now)
        probes = TokenBucket(
            perSecond: WireLimits.clockProbesPerSecond, burst: WireLimits.clockProbeBurst, now: now)
        self.number = number
        // What is larger gets its sender refused, who is not heard then: nobody could profit from the mix-up.
        kept = header.count <= WireLimits.headerBytes ? header : nil
        connection = header.connection
        self.peer = peer
        address = PeerAddress.of(header)
        key = hasKeys ? header.metadata("User-Id").flatMap(Self.key) : nil
        socket = header.descriptor.flatMap { PeerSocket(descriptor: $0) }
    }

    /// What the door has called a connection; nil when that is no key, so that the connection is not admitted.
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
struct Guests {
    /// What a connection may do is not what it was.
    struct Change {
        var guest: Guest
        /// Why it may do nothing any more.
        var text: String
    }

    /// A peer that was refused has this long to read why.
    private static let farewellNanoseconds: Int64 = 2_000_000_000
    /// Welcomes of one connection in a second, and at once: an agent greets once, and each greeting is a line in the log.
    static let welcomesPerSecond: Int64 = 1
    static let welcomeBurst: Int64 = 10

    private var byPeer: [PeerID: Guest] = [:]
    private var byDescriptor: [Int32: Guest] = [:]
    private var leaving: [Guest] = []
    private var count: UInt32 = 0

    /// The sender of a message, if it is known.
    func known(sending header: ReceivedPart, peer: PeerID) -> Guest? {
        guard let guest = byPeer[peer], guest.connection == header.connection else { return nil }
        return guest
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
    ) -> (guest: Guest, gone: [PeerID]) {
        count &+= 1
        let guest = Guest(header, peer: peer, number: count, hasKeys: hasKeys, now: now)
        guest.account = guest.socket.flatMap { account($0.descriptor) }
        var gone: [PeerID] = []
        if byPeer.updateValue(guest, forKey: peer) != nil { gone.append(peer) }
        if let descriptor = guest.socket?.descriptor {
            let other = byDescriptor.updateValue(guest, forKey: descriptor)
            if let other, other.peer != peer, byPeer[other.peer] === other {
                byPeer.removeValue(forKey: other.peer)
                gone.append(other.peer)
            }
        }
        return (guest, gone)
    }

    /// Asks what the key of a new connection allows; one that is not admitted any more is cut at once.
    mutating func judge(_ guest: Guest, _ standing: (PublicKey) -> AgentRegister.Standing) {
        guest.right = guest.key.flatMap { Self.right(standing($0)) }
        guard guest.right == nil else { return }
        guest.endsAt = 0
        leaving.append(guest)
    }

    /// Asks again what keys allow.
    /// - Returns: the connections for which it is something else now.
    func follow(_ standing: (PublicKey) -> AgentRegister.Standing) -> [Change] {
        byPeer.values.compactMap { guest in
            guard let key = guest.key else { return nil }
            let standing = standing(key)
            let right = Self.right(standing)
            guard guest.right != right else { return nil }
            guest.right = right
            switch standing {
            case .authorized(let now):
                return Change(guest: guest, text: "the key \(now.name) has changed")
            case .enrolling(let now):
                return Change(guest: guest, text: "the key \(now.name) is for enrolment alone")
            case .expired(let name):
                return Change(guest: guest, text: "the time to enrol \(name) is over")
            case .revoked(let name): return Change(guest: guest, text: "the key \(name) is revoked")
            case .unknown:
                return Change(
                    guest: guest, text: "the key \(key.shortText) is not authorised any more")
            }
        }
    }

    /// A connection is not heard any more, and cut soon.
    mutating func dismiss(_ peer: PeerID, now: Int64) {
        guard let guest = byPeer[peer] else { return }
        dismiss(guest, at: now + Self.farewellNanoseconds)
    }

    /// A connection is cut as soon as may be.
    mutating func cut(_ guest: Guest) { dismiss(guest, at: 0) }

    /// A connection is to be cut at a time.
    private mutating func dismiss(_ guest: Guest, at time: Int64) {
        guard guest.endsAt == nil else { return }
        guest.endsAt = time
        // What it has sent already, its credit's worth at most, is read for as long as it has to read why.
        guest.farewellBytes =
            max(1, guest.account?.sources ?? 0) * Int(WireLimits.creditWindowBytes)
        leaving.append(guest)
    }

    /// A message of so many bytes has come over a connection.
    mutating func took(_ bytes: Int, from guest: Guest) {
        guest.account?.took(bytes)
        guard guest.endsAt != nil else { return }
        guest.farewellBytes -= min(bytes, guest.farewellBytes)
        if guest.farewellBytes == 0 { guest.endsAt = 0 }
    }

    /// A connection has asked for the time.
    /// - Returns: whether it may; otherwise it is cut at once.
    mutating func mayAskForTime(_ guest: Guest, now: Int64) -> Bool {
        if guest.probes.take(now: now) { return true }
        dismiss(guest, at: 0)
        return false
    }

    /// An agent with so many sources is welcome on the connection of a peer.
    /// - Returns: the connection, and whether it greets too often, and is cut at once; nil when it is gone.
    mutating func welcomed(
        _ peer: PeerID, sources: Int, now: Int64
    ) -> (guest: Guest, isTooOften: Bool)? {
        guard let guest = byPeer[peer] else { return nil }
        guest.account?.welcomed(sources: sources)
        if guest.welcomes.take(now: now) { return (guest, false) }
        dismiss(guest, at: 0)
        return (guest, true)
    }

    /// Ends connections whose time has come.
    mutating func cutOff(now: Int64) {
        guard !leaving.isEmpty else { return }
        for guest in leaving where guest.endsAt.map({ now >= $0 }) == true {
            guest.socket?.shutDown()
            forget(guest)
        }
        leaving.removeAll { $0.endsAt.map { now >= $0 } == true }
    }

    private mutating func forget(_ guest: Guest) {
        if byPeer[guest.peer] === guest { byPeer.removeValue(forKey: guest.peer) }
        if let descriptor = guest.socket?.descriptor, byDescriptor[descriptor] === guest {
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
