import CZeroMQ

/// One received part, in libzmq's memory: it can be written to disk without a copy.
///
/// A small part (below 8 KB) shares its memory with its neighbours; the memory is kept as long as any of them.
// @unchecked Sendable: the message is filled before the object is shared and only read afterwards; it is freed once,
// and libzmq counts references to shared content atomically.
package final class ReceivedPart: @unchecked Sendable {
    private let message: UnsafeMutablePointer<zmq_msg_t>
    /// Whether another part of the same message follows.
    let hasMore: Bool

    /// Receives the next part from a socket; nil when none is pending.
    init?(from handle: UnsafeMutableRawPointer) throws(MessagingError) {
        // Allocated separately: libzmq keeps small contents inside zmq_msg_t, so it must never move.
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

    /// The bytes in place; the pointer is valid as long as this object exists.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: zmq_msg_data(message), count: count))
    }

    /// A copy of the bytes.
    package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// A property of the part's connection: "Peer-Address", "User-Id", "Socket-Type".
    package func metadata(_ property: String) -> String? {
        guard let value = zmq_msg_gets(message, property) else { return nil }
        return withoutMapping(String(cString: value))
    }
}

extension ReceivedPart {
    /// Identifies the part's connection: as long as a part of that connection is retained, no other connection has the
    /// same value. Nil for the identity part that a ROUTER adds.
    package var connection: UnsafeRawPointer? {
        // Every connection has its own table of properties, which its parts share and retain.
        zmq_msg_gets(message, "Socket-Type").map { UnsafeRawPointer($0) }
    }

    /// The descriptor of the part's connection; libzmq owns it and may have closed it.
    package var descriptor: Int32? {
        let descriptor = zmq_msg_get(message, ZMQ_SRCFD)
        return descriptor >= 0 ? descriptor : nil
    }
}

/// An IPv4 address in dotted form, from a socket that also supports IPv6 (RFC 4291 §2.5.5.2).
func withoutMapping(_ address: String) -> String {
    let mapped = "::ffff:"
    return address.hasPrefix(mapped) ? String(address.dropFirst(mapped.count)) : address
}

/// A whole message as it was received.
package struct ReceivedMessage: Sendable {
    /// The parts, at most the requested number.
    package var parts: [ReceivedPart]
    /// Number of further parts dropped.
    package var droppedParts: Int
    /// The size of the whole message on its connection, including framing, excluding TCP.
    package var wireBytes: Int
}
