import CLinux
import Files
import Glibc
package import Logging
package import Operations
import Synchronization
import Threads

/// Serves the contents of a ``StatusBoard`` over HTTP/1.1, on its own thread. The receiving and writing threads never
/// wait for it.
package final class HTTPStatusServer: Sendable {
    /// The port that it listens on.
    package let port: UInt16
    private let thread = JoinableThread()
    private let stopping: EventDescriptor

    /// Binds and starts the thread.
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: 0: any free port.
    package static func start(
        host: String, port: UInt16, board: StatusBoard, logger: Logger
    ) throws(OperationsServerError) -> HTTPStatusServer {
        let listener = try ListeningSocket(host: host, port: port)
        return HTTPStatusServer(listener, board, logger)
    }

    private init(_ listener: ListeningSocket, _ board: StatusBoard, _ logger: Logger) {
        port = listener.port
        stopping = EventDescriptor()
        thread.start("http") { [stopping] in
            var loop = ServingLoop(listener: listener, stopping: stopping, board: board)
            if let failure = loop.run() {
                logger.error(
                    "HTTP is no longer served (\(failure)); recording continues")
            }
        }
    }

    /// Ends the thread. Responses in progress may be truncated.
    package func stop() {
        stopping.signal()
        thread.join()
    }
}

/// The reason why the server cannot start.
package enum OperationsServerError: Error, Hashable, CustomStringConvertible {
    case cannotListen(address: String, reason: String)

    package var description: String {
        switch self {
        case .cannotListen(let address, let reason):
            "cannot serve HTTP at \(address): \(reason); use another --http address"
        }
    }
}

/// An eventfd(2): readable from the first signal on.
private final class EventDescriptor: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "the system has no descriptor left")
    }

    func signal() {
        var one: UInt64 = 1
        // Fails only when the counter is full; then the descriptor is readable.
        _ = write(descriptor, &one, 8)
    }

    deinit { close(descriptor) }
}

/// A listening TCP socket.
private final class ListeningSocket: Sendable {
    let descriptor: Int32
    let port: UInt16

    /// - Throws: for the last of the host's addresses, if none of them can be bound.
    init(host: String, port: UInt16) throws(OperationsServerError) {
        let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, "\(port)", &hints, &list)
        guard status == 0 else {
            throw .cannotListen(
                address: address, reason: "the host '\(host)' does not exist")
        }
        defer { freeaddrinfo(list) }
        var reason = "the host '\(host)' has no address"
        var next = list
        while let candidate = next?.pointee {
            next = candidate.ai_next
            let descriptor = Self.bound(to: candidate)
            guard descriptor >= 0 else {
                reason = systemMessage(errno)
                continue
            }
            self.descriptor = descriptor
            self.port = Self.port(of: descriptor)
            return
        }
        throw .cannotListen(address: address, reason: reason)
    }

    /// - Returns: a descriptor; -1 and `errno` if the address cannot be bound.
    private static func bound(to address: addrinfo) -> Int32 {
        let descriptor = socket(
            address.ai_family,
            Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
        guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0,
            listen(descriptor, SOMAXCONN) == 0
        else {
            let failure = errno
            close(descriptor)
            errno = failure
            return -1
        }
        return descriptor
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            guard let address, getsockname(descriptor, address, &size) == 0 else { return 0 }
            // IPv4 and IPv6 have the port at the same place, in network byte order.
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    deinit { close(descriptor) }
}

/// A connection's socket, closed with the last reference.
private final class ConnectionSocket {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }
}

/// Accepts, reads and writes until it is stopped. Used on one thread.
private struct ServingLoop {
    /// Deadlines are whole seconds.
    private static let lookMilliseconds: Int32 = 500
    /// Without descriptors nothing can be accepted; connections that end release some.
    private static let pauseNanoseconds: Int64 = 200_000_000

    private struct Entry {
        let socket: ConnectionSocket
        var connection = StatusConnection()
    }

    private let listener: ListeningSocket
    private let stopping: EventDescriptor
    private let board: StatusBoard
    private var budget = ConnectionBudget()
    private var entries: [Int: Entry] = [:]
    private var acceptsFromNanoseconds: Int64 = 0
    private var buffer = [UInt8](repeating: 0, count: RequestHead.maximumBytes)

    init(listener: ListeningSocket, stopping: EventDescriptor, board: StatusBoard) {
        self.listener = listener
        self.stopping = stopping
        self.board = board
    }

    /// - Returns: the error that ended it; nil if it was stopped.
    mutating func run() -> String? {
        while true {
            let now = StatusBoard.monotonicNanoseconds()
            let ids = Array(entries.keys)
            var polled = [pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0)]
            let accepts: Int16 = now >= acceptsFromNanoseconds ? Int16(POLLIN) : 0
            polled.append(pollfd(fd: listener.descriptor, events: accepts, revents: 0))
            polled += ids.map { id in
                let entry = entries[id]
                let events = entry?.connection.pending.isEmpty == false ? POLLOUT : POLLIN
                return pollfd(
                    fd: entry?.socket.descriptor ?? -1, events: Int16(events), revents: 0)
            }
            guard poll(&polled, nfds_t(polled.count), Self.lookMilliseconds) >= 0 || errno == EINTR
            else { return systemMessage(errno) }
            if polled[0].revents != 0 { return nil }
            for (id, state) in zip(ids, polled.dropFirst(2)) where state.revents != 0 {
                serve(id)
            }
            if polled[1].revents != 0 { accept() }
            endOverdue()
        }
    }

    private mutating func accept() {
        while true {
            let descriptor = Glibc.accept(listener.descriptor, nil, nil)
            guard descriptor >= 0 else {
                if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM {
                    acceptsFromNanoseconds =
                        StatusBoard.monotonicNanoseconds() + Self.pauseNanoseconds
                }
                return
            }
            let socket = ConnectionSocket(descriptor)
            guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0,
                fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
            else { continue }
            let (id, displaced) = budget.opened(now: StatusBoard.monotonicNanoseconds())
            if let displaced { entries.removeValue(forKey: displaced) }
            entries[id] = Entry(socket: socket)
        }
    }

    /// Reads and sends as much as possible without blocking.
    private mutating func serve(_ id: Int) {
        guard var entry = entries[id] else { return }
        if entry.connection.isReading {
            let count = recv(entry.socket.descriptor, &buffer, buffer.count, 0)
            guard count > 0 else {
                if count == 0 || (errno != EAGAIN && errno != EINTR) { end(id) }
                return
            }
            entry.connection.receive(buffer[..<count])
        }
        repeat {
            guard send(&entry, id) else { return end(id) }
        } while answerNext(&entry, id)
        if entry.connection.isFinished { return end(id) }
        entries[id] = entry
    }

    private mutating func answerNext(_ entry: inout Entry, _ id: Int) -> Bool {
        guard entry.connection.answerNext(from: board) else { return false }
        budget.asked(id, now: StatusBoard.monotonicNanoseconds())
        return true
    }

    /// Sends pending bytes until there are none or the socket's buffer is full.
    /// - Returns: false if the connection is broken.
    private mutating func send(_ entry: inout Entry, _ id: Int) -> Bool {
        while !entry.connection.pending.isEmpty {
            let count = entry.connection.pending.withUnsafeBytes {
                Glibc.send(
                    entry.socket.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return errno == EAGAIN || errno == EINTR }
            entry.connection.sent(count)
            budget.answered(id, now: StatusBoard.monotonicNanoseconds())
        }
        return true
    }

    private mutating func endOverdue() {
        let now = StatusBoard.monotonicNanoseconds()
        for id in entries.keys where budget.isOverdue(id, now: now) { end(id) }
    }

    private mutating func end(_ id: Int) {
        entries.removeValue(forKey: id)
        budget.closed(id)
    }
}
