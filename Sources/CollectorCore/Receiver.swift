import Glibc
import Messaging
import Wire

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
    private let wakeUpToken: Poller.Token
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
            endpoint = PeerAddresses.withoutMapping(try socket.lastEndpoint())
            _ = poller.add(socket)
            wakeUpToken = poller.add(descriptor: wakeUp.descriptor)
            self.socket = socket
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
    }

    /// Blocks until a message or a wake-up is there, or the time is over.
    /// - Returns: whether another thread has asked for attention.
    mutating func wait(milliseconds: Int) throws(MessagingError) -> Bool {
        try poller.wait(milliseconds: milliseconds) && poller.isReadable(wakeUpToken)
            && wakeUp.drain()
    }

    /// Takes in what has arrived, a turn's worth at most. Clock probes are answered here and now: nothing else that the
    /// collector does delays them.
    mutating func takeIn(_ inbox: inout Inbox) throws(MessagingError) {
        for _ in 0..<Self.messagesPerTurn {
            guard let message = try next() else { return }
            if let reply = message.clockReply() {
                _ = try send(reply, to: message.peer)
            } else {
                inbox.append(message)
            }
        }
    }

    private func next() throws(MessagingError) -> AgentMessage? {
        while let message = try socket.receive(maximumParts: Self.partsPerMessage) {
            let parts = message.parts
            // A DEALER cannot send less; what has no header is nobody's message.
            guard parts.count > 1 else { continue }
            return AgentMessage(
                sender: parts[0], header: parts[1], payload: parts.count > 2 ? parts[2] : nil,
                extraParts: message.droppedParts,
                arrivedNanoseconds: Instant.nanoseconds(CLOCK_MONOTONIC))
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
