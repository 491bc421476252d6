import Messaging
import Trust
import Wire

/// The remote end of a connection. Belongs to the receiving thread.
final class Peer {
    /// Distinguishes this connection from a later one with the same routing identity.
    fileprivate let connection: UnsafeRawPointer?
    /// Keeps that pointer from being reused.
    private let kept: ReceivedPart?
    let id: PeerID
    /// Connections are numbered from 1, in the order of their first messages.
    let number: UInt32
    let address: String
    /// The key that it has authenticated with; nil where keys are not in use.
    fileprivate let key: PublicKey?
    /// The rights of that key; nil where keys are not in use, and when the key is no longer admitted.
    fileprivate(set) var right: WritingRight?
    let socket: PeerSocket?
    /// When the connection is to be closed; messages until then are ignored.
    fileprivate(set) var endsAt: Int64?
    /// Counts its bytes; nil where that is not possible.
    fileprivate(set) var account: ConnectionByteCounts?
    /// Bytes it may still send before it is closed.
    fileprivate var farewellBytes = 0
    /// Bytes in the inbox, and the inbox's turn in which they were added.
    private var queued: (bytes: Int, turn: UInt64) = (0, 0)
    fileprivate var probes: TokenBucket
    fileprivate var welcomes: TokenBucket

    /// - Parameter hasKeys: whether connections authenticate with keys. Without keys, a peer may set any metadata, "User-Id"
    ///   included.
    fileprivate init(
        _ header: ReceivedPart, peer: PeerID, number: UInt32, hasKeys: Bool, now: Int64
    ) {
        welcomes = TokenBucket(
            perSecond: Peers.welcomesPerSecond, burst: Peers.welcomeBurst, now: now)
        probes = TokenBucket(
            perSecond: WireLimits.clockProbesPerSecond, burst: WireLimits.clockProbeBurst, now: now)
        self.number = number
        // The sender of a larger header is refused and then ignored, so a mix-up could not be exploited.
        kept = header.count <= WireLimits.headerBytes ? header : nil
        connection = header.connection
        id = peer
        address = PeerAddress.of(header)
        key = hasKeys ? header.metadata("User-Id").flatMap(Self.key) : nil
        socket = header.descriptor.flatMap { PeerSocket(descriptor: $0) }
    }

    var queuedBytes: Int { queued.bytes }

    /// Counts bytes that were added to the inbox.
    /// - Returns: their number now.
    func queue(_ bytes: Int, turn: UInt64) -> Int {
        if queued.turn != turn { queued = (0, turn) }
        queued.bytes += bytes
        return queued.bytes
    }

    /// The key in the user ID that the authenticator set for a connection; nil when it is not a key, so that the connection is
    /// not admitted.
    private static func key(_ text: String) -> PublicKey? {
        do throws(TrustError) {
            return try PublicKey(text: text)
        } catch {
            return nil
        }
    }
}

/// The connections that have sent something. The metadata of each is read from libzmq once.
///
/// A routing identity is chosen by the peer, and another peer may use it as soon as the connection is closed. The
/// rights of the first must not apply to the second, so each message is checked to have arrived over the same
/// connection. A closed connection is removed when its descriptor is reused, so there are never more entries than
/// descriptors.
struct Peers {
    /// The rights of a connection have changed.
    struct Change {
        var sender: Peer
        /// Its current permissions.
        var standing: AgentRegister.Standing
        /// Why it has no rights any more.
        var text: String
    }

    /// A refused peer has this long to read the reason.
    private static let farewellNanoseconds: Int64 = 2_000_000_000
    /// Welcomes of one connection per second, and the burst: an agent sends Hello once, and each Hello is a line in the log.
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

    /// The connection that uses an identity now.
    func sender(_ peer: PeerID) -> Peer? { byPeer[peer] }

    /// The key that a peer has authenticated with; nil when the peer is gone, or where keys are not in use.
    func key(of peer: PeerID) -> PublicKey? { byPeer[peer]?.key }

    /// Registers the sender of a first message.
    /// - Parameters:
    ///   - hasKeys: whether connections authenticate with keys.
    ///   - account: the byte account of the connection with a given descriptor.
    /// - Returns: the new peer, and peers that are gone because it has their identity or their descriptor.
    mutating func welcome(
        _ header: ReceivedPart, peer: PeerID, hasKeys: Bool, now: Int64,
        account: (Int32) -> ConnectionByteCounts?
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

    /// Looks up what the key of a new connection allows; a connection that is no longer admitted is closed at once.
    /// - Returns: why it is closed; nil: it is admitted.
    mutating func judge(
        _ sender: Peer, _ standing: (PublicKey) -> AgentRegister.Standing
    ) -> AgentRegister.Standing? {
        let standing = sender.key.map(standing) ?? .unknown
        sender.right = Self.right(standing)
        guard sender.right == nil else { return nil }
        sender.endsAt = 0
        leaving.append(sender)
        return standing
    }

    /// Looks up the rights of all keys again.
    /// - Returns: the connections whose rights have changed.
    func follow(_ standing: (PublicKey) -> AgentRegister.Standing) -> [Change] {
        byPeer.values.compactMap { sender in
            guard let key = sender.key else { return nil }
            let standing = standing(key)
            let right = Self.right(standing)
            guard sender.right != right else { return nil }
            sender.right = right
            return Change(
                sender: sender, standing: standing, text: Self.text(of: standing, key))
        }
    }

    /// The message to a connected agent about the changed permissions of its key, with what to do.
    private static func text(of standing: AgentRegister.Standing, _ key: PublicKey) -> String {
        switch standing {
        case .authorized(let now): "the key \(now.name) has changed"
        case .enrolling(let now): "the key \(now.name) is for enrolment only"
        case .expired(let name): "the enrolment of \(name) has expired"
        case .revoked(let name):
            "the key \(name) is revoked: 'tributary keys authorize \(name)' on the server admits it again"
        case .unknown:
            "the key \(key.shortText) is no longer authorised: 'tributary keys authorize NAME \(key.text)' on the server "
                + "admits it again"
        }
    }

    /// Ignores a connection from now on, and closes it soon.
    mutating func dismiss(_ peer: PeerID, now: Int64) {
        guard let sender = byPeer[peer] else { return }
        dismiss(sender, at: now + Self.farewellNanoseconds)
    }

    /// Closes a connection as soon as possible.
    mutating func cut(_ sender: Peer) { dismiss(sender, at: 0) }

    /// Schedules the end of a connection.
    private mutating func dismiss(_ sender: Peer, at time: Int64) {
        guard sender.endsAt == nil else { return }
        sender.endsAt = time
        // Data it has already sent, at most its credit, is read while it has time to read the reason.
        sender.farewellBytes =
            max(1, sender.account?.sources ?? 0) * Int(WireLimits.creditWindowBytes)
        leaving.append(sender)
    }

    /// Counts a message.
    mutating func took(_ bytes: Int, from sender: Peer) {
        sender.account?.took(bytes)
        guard sender.endsAt != nil else { return }
        sender.farewellBytes -= min(bytes, sender.farewellBytes)
        if sender.farewellBytes == 0 { sender.endsAt = 0 }
    }

    /// A connection has sent a clock probe.
    /// - Returns: false: it probes too often, and is closed immediately.
    mutating func mayAskForTime(_ sender: Peer, now: Int64) -> Bool {
        if sender.probes.take(now: now) { return true }
        dismiss(sender, at: 0)
        return false
    }

    /// An agent with this many sources has been welcomed on a peer's connection.
    /// - Returns: the connection, and whether it sends Hello too often and is closed immediately; nil when it is gone.
    mutating func welcomed(
        _ peer: PeerID, sources: Int, now: Int64
    ) -> (sender: Peer, isTooOften: Bool)? {
        guard let sender = byPeer[peer] else { return nil }
        sender.account?.welcomed(sources: sources)
        if sender.welcomes.take(now: now) { return (sender, false) }
        dismiss(sender, at: 0)
        return (sender, true)
    }

    /// Closes the connections that are past their deadline.
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
