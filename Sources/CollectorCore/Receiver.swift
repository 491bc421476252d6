import Archive
import Messaging
import Wire

extension ReceivedPart: MediaPayload {
    package var memory: UnsafeRawBufferPointer { withUnsafeBytes { $0 } }
}

/// A message from an agent: its header, and the payload if it has one.
struct AgentMessage: Sendable {
    var peer: PeerID
    var header: ReceivedPart
    var payload: ReceivedPart?
    /// Parts that no message of the protocol has.
    var extraParts: Int

    /// Where it came from, for logs.
    var address: String

    /// As the protocol wants to see it.
    var incoming: IncomingMessage {
        IncomingMessage(
            peer: peer, address: address, header: header.bytes, payloadSizeBytes: payload?.count,
            extraParts: extraParts)
    }

    /// The answer, if this is a clock probe: made before anything else is done, so that nothing delays it.
    func clockReply() -> [UInt8]? {
        header.withUnsafeBytes { bytes in
            guard ClockReply.mayAnswer(bytes) else { return nil }
            let received = Instant.now().monotonic
            return ClockReply.bytes(
                answering: bytes, receivedAt: received, sentAt: Instant.now().monotonic)
        }
    }
}

/// Addresses of peers: libzmq makes a string of one for every message that asks.
private struct Addresses {
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
}

/// The collector's socket. Owned by the receiving thread.
struct Receiver: ~Copyable {
    /// Identity, header, payload.
    private static let partsPerMessage = 3
    /// Messages that wait per agent. Its credit bounds the bytes of an honest agent; this and the size of a part bound
    /// those of any other.
    private static let queuedMessages: Int32 = 64
    /// After so many messages other work gets its turn.
    static let messagesPerTurn = 256

    private let socket: Socket
    private var poller = Poller()
    private let wakeUp: WakeUp
    private var addresses = Addresses()
    /// Where it really listens.
    let endpoint: String

    init(settings: CollectorSettings, wakeUp: WakeUp) throws(CollectorError) {
        self.wakeUp = wakeUp
        do throws(MessagingError) {
            var options = SocketOptions()
            options.maximumPartBytes = Int64(
                max(WireLimits.payloadBytes, WireLimits.headerBytes))
            options.receiveQueue = Self.queuedMessages
            options.handshakeMilliseconds = 5_000
            options.probesIdleConnections = true
            options.reportsUnreachablePeers = true
            // What has been said to agents (the last acknowledgement) reaches them after the end.
            options.lingerMilliseconds = 1_000
            let socket = try Socket(.router, in: Context(), options: options)
            try socket.bind(settings.endpoint)
            endpoint = withoutMapping(try socket.lastEndpoint())
            _ = poller.add(socket)
            _ = poller.add(descriptor: wakeUp.descriptor)
            self.socket = socket
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
    }

    /// Blocks until a message or a wake-up is there, or the time is over.
    mutating func wait(milliseconds: Int) throws(MessagingError) {
        _ = try poller.wait(milliseconds: milliseconds)
        wakeUp.drain()
    }

    /// The next message, if one is there.
    mutating func next() throws(MessagingError) -> AgentMessage? {
        while let message = try socket.receive(maximumParts: Self.partsPerMessage) {
            let parts = message.parts
            // A DEALER cannot send less; what has no header is nobody's message.
            guard parts.count > 1 else { continue }
            let peer = PeerID(parts[0].bytes)
            return AgentMessage(
                peer: peer, header: parts[1], payload: parts.count > 2 ? parts[2] : nil,
                extraParts: message.droppedParts,
                address: addresses.address(of: peer, header: parts[1]))
        }
        return nil
    }

    /// Sends a header to an agent.
    /// - Returns: whether the agent is still there.
    func send(_ header: [UInt8], to peer: PeerID) throws(MessagingError) -> Bool {
        switch try socket.send(.bytes(peer.bytes), .bytes(header)) {
        case .sent, .wouldBlock: true
        case .unreachable: false
        }
    }
}

/// An IPv4 address as people know it: a socket that understands both writes it as `::ffff:10.0.0.1`.
private func withoutMapping(_ address: String) -> String {
    let plain = address.replacing("[::ffff:", with: "").replacing("::ffff:", with: "")
    return plain == address ? address : plain.replacing("]", with: "")
}
