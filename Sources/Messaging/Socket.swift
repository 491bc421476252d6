import CZeroMQ
import Glibc

/// A ZeroMQ socket. One thread owns it: create it on that thread.
package struct Socket: ~Copyable {
    /// The socket types in use.
    package enum Kind: Hashable, Sendable {
        /// An agent's end: one connection, no addressing.
        case dealer
        /// A collector's end: every message begins with its peer's routing identity.
        case router
        /// Connects two threads of one process.
        case pair
        /// Answers one request after the other.
        case reply
        /// Sends each message to the peers with a subscription to a prefix of its first part, and receives their
        /// subscriptions (XPUB).
        case publisher
        /// Receives the messages it has subscribed to.
        case subscriber

        fileprivate var type: Int32 {
            switch self {
            case .dealer: ZMQ_DEALER
            case .router: ZMQ_ROUTER
            case .pair: ZMQ_PAIR
            case .reply: ZMQ_REP
            case .publisher: ZMQ_XPUB
            case .subscriber: ZMQ_SUB
            }
        }
    }

    /// The result of sending a message.
    package enum SendResult: Hashable, Sendable {
        /// libzmq has accepted it.
        case sent
        /// The queue is full, or there is no connection: nothing was sent.
        case wouldBlock
        /// ROUTER: the peer has disconnected. The message is dropped.
        case unreachable
    }

    /// Closes the socket when the last owner is released: this value, or the monitor of it.
    final class Owner {
        let handle: UnsafeMutableRawPointer
        private let context: Context

        init(handle: UnsafeMutableRawPointer, context: Context) {
            self.handle = handle
            self.context = context
        }

        deinit {
            zmq_close(handle)
        }
    }

    /// Capacity reserved for a received message: identity, header and payload. More parts are rare.
    private static let usualParts = 3

    let owner: Owner
    /// ROUTER: the first part of a message is not sent by the peer.
    private let addsIdentity: Bool
    private let isEncrypted: Bool
    /// Internal, for pollers.
    var handle: UnsafeMutableRawPointer { owner.handle }

    /// Creates a socket with its options set, neither bound nor connected.
    package init(
        _ kind: Kind, in context: Context, options: SocketOptions = SocketOptions()
    ) throws(MessagingError) {
        guard let handle = zmq_socket(context.handle, kind.type) else {
            throw .last("make", "a socket")
        }
        let owner = Owner(handle: handle, context: context)
        try options.apply(to: handle, kind: kind)
        self.owner = owner
        addsIdentity = kind == .router
        isEncrypted = options.security.isEncrypted
    }

    /// Listens; `tcp://127.0.0.1:*` takes any free port.
    package func bind(_ endpoint: String) throws(MessagingError) {
        if Self.wouldReplaceFile(endpoint) { throw .notASocket(endpoint: endpoint) }
        guard zmq_bind(handle, endpoint) == 0 else {
            throw .last("listen on", endpoint: endpoint)
        }
    }

    /// libzmq removes any file at the path of a Unix socket, because it assumes a stale socket.
    private static func wouldReplaceFile(_ endpoint: String) -> Bool {
        let scheme = "ipc://"
        // A name that begins with "@" is not a path (unix(7), "abstract").
        guard endpoint.hasPrefix(scheme), !endpoint.hasPrefix("\(scheme)@") else { return false }
        var status = stat()
        guard lstat(String(endpoint.dropFirst(scheme.count)), &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFSOCK
    }

    /// Starts to connect; the result is reported later, by events.
    ///
    /// The host must be an address in digits: libzmq would resolve a name on the thread that serves all connections of the context.
    package func connect(_ endpoint: String) throws(MessagingError) {
        guard zmq_connect(handle, endpoint) == 0 else {
            throw .last("connect to", endpoint: endpoint)
        }
    }

    /// Ends the connection to an endpoint, or the attempts at one, if there are any. Messages that wait for it are dropped after the
    /// linger.
    package func disconnect(_ endpoint: String) throws(MessagingError) {
        guard zmq_disconnect(handle, endpoint) == 0 || zmq_errno() == ENOENT else {
            throw .last("disconnect from", endpoint: endpoint)
        }
    }

    /// Becomes readable when messages may have arrived (ZMQ_FD). Sending and receiving reset it: read all messages
    /// after either.
    package var stateDescriptor: Int32 {
        var descriptor: Int32 = -1
        var size = MemoryLayout<Int32>.size
        let result = zmq_getsockopt(handle, ZMQ_FD, &descriptor, &size)
        precondition(result == 0, "a socket that is open has a descriptor")
        return descriptor
    }

    /// The endpoint on which it listens, with the actual port.
    package func lastEndpoint() throws(MessagingError) -> String {
        var size = 1_024
        let text: String? = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) {
            buffer in
            guard
                let start = buffer.baseAddress,
                zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, start, &size) == 0
            else { return nil }
            return String(cString: start)
        }
        guard let text else { throw .last("ask for", "the last endpoint") }
        return text
    }

    /// The next complete message; nil when none is pending. Never blocks. Parts beyond `maximumParts` are dropped and counted.
    package func receive(maximumParts: Int) throws(MessagingError) -> ReceivedMessage? {
        guard var part = try ReceivedPart(from: handle) else { return nil }
        var message = ReceivedMessage(parts: [], droppedParts: 0, wireBytes: 0)
        message.parts.reserveCapacity(min(maximumParts, Self.usualParts))
        var isIdentity = addsIdentity
        while true {
            if !isIdentity { message.wireBytes += Self.frameBytes(part.count, isEncrypted) }
            isIdentity = false
            if message.parts.count < maximumParts {
                message.parts.append(part)
            } else {
                message.droppedParts += 1
            }
            guard part.hasMore else { return message }
            // The parts of a message arrive together or not at all.
            guard let next = try ReceivedPart(from: handle) else {
                preconditionFailure("libzmq delivers messages whole")
            }
            part = next
        }
    }

    /// The size of a part on the wire: ZMTP 3.1 §4.1 (one byte of flags, and one or eight of size), plus the CURVE overhead (RFC
    /// 26 of ZeroMQ, "MESSAGE": 8 bytes of name, 8 of nonce, 16 of authentication, one of flags).
    private static func frameBytes(_ count: Int, _ isEncrypted: Bool) -> Int {
        let body = isEncrypted ? count + 33 : count
        return body + (body <= 255 ? 2 : 9)
    }

    /// SUB: subscribes to messages by a prefix of their first part, or unsubscribes.
    package func subscribe(_ topic: [UInt8], isWanted: Bool = true) throws(MessagingError) {
        let option = isWanted ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE
        let result = topic.withUnsafeBytes {
            zmq_setsockopt(handle, option, $0.baseAddress, $0.count)
        }
        guard result == 0 else { throw .last("subscribe with", "a socket") }
    }

    /// Sends a complete message. Never blocks.
    package func send(_ parts: OutgoingPart...) throws(MessagingError) -> SendResult {
        try send(parts)
    }

    package func send(_ parts: [OutgoingPart]) throws(MessagingError) -> SendResult {
        precondition(!parts.isEmpty, "a message has at least one part")
        var result = SendResult.sent
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let partResult = try send(part, flags: ZMQ_DONTWAIT | (isLast ? 0 : ZMQ_SNDMORE))
            if partResult == .sent { continue }
            if index == 0 { return partResult }
            // The connection was lost between two parts: libzmq discards the message, and accepts and drops the
            // remaining parts.
            result = partResult
        }
        return result
    }

    private func send(_ part: OutgoingPart, flags: Int32) throws(MessagingError) -> SendResult {
        var message = zmq_msg_t()
        return try withUnsafeMutablePointer(to: &message) { pointer throws(MessagingError) in
            try part.initialize(pointer)
            while zmq_msg_send(pointer, handle, flags) < 0 {
                let errno = zmq_errno()
                if errno == EINTR { continue }
                zmq_msg_close(pointer)
                switch errno {
                case EAGAIN: return .wouldBlock
                case EHOSTUNREACH: return .unreachable
                default: throw .system(operation: "send to", subject: "a socket", errno: errno)
                }
            }
            return .sent
        }
    }
}
