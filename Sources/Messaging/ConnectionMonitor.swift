import CZeroMQ
import Synchronization

/// An event of a socket's connections.
package enum ConnectionEvent: Hashable, Sendable {
    /// TCP is connected; the ZMTP handshake is pending.
    case connected(endpoint: String)
    /// A listener accepted a connection. libzmq owns the descriptor: it may be inspected or shut down, but never closed.
    case accepted(endpoint: String, descriptor: Int32)
    /// The ZMTP handshake is complete: messages can be exchanged.
    case ready(endpoint: String)
    /// The ZMTP handshake failed.
    case handshakeFailed(endpoint: String, HandshakeFailure)
    /// Nothing is listening; the next attempt follows after the interval.
    case retrying(endpoint: String, milliseconds: Int32)
    /// The connection was closed. `descriptor` is the number that its closed descriptor had.
    case disconnected(endpoint: String, descriptor: Int32)
    /// Another event (libzmq's number).
    case other(UInt16, endpoint: String)
}

/// The reason for a failed ZMTP handshake.
package enum HandshakeFailure: Hashable, Sendable {
    /// The listening end does not admit our key (ZAP's status).
    case refused(status: Int32)
    /// Only one end uses keys.
    case securityMismatch
    /// A message cannot be decrypted with the available keys.
    case wrongKey
    /// The peer closed the connection, for example because it uses another key than expected. `errno` is the error that libzmq
    /// reports.
    case brokenOff(errno: Int32)
    /// Not ZMTP, or invalid ZMTP (libzmq's number).
    case protocolError(code: Int32)
}

/// Listens to the events of one socket (zmq_socket_monitor). Belongs to the thread that polls it.
package struct ConnectionMonitor: ~Copyable {
    private let socket: Socket
    /// Kept open until monitoring has stopped.
    private let monitored: Socket.Owner

    /// For the poller.
    var handle: UnsafeMutableRawPointer { socket.handle }
    /// Becomes readable when events may have occurred (``Socket/stateDescriptor``).
    package var stateDescriptor: Int32 { socket.stateDescriptor }

    /// Starts monitoring; create it before the socket binds or connects. The socket stays open as long as this object exists.
    package init(of monitored: borrowing Socket, in context: Context) throws(MessagingError) {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let endpoint = "inproc://monitor-\(number)"
        var options = SocketOptions()
        // With a limit, a full queue would block libzmq's own threads.
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

    /// The next event; nil when none is pending. Never blocks.
    package func nextEvent() throws(MessagingError) -> ConnectionEvent? {
        guard let message = try socket.receive(maximumParts: 2), let head = message.parts.first,
            head.count >= 6
        else { return nil }
        // 16 bits of event and 32 bits of value in native byte order.
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

    /// Numbers for the pipes' names: inproc endpoints are shared by a whole context.
    private static let counter = Atomic<Int>(0)
}
