import Dispatch
import Glibc
import Messaging
import Synchronization
import Threads
package import Wire

/// Receives requests from the same machine, over a socket that only its own user, or its group, may open.
///
/// Its own thread owns the socket; other threads fetch the requests and execute them. A reply may come much later: a
/// session is stopped when its files are final.
package final class ControlServer: Sendable {
    /// A request, its sender, and its socket.
    package struct Question: Sendable {
        fileprivate let server: ControlServer
        fileprivate let peer: [UInt8]
        package let request: ControlRequest

        /// Sends the reply.
        package func answer(_ reply: ControlReply.Reply) {
            server.send(ControlReply(id: request.id, reply: reply).encoded(), to: peer)
        }
    }

    /// The users who may open the socket.
    package enum Audience: Sendable {
        /// The program's own user.
        case owner
        /// Also the group of the socket's directory, or the program's own.
        case group

        /// Permission bits that the socket must not have (umask(2)).
        fileprivate var mask: mode_t {
            switch self {
            case .owner: 0o177
            case .group: 0o117
            }
        }
    }

    private struct Shared {
        var questions: [Question] = []
        var replies: [(peer: [UInt8], bytes: [UInt8])] = []
        var isStopping = false
        /// The socket's path, once it is bound.
        var path: String?
    }

    /// Maximum pending requests; further ones are refused.
    private static let maximumQuestions = 64
    /// Maximum path length of a Unix socket (unix(7)), without its terminating zero.
    private static let maximumPathBytes = 107

    private let shared = Mutex(Shared())
    private let wakeUp: WakeUp
    private let thread = JoinableThread()
    private let audience: Audience
    private let answersAtOnce: @Sendable (ControlRequest.Request) -> ControlReply.Reply?
    private let notify: @Sendable (ControlServer) -> Void

    /// - Parameters:
    ///   - audience: the users who may open the socket.
    ///   - answersAtOnce: replies to simple requests on the control thread; nil: the request is queued.
    ///   - notify: called on the control thread when this server has queued requests.
    package init(
        for audience: Audience = .owner,
        answersAtOnce: @escaping @Sendable (ControlRequest.Request) -> ControlReply.Reply? = { _ in
            nil
        },
        notify: @escaping @Sendable (ControlServer) -> Void
    ) throws(ControlSocketError) {
        self.audience = audience
        self.answersAtOnce = answersAtOnce
        self.notify = notify
        do throws(MessagingError) {
            wakeUp = try WakeUp()
        } catch {
            throw ControlSocketError("\(error)")
        }
    }

    /// Binds the socket and starts the thread.
    package func start(at path: String) throws(ControlSocketError) {
        guard path.utf8.count <= Self.maximumPathBytes else {
            throw ControlSocketError(
                "the socket path is too long: at most \(Self.maximumPathBytes) bytes, this one has "
                    + "\(path.utf8.count)", isForLength: true)
        }
        let started = Semaphore(value: 0)
        let failure = Mutex<String?>(nil)
        thread.start("control") { [self] in
            var isBound = false
            do throws(MessagingError) {
                let socket = try Self.bind(path, for: audience)
                isBound = true
                started.signal()
                try serve(socket)
            } catch {
                failure.withLock { $0 = "\(error)" }
                if !isBound { started.signal() }
            }
        }
        started.wait()
        if let reason = failure.withLock({ $0 }) { throw ControlSocketError(reason) }
        shared.withLock { $0.path = path }
    }

    /// Sends pending replies, ends the thread, and removes the socket. No other process may listen there yet.
    package func stop() {
        shared.withLock { $0.isStopping = true }
        wakeUp.signal()
        thread.join()
        // libzmq does not remove it.
        if let path = shared.withLock({ $0.path }) { unlink(path) }
    }

    /// The requests since the last call.
    package func takeQuestions() -> [Question] {
        shared.withLock { shared in
            defer { shared.questions.removeAll() }
            return shared.questions
        }
    }

    private func send(_ bytes: [UInt8], to peer: [UInt8]) {
        shared.withLock { $0.replies.append((peer, bytes)) }
        wakeUp.signal()
    }

    private static func bind(_ path: String, for audience: Audience) throws(MessagingError)
        -> Socket
    {
        var options = SocketOptions()
        options.maximumPartBytes = 64 << 10
        options.receiveQueue = Int32(maximumQuestions)
        options.lingerMilliseconds = 1_000
        let socket = try Socket(.router, in: Context(), options: options)
        // Other users may not connect from the first moment on. No other thread creates files yet.
        let mask = umask(audience.mask)
        defer { umask(mask) }
        try socket.bind("ipc://\(path)")
        return socket
    }

    private func serve(_ socket: borrowing Socket) throws(MessagingError) {
        var poller = Poller()
        _ = poller.add(socket)
        _ = poller.add(descriptor: wakeUp.descriptor)
        while true {
            let (replies, isStopping) = shared.withLock { shared in
                defer { shared.replies.removeAll() }
                return (shared.replies, shared.isStopping)
            }
            for reply in replies { _ = try socket.send(.bytes(reply.peer), .bytes(reply.bytes)) }
            if isStopping { return }
            _ = try poller.wait(milliseconds: nil)
            wakeUp.drain()
            while let message = try socket.receive(maximumParts: 2) { take(message) }
        }
    }

    private func take(_ message: ReceivedMessage) {
        guard message.parts.count == 2 else { return }
        let peer = message.parts[0].bytes
        do throws(ControlError) {
            let request = try ControlRequest(decoding: message.parts[1].bytes)
            if let reply = answersAtOnce(request.request) {
                let bytes = ControlReply(id: request.id, reply: reply).encoded()
                shared.withLock { $0.replies.append((peer, bytes)) }
                return
            }
            let isTaken = shared.withLock { shared in
                guard shared.questions.count < Self.maximumQuestions else { return false }
                shared.questions.append(Question(server: self, peer: peer, request: request))
                return true
            }
            guard isTaken else {
                let text = "\(Self.maximumQuestions) requests are already waiting: try again later"
                let reply = ControlReply(id: request.id, reply: .failure(.other, text))
                shared.withLock { $0.replies.append((peer, reply.encoded())) }
                return
            }
            notify(self)
        } catch {
            let reply = ControlReply(id: error.id, reply: .failure(error.failure, error.text))
            shared.withLock { $0.replies.append((peer, reply.encoded())) }
        }
    }
}
