import CZeroMQ
import Glibc

/// Waits for several sockets and descriptors together.
///
/// Sockets are watched by handle: a poller must not outlive them. Pollers are cheap; when a socket is replaced, create
/// a new poller.
package struct Poller: ~Copyable {
    /// An entry of the poller.
    package struct Token: Hashable, Sendable {
        fileprivate let index: Int
    }

    private struct Item {
        /// `nil` for a plain descriptor.
        var socket: UnsafeMutableRawPointer?
        /// The events to wait for (ZMQ_POLLIN, ZMQ_POLLOUT).
        var events: Int32
        /// Its state may change without a signal on its descriptor: other code sends and receives on it.
        var isShared: Bool
        /// It was ready at the last query, or has not been queried.
        var mayBeReady = true
        var ready: Int32 = 0
    }

    private var items: [Item] = []
    /// One for each item, in order; a socket's becomes readable when its state may have changed.
    private var descriptors: [pollfd] = []

    package init() {}

    /// Watches a socket for received messages, and for room to send if requested.
    package mutating func add(_ socket: borrowing Socket, forSending: Bool = false) -> Token {
        let events = ZMQ_POLLIN | (forSending ? ZMQ_POLLOUT : 0)
        return add(socket: socket.handle, events: events, isShared: true)
    }

    /// Watches a monitor for events.
    package mutating func add(_ monitor: borrowing ConnectionMonitor) -> Token {
        add(socket: monitor.handle, events: ZMQ_POLLIN, isShared: false)
    }

    /// Watches an authenticator for requests.
    package mutating func add(_ authenticator: borrowing Authenticator) -> Token {
        add(socket: authenticator.handle, events: ZMQ_POLLIN, isShared: false)
    }

    /// Watches a file descriptor for readability.
    package mutating func add(descriptor: Int32) -> Token {
        add(Item(socket: nil, events: ZMQ_POLLIN, isShared: false), descriptor: descriptor)
    }

    /// Blocks until an item is ready or the timeout expires; returns whether one is ready.
    ///
    /// Without a timeout it waits indefinitely. It may return early with nothing ready: a signal handler ran, or libzmq
    /// had internal work. (zmq_poll(3) would continue to wait, but makes two system calls each time.)
    package mutating func wait(milliseconds: Int?) throws(MessagingError) -> Bool {
        for index in items.indices { items[index].ready = 0 }
        // A socket's descriptor only signals changes: a state that is already ready has to be queried, which costs a system call.
        // A socket that was not ready at the last query, and is not shared, is still not ready.
        let isReadyAlready = try readEvents { item, _ in
            item.socket != nil && (item.isShared || item.mayBeReady)
        }
        // The others are checked nevertheless, without waiting: otherwise a socket that is never empty would hide them forever.
        let timeout = isReadyAlready ? 0 : Int32(clamping: milliseconds ?? -1)
        if poll(&descriptors, nfds_t(descriptors.count), timeout) < 0 {
            guard errno == EINTR else {
                throw .system(operation: "wait for", subject: "sockets", errno: errno)
            }
            for index in descriptors.indices { descriptors[index].revents = 0 }
        }
        let isReadyNow = try readEvents { $1.revents != 0 }
        return isReadyAlready || isReadyNow
    }

    /// Queries the items that may be ready, without waiting; returns whether one of them is.
    private mutating func readEvents(
        _ mayBeReady: (Item, pollfd) -> Bool
    ) throws(MessagingError) -> Bool {
        var isAnyReady = false
        for index in items.indices {
            let item = items[index]
            guard mayBeReady(item, descriptors[index]) else { continue }
            let events: Int32
            if let socket = item.socket {
                var value: Int32 = 0
                var size = MemoryLayout<Int32>.size
                while zmq_getsockopt(socket, ZMQ_EVENTS, &value, &size) < 0 {
                    let errno = zmq_errno()
                    if errno == EINTR { continue }
                    throw .system(operation: "ask for", subject: "a socket's events", errno: errno)
                }
                events = value & item.events
            } else {
                events = descriptors[index].revents == 0 ? 0 : ZMQ_POLLIN
                descriptors[index].revents = 0
            }
            items[index].ready = events
            items[index].mayBeReady = events != 0
            isAnyReady = isAnyReady || events != 0
        }
        return isAnyReady
    }

    /// Whether there is a message to receive or data to read.
    package func isReadable(_ token: Token) -> Bool {
        items[token.index].ready & ZMQ_POLLIN != 0
    }

    /// Whether there is room to send.
    package func isWritable(_ token: Token) -> Bool {
        items[token.index].ready & ZMQ_POLLOUT != 0
    }

    private mutating func add(
        socket: UnsafeMutableRawPointer, events: Int32, isShared: Bool
    ) -> Token {
        var descriptor: Int32 = -1
        var size = MemoryLayout<Int32>.size
        let result = zmq_getsockopt(socket, ZMQ_FD, &descriptor, &size)
        precondition(result == 0, "a socket that is open has a descriptor")
        return add(
            Item(socket: socket, events: events, isShared: isShared), descriptor: descriptor)
    }

    private mutating func add(_ item: Item, descriptor: Int32) -> Token {
        items.append(item)
        descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        return Token(index: items.count - 1)
    }
}
