import CZeroMQ

/// Waits for sockets and descriptors, several at once (zmq_poll).
///
/// Sockets are watched by handle: a poller must not outlive them. Pollers are cheap; when a socket is replaced, so is
/// the poller.
package struct Poller: ~Copyable {
    /// A place in the poller.
    package struct Token: Hashable, Sendable {
        fileprivate let index: Int
    }

    private var items: [zmq_pollitem_t] = []

    package init() {}

    /// Watches a socket for messages to receive, and for room to send if asked.
    package mutating func add(_ socket: borrowing Socket, forSending: Bool = false) -> Token {
        let events = ZMQ_POLLIN | (forSending ? ZMQ_POLLOUT : 0)
        return add(zmq_pollitem_t(socket: socket.handle, fd: 0, events: Int16(events), revents: 0))
    }

    /// Watches a monitor for events.
    package mutating func add(_ monitor: borrowing ConnectionMonitor) -> Token {
        add(
            zmq_pollitem_t(
                socket: monitor.handle, fd: 0, events: Int16(ZMQ_POLLIN), revents: 0))
    }

    /// Watches a file descriptor for something to read.
    package mutating func add(descriptor: Int32) -> Token {
        add(zmq_pollitem_t(socket: nil, fd: descriptor, events: Int16(ZMQ_POLLIN), revents: 0))
    }

    /// Blocks until something is ready or the time is over; says whether something is.
    ///
    /// Without a time it waits for ever. A signal handler may end the wait early.
    package mutating func wait(milliseconds: Int?) throws(MessagingError) -> Bool {
        let ready = zmq_poll(&items, Int32(items.count), milliseconds ?? -1)
        if ready >= 0 { return ready > 0 }
        let errno = zmq_errno()
        guard errno == EINTR else {
            throw .system(operation: "wait for", subject: "sockets", errno: errno)
        }
        for index in items.indices { items[index].revents = 0 }
        return false
    }

    /// Whether there is something to receive or read.
    package func isReadable(_ token: Token) -> Bool {
        Int32(items[token.index].revents) & (ZMQ_POLLIN | ZMQ_POLLERR) != 0
    }

    /// Whether there is room to send.
    package func isWritable(_ token: Token) -> Bool {
        Int32(items[token.index].revents) & ZMQ_POLLOUT != 0
    }

    private mutating func add(_ item: zmq_pollitem_t) -> Token {
        items.append(item)
        return Token(index: items.count - 1)
    }
}
