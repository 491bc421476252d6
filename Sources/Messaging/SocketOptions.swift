import CZeroMQ

/// What a socket is set to before it binds or connects. Durations in milliseconds, as libzmq has them.
package struct SocketOptions: Hashable, Sendable {
    /// How long unsent messages survive the socket; 0 drops them at once.
    package var lingerMilliseconds: Int32 = 0
    /// A larger part ends the connection that it came over; -1: no limit.
    package var maximumPartBytes: Int64 = -1
    /// Messages that wait to be received, per connection; 0: no limit.
    package var receiveQueue: Int32 = 1_000
    /// Messages that wait to be sent, per connection; 0: no limit.
    package var sendQueue: Int32 = 1_000
    /// Whether messages are queued for finished connections only.
    package var sendsOnlyWhenConnected = false
    /// Pause before connecting again; -1: never connects again by itself.
    package var reconnectMilliseconds: Int32 = 100
    /// The pause doubles up to this one; 0: it stays.
    package var reconnectMaximumMilliseconds: Int32 = 0
    /// How long ZMTP's greeting may take.
    package var handshakeMilliseconds: Int32 = 30_000
    /// ZMTP's own heartbeats: how often; 0: none.
    package var heartbeatMilliseconds: Int32 = 0
    /// How long an answer to one may take.
    package var heartbeatTimeoutMilliseconds: Int32 = 0
    /// Whether TCP probes idle connections.
    package var probesIdleConnections = false
    /// Whether IPv6 addresses are understood (IPv4 ones stay so).
    package var understandsIPv6 = true
    /// ROUTER: whether sending to a peer that is gone says so, instead of dropping the message.
    package var reportsUnreachablePeers = false
    /// ROUTER: whether a peer that takes another's routing identity gets its place; refused otherwise.
    package var handsOverIdentities = false
    /// Who may connect, and who may read what is sent.
    package var security = SocketSecurity.plain

    package init() {}

    /// Sets everything on a new socket.
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
        try Self.set(ZMQ_MAXMSGSIZE, to: maximumPartBytes, named: "the largest part", on: handle)
        switch kind {
        case .router:
            try Self.set(
                ZMQ_ROUTER_MANDATORY, to: reportsUnreachablePeers ? Int32(1) : 0,
                named: "mandatory routing", on: handle)
            try Self.set(
                ZMQ_ROUTER_HANDOVER, to: handsOverIdentities ? Int32(1) : 0,
                named: "identity handover", on: handle)
        case .dealer, .pair, .reply: break
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
