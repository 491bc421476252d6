import CZeroMQ

/// The settings of a socket before it binds or connects. Durations are in milliseconds, as in libzmq.
package struct SocketOptions: Hashable, Sendable {
    /// Time for which unsent messages are kept after the socket is closed. Never 0 where messages of several parts are sent:
    /// if the connection breaks while such a socket is closed within a message, libzmq 4.3.4 aborts the program
    /// (`session_base.cpp:260`). Shorter than ``reconnectMilliseconds``, so that they cannot reach a peer that comes back.
    package var lingerMilliseconds: Int32 = 50
    /// A larger part closes its connection; -1: no limit.
    package var maximumPartBytes: Int64 = -1
    /// Maximum received messages in the queue, per connection; 0: no limit.
    package var receiveQueue: Int32 = 1_000
    /// Maximum unsent messages in the queue, per connection; 0: no limit.
    package var sendQueue: Int32 = 1_000
    /// Whether messages are only queued for established connections.
    package var sendsOnlyWhenConnected = false
    /// Pause before reconnecting; -1: never reconnects automatically.
    package var reconnectMilliseconds: Int32 = 100
    /// Maximum to which the pause doubles; 0: it is constant.
    package var reconnectMaximumMilliseconds: Int32 = 0
    /// Timeout of the ZMTP handshake.
    package var handshakeMilliseconds: Int32 = 30_000
    /// Interval of ZMTP heartbeats; 0: none.
    package var heartbeatMilliseconds: Int32 = 0
    /// Timeout of the answer to a heartbeat.
    package var heartbeatTimeoutMilliseconds: Int32 = 0
    /// Sent with heartbeats: the peer closes the connection after this time without a message from this side; 0: never.
    package var heartbeatLifetimeMilliseconds: Int32 = 0
    /// Whether TCP probes idle connections.
    package var probesIdleConnections = false
    /// A peer that acknowledges or reads nothing for this long is disconnected; 0: the system's default.
    package var unreadMilliseconds: Int32 = 0
    /// Whether IPv6 is supported in addition to IPv4.
    package var understandsIPv6 = true
    /// ROUTER: whether sending to a disconnected peer is reported, instead of dropping the message.
    package var reportsUnreachablePeers = false
    /// ROUTER: whether a peer that uses another's routing identity replaces it; it is refused otherwise.
    package var handsOverIdentities = false
    /// Publisher: whether every subscription is reported, also to a topic that another peer has subscribed to.
    package var reportsEverySubscription = false
    /// Authentication and encryption.
    package var security = SocketSecurity.plain

    package init() {}

    /// Sets all options on a new socket.
    func apply(to handle: UnsafeMutableRawPointer, kind: Socket.Kind) throws(MessagingError) {
        let numbers: [(Int32, Int32, String)] = [
            (ZMQ_LINGER, lingerMilliseconds, "linger"),
            (ZMQ_RCVHWM, receiveQueue, "the receive queue's length"),
            (ZMQ_SNDHWM, sendQueue, "the send queue's length"),
            (ZMQ_IMMEDIATE, sendsOnlyWhenConnected ? 1 : 0, "queueing"),
            (ZMQ_RECONNECT_IVL, reconnectMilliseconds, "the reconnect interval"),
            (ZMQ_RECONNECT_IVL_MAX, reconnectMaximumMilliseconds, "the longest interval"),
            (ZMQ_HANDSHAKE_IVL, handshakeMilliseconds, "the handshake's time"),
            (ZMQ_HEARTBEAT_IVL, heartbeatMilliseconds, "the heartbeat interval"),
            (ZMQ_TCP_MAXRT, unreadMilliseconds, "the time to be read"),
            (ZMQ_IPV6, understandsIPv6 ? 1 : 0, "IPv6"),
            (ZMQ_TCP_KEEPALIVE, probesIdleConnections ? 1 : -1, "TCP keepalive"),
        ]
        for (option, value, name) in numbers {
            try Self.set(option, to: value, named: name, on: handle)
        }
        if heartbeatTimeoutMilliseconds > 0 {
            try Self.set(
                ZMQ_HEARTBEAT_TIMEOUT, to: heartbeatTimeoutMilliseconds,
                named: "the heartbeat's time", on: handle)
        }
        if heartbeatLifetimeMilliseconds > 0 {
            try Self.set(
                ZMQ_HEARTBEAT_TTL, to: heartbeatLifetimeMilliseconds,
                named: "the heartbeat's lifetime", on: handle)
        }
        try Self.set(ZMQ_MAXMSGSIZE, to: maximumPartBytes, named: "the largest part", on: handle)
        switch kind {
        case .router:
            try Self.set(
                ZMQ_ROUTER_MANDATORY, to: reportsUnreachablePeers ? Int32(1) : 0,
                named: "mandatory routing", on: handle)
            try Self.set(
                ZMQ_ROUTER_HANDOVER, to: handsOverIdentities ? Int32(1) : 0,
                named: "identity handover", on: handle)
        case .publisher:
            try Self.set(
                ZMQ_XPUB_VERBOSE, to: reportsEverySubscription ? Int32(1) : 0,
                named: "reports of subscriptions", on: handle)
        case .dealer, .pair, .reply, .subscriber: break
        }
        try security.apply(to: handle)
    }

    private static func set<Value: BitwiseCopyable>(
        _ option: Int32, to value: Value, named name: String, on handle: UnsafeMutableRawPointer
    ) throws(MessagingError) {
        let result = withUnsafeBytes(of: value) {
            zmq_setsockopt(handle, option, $0.baseAddress, $0.count)
        }
        guard result == 0 else { throw .last("set", name) }
    }
}
