import CZeroMQ
import Synchronization

/// What happens to a socket's connections.
package enum ConnectionEvent: Hashable, Sendable {
    /// TCP is connected; ZMTP has not greeted yet.
    case connected(endpoint: String)
    /// A listener accepted a connection. The descriptor is libzmq's: to look at, or to shut down, never to close.
    case accepted(endpoint: String, descriptor: Int32)
    /// ZMTP has greeted: messages flow.
    case ready(endpoint: String)
    /// ZMTP's greeting failed.
    case handshakeFailed(endpoint: String, HandshakeFailure)
    /// Nobody there; the next attempt comes after the interval.
    case retrying(endpoint: String, milliseconds: Int32)
    /// The connection is gone. The number is what its descriptor was.
    case disconnected(endpoint: String, descriptor: Int32)
    /// Another event (the number is libzmq's).
    case other(UInt16, endpoint: String)
}

/// Why ZMTP's greeting failed.
package enum HandshakeFailure: Hashable, Sendable {
    /// The listening end does not admit our key (ZAP's status).
    case refused(status: Int32)
    /// One end wants keys and the other does not.
    case securityMismatch
    /// What was said cannot be read with the keys that are there.
    case wrongKey
    /// The peer broke off (its errno), as one does that finds no key of its own in what it was sent.
    case brokenOff(errno: Int32)
    /// Not ZMTP, or not as it should be (libzmq's number).
    case protocolError(code: Int32)
}

/// Listens to the events of one socket (zmq_socket_monitor). Belongs to the thread that polls it.
package struct ConnectionMonitor: ~Copyable {
    private let socket: Socket
    /// Kept alive until it has stopped reporting.
    private let monitored: Socket.Owner

    /// For the poller.
    var handle: UnsafeMutableRawPointer { socket.handle }

    /// Begins to listen; make it before the socket binds or connects. The socket stays open as long as this is there.
    package init(of monitored: borrowing Socket, in context: Context) throws(MessagingError) {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let endpoint = "inproc://monitor-\(number)"
        var options = SocketOptions()
        // libzmq's own threads would wait for room in a full queue.
        options.receiveQueue = 0
        let listener = try Socket(.pair, in: context, options: options)
        guard zmq_socket_monitor(monitored.handle, endpoint, ZMQ_EVENT_ALL) == 0 else {
            throw .last("monitor", "a socket")
        }
        try listener.connect(endpoint)
        socket = listener
        self.monitored = monitored.owner
    }

    deinit {
        // Events without a reader would block the threads that report them.
        zmq_socket_monitor(monitored.handle, nil, 0)
    }

    /// The next event; nil when none is waiting. Never blocks.
    package func nextEvent() throws(MessagingError) -> ConnectionEvent? {
        guard let message = try socket.receive(maximumParts: 2), let head = message.parts.first,
            head.count >= 6
        else { return nil }
        // 16 bits of event and 32 bits of value in this machine's byte order.
        let (event, value) = head.withUnsafeBytes {
            (
                $0.loadUnaligned(fromByteOffset: 0, as: UInt16.self),
                $0.loadUnaligned(fromByteOffset: 2, as: Int32.self)
            )
        }
        let endpoint = message.parts.dropFirst().first.map {
            String(decoding: $0.bytes, as: UTF8.self)
        }
        return Self.event(event, value: value, endpoint: endpoint ?? "")
    }

    private static func event(
        _ event: UInt16, value: Int32, endpoint: String
    ) -> ConnectionEvent {
        switch Int32(event) {
        case ZMQ_EVENT_CONNECTED: .connected(endpoint: endpoint)
        case ZMQ_EVENT_ACCEPTED: .accepted(endpoint: endpoint, descriptor: value)
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: .ready(endpoint: endpoint)
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            .handshakeFailed(endpoint: endpoint, .refused(status: value))
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            .handshakeFailed(endpoint: endpoint, .brokenOff(errno: value))
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            .handshakeFailed(endpoint: endpoint, failure(ofProtocol: value))
        case ZMQ_EVENT_CONNECT_RETRIED: .retrying(endpoint: endpoint, milliseconds: value)
        case ZMQ_EVENT_DISCONNECTED: .disconnected(endpoint: endpoint, descriptor: value)
        default: .other(event, endpoint: endpoint)
        }
    }

    private static func failure(ofProtocol code: Int32) -> HandshakeFailure {
        switch code {
        case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: .securityMismatch
        case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC, ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE: .wrongKey
        default: .protocolError(code: code)
        }
    }

    /// Names for the pipes: inproc endpoints are shared by a whole context.
    private static let counter = Atomic<Int>(0)
}
