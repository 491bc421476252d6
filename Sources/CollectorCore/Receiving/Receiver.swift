import CollectorClient
import Glibc
import Logging
import Media
import Messaging
import Operations
import Trust
import Wire

/// The collector's socket. Owned by the receiving thread.
struct Receiver: ~Copyable {
    /// Identity, and header and payload of each record.
    private static let partsPerMessage = 1 + 2 * WireLimits.recordsPerMessage
    /// Identity, header and payload: a message that does not consist of several records.
    private static let usualParts = 3
    /// Surplus parts of a message that are tolerated: the sender of a few is notified of its mistake; a hundred
    /// thousand would keep a core busy.
    private static let surplusParts = 64
    /// Messages queued per agent. Credit bounds the bytes of a legitimate agent; this limit and the maximum size of a
    /// part bound those of any other.
    private static let queuedMessages: Int32 = 64
    /// Messages per turn, after which other work runs.
    static let messagesPerTurn = 256
    /// Connection events per turn: each costs tens of microseconds when thousands occur.
    private static let eventsPerTurn = 256

    private let socket: Socket
    private var poller = Poller()
    private let wakeUp: WakeUp
    private let wakeUpToken: Poller.Token
    private let authenticator: KeyAuthenticator?
    private let wireRecorder: WireRecorder?
    private var tracker: ConnectionTracker
    private let trackerToken: Poller.Token
    private let watch: IntakeWatch
    private let counters: RefusalCounters
    private var peers = Peers()
    /// Sent in clock replies: see ``ClockReply/releaseSeconds``.
    var releaseSeconds: UInt32 = 0
    /// Sent in clock replies: see ``ClockReply/clock``.
    private let clock = BootEpoch.known()
    /// The endpoint with the actual port.
    let endpoint: String

    /// - Parameters:
    ///   - authenticator: authenticates agents, open in `context`; nil: no authentication.
    ///   - wireRecorder: receives everything that arrives; nil: none.
    ///   - counters: counts refusals.
    ///   - watch: closes connections that send too much.
    init(
        settings: CollectorSettings, context: Context, authenticator: KeyAuthenticator?,
        wireRecorder: WireRecorder?,
        counters: RefusalCounters, watch: IntakeWatch, wakeUp: WakeUp, logger: Logger
    ) throws(CollectorError) {
        self.wakeUp = wakeUp
        self.watch = watch
        self.counters = counters
        self.authenticator = authenticator
        self.wireRecorder = wireRecorder
        do throws(MessagingError) {
            var options = SocketOptions()
            options.maximumPartBytes = Int64(
                max(WireLimits.payloadBytes, WireLimits.headerBytes))
            options.receiveQueue = Self.queuedMessages
            options.handshakeMilliseconds = 5_000
            options.probesIdleConnections = true
            options.reportsUnreachablePeers = true
            // Messages to agents (the last acknowledgement) are delivered after the socket is closed.
            options.lingerMilliseconds = 1_000
            if let keys = settings.keys { options.security = .server(keys.key) }
            let socket = try Socket(.router, in: context, options: options)
            let tracker = try ConnectionTracker(
                of: socket, in: context, counters: counters, watch: watch, logger: logger)
            try socket.bind(settings.endpoint)
            endpoint = PeerAddress.withoutMapping(try socket.lastEndpoint())
            _ = poller.add(socket)
            wakeUpToken = poller.add(descriptor: wakeUp.descriptor)
            trackerToken = tracker.watch(with: &poller)
            self.tracker = tracker
            self.socket = socket
        } catch {
            throw .cannotListen(endpoint: settings.endpoint, reason: "\(error)")
        }
    }

    /// Blocks until a message or a wake-up arrives, or the timeout expires.
    /// - Returns: whether another thread has requested a wake-up.
    mutating func wait(milliseconds: Int) throws(MessagingError) -> Bool {
        guard try poller.wait(milliseconds: milliseconds) else { return false }
        if poller.isReadable(trackerToken) { try tracker.follow(atMost: Self.eventsPerTurn) }
        return poller.isReadable(wakeUpToken) && wakeUp.drain()
    }

    /// Receives pending messages, at most a turn's worth. Clock probes are answered immediately: no other work of the
    /// collector delays them.
    mutating func takeIn(_ inbox: inout Inbox) throws(MessagingError) {
        for _ in 0..<Self.messagesPerTurn where !inbox.isLarge {
            guard let received = try socket.receive(maximumParts: Self.partsPerMessage) else {
                watch.drained()
                return
            }
            guard let message = try message(received, &inbox) else { continue }
            if let reply = message.clockReply(
                releaseSeconds: releaseSeconds, clock: clock)
            {
                wireRecorder?.take(message)
                try answer(message, reply)
                continue
            }
            if let socket = message.sender.socket {
                tracker.heard(socket.descriptor, now: message.arrivedNanoseconds)
            }
            for record in message.records(in: received) {
                wireRecorder?.take(record)
                inbox.append(record)
            }
        }
    }

    /// Answers a clock probe, unless the sender probes too often.
    private mutating func answer(
        _ probe: AgentMessage, _ reply: [UInt8]
    ) throws(MessagingError) {
        let now = probe.arrivedNanoseconds
        guard peers.mayAskForTime(probe.sender, now: now) else {
            tracker.overflowed(
                probe.sender.address,
                "closed a connection that sent more than \(WireLimits.clockProbesPerSecond) clock probes a second",
                now: now)
            return
        }
        _ = try socket.send(.bytes(probe.sender.id.bytes), .bytes(reply))
        if let socket = probe.sender.socket {
            tracker.askedForTime(socket.descriptor, now: now)
        }
    }

    /// A message with its sender; nil when the sender is unknown or has been refused.
    private mutating func message(
        _ received: ReceivedMessage, _ inbox: inout Inbox
    ) throws(MessagingError) -> AgentMessage? {
        let parts = received.parts
        // A DEALER always sends an identity and a header; a message without a header is dropped.
        guard parts.count > 1 else { return nil }
        let peer = PeerID(parts[0].bytes)
        let known = peers.known(sending: parts[1], peer: peer)
        let now = SystemClock.monotonic.nowNanoseconds
        let sender = if let known { known } else { try welcome(parts[1], peer, &inbox, now: now) }
        peers.took(received.wireBytes, from: sender)
        guard sender.endsAt == nil else { return nil }
        let surplus = max(0, parts.count - Self.usualParts) + received.droppedParts
        guard received.hasSeveralRecords || surplus <= Self.surplusParts else {
            peers.cut(sender)
            tracker.overflowed(
                sender.address,
                "closed a connection that sent a message of \(received.parts.count + received.droppedParts) parts",
                now: now)
            return nil
        }
        return AgentMessage(
            sender: sender, header: parts[1], payload: parts.count > 2 ? parts[2] : nil,
            extraParts: surplus, arrivedNanoseconds: now)
    }

    /// A connection sends its first message.
    private mutating func welcome(
        _ header: ReceivedPart, _ peer: PeerID, _ inbox: inout Inbox, now: Int64
    ) throws(MessagingError) -> Peer {
        // The connection may have been accepted since the last poll of events: it has to be registered before its
        // message counts.
        try tracker.follow()
        let (sender, gone) = peers.welcome(
            header, peer: peer, hasKeys: authenticator != nil, now: now, account: watch.account)
        for peer in gone { inbox.appendGone(peer) }
        // The key may have been revoked between the handshake and now.
        guard let authenticator else { return sender }
        if let standing = peers.judge(sender, authenticator.standing(of:)) {
            counters.add(ConnectionRefusal(standing))
        }
        if let socket = sender.socket, let key = peers.key(of: peer), let right = sender.right {
            tracker.proved(socket.descriptor, key: key.text, right: right, now: now)
        }
        return sender
    }

    /// Requests that a box's own key replaces the one-time key of its connection.
    mutating func enrol(_ peer: PeerID, _ enrol: Enrol) {
        // Without an authenticator there are no keys, and the protocol has already refused; a peer that is gone needs no answer.
        guard let authenticator, let token = peers.key(of: peer) else { return }
        authenticator.enrol(KeyAuthenticator.Enrolment(peer: peer, token: token, enrol: enrol))
    }

    /// The results of enrolments.
    func takeEnrolled() -> [(peer: PeerID, outcome: CollectorLink.EnrolmentOutcome)] {
        authenticator?.takeEnrolled() ?? []
    }

    /// See ``Peers/sender(_:)``.
    func sender(_ peer: PeerID) -> Peer? { peers.sender(peer) }

    /// The register of keys, if its files have changed; to be applied with ``follow(_:now:)``.
    func takeRegister() -> AgentRegister? { authenticator?.takeChange() }

    /// Applies changes of the key files to connected peers.
    mutating func follow(_ register: AgentRegister, now: Int64) -> [Peers.Change] {
        let seconds = KeyAuthenticator.now()
        let changes = peers.follow { register.standing(of: $0, now: seconds) }
        for change in changes where change.sender.right == nil {
            peers.dismiss(change.sender.id, now: now)
            counters.add(ConnectionRefusal(change.standing))
        }
        return changes
    }

    /// Ignores a refused peer from now on, and closes it soon.
    mutating func dismiss(_ peer: PeerID, now: Int64) { peers.dismiss(peer, now: now) }

    /// Closes the connections that are past their deadline.
    mutating func cutOff(now: Int64) {
        peers.cutOff(now: now)
        tracker.cutOff(now: now)
    }

    /// Sends a header to an agent.
    /// - Returns: false: the agent has disconnected.
    mutating func send(_ header: [UInt8], to peer: PeerID) throws(MessagingError) -> Bool {
        if WireMessage.mayWelcome(header) { noteWelcome(header, to: peer) }
        switch try socket.send(.bytes(peer.bytes), .bytes(header)) {
        case .sent, .wouldBlock: return true
        case .unreachable: return false
        }
    }

    /// From its Welcome on, an agent may have as many bytes in flight as its credit.
    private mutating func noteWelcome(_ header: [UInt8], to peer: PeerID) {
        do throws(WireError) {
            let now = SystemClock.monotonic.nowNanoseconds
            guard case .welcome(let welcome) = try WireMessage(decoding: header),
                let (sender, isTooOften) = peers.welcomed(
                    peer, sources: welcome.sources.count, now: now)
            else { return }
            if isTooOften {
                tracker.overflowed(
                    sender.address, "closed the connection of an agent that sends Hello too often",
                    now: now)
            } else if let socket = sender.socket {
                tracker.welcomed(socket.descriptor, now: now)
            }
        } catch {
            // Our own message: one that cannot be read is not a Welcome, and its peer stays unknown.
        }
    }
}
