import CZeroMQ

/// One received part, in the memory that libzmq received it into: it can be written to disk without a copy.
///
/// A small part (below 8 KB) shares its memory with its neighbours, which stays as long as any of them does.
// @unchecked Sendable: the message is filled before anyone else sees the object and only read afterwards; freeing it
// happens once, and libzmq counts references to shared content atomically.
package final class ReceivedPart: @unchecked Sendable {
    private let message: UnsafeMutablePointer<zmq_msg_t>
    /// Whether the same message goes on with another part.
    let hasMore: Bool

    /// Takes the next part off a socket; nil when none is waiting.
    init?(from handle: UnsafeMutableRawPointer) throws(MessagingError) {
        // A place of its own: libzmq keeps small contents inside zmq_msg_t, so it must never move.
        message = .allocate(capacity: 1)
        zmq_msg_init(message)
        while zmq_msg_recv(message, handle, ZMQ_DONTWAIT) < 0 {
            let errno = zmq_errno()
            if errno == EINTR { continue }
            // Every member is set from here on, so the deinit frees the message.
            hasMore = false
            if errno == EAGAIN { return nil }
            throw .system(operation: "receive from", subject: "a socket", errno: errno)
        }
        hasMore = zmq_msg_more(message) != 0
    }

    deinit {
        zmq_msg_close(message)
        message.deallocate()
    }

    /// Size in bytes.
    package var count: Int { zmq_msg_size(message) }

    /// The bytes, where they lie; the pointer is good as long as this object lives.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: zmq_msg_data(message), count: count))
    }

    /// A copy of the bytes.
    package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// A property of the connection that it came over: "Peer-Address", "User-Id", "Socket-Type".
    package func metadata(_ property: String) -> String? {
        guard let value = zmq_msg_gets(message, property) else { return nil }
        return withoutMapping(String(cString: value))
    }
}

extension ReceivedPart {
    /// Stands for the connection that it came over: as long as any part of that is kept, no other connection has the same.
    /// Nil for the part that a ROUTER puts in front.
    package var connection: UnsafeRawPointer? {
        // Every connection has a table of properties of its own, which its parts share and keep.
        zmq_msg_gets(message, "Socket-Type").map { UnsafeRawPointer($0) }
    }

    /// The descriptor of the connection that it came over, which is libzmq's and may be closed by now.
    package var descriptor: Int32? {
        let descriptor = zmq_msg_get(message, ZMQ_SRCFD)
        return descriptor >= 0 ? descriptor : nil
    }
}

/// An IPv4 address as people know it, on a socket that understands IPv6 too (RFC 4291 §2.5.5.2).
func withoutMapping(_ address: String) -> String {
    let mapped = "::ffff:"
    return address.hasPrefix(mapped) ? String(address.dropFirst(mapped.count)) : address
}

/// A whole message as it was received.
package struct ReceivedMessage: Sendable {
    /// The parts, as many as were asked for at most.
    package var parts: [ReceivedPart]
    /// How many more there were, and are gone.
    package var droppedParts: Int
    /// What the whole message took of its connection, frames included, before TCP.
    package var wireBytes: Int
}
