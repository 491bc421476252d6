import Files
import Glibc
import Media
import Messaging
import Terminal
package import Wire

/// Sends requests to a program on this machine over its control socket.
package struct ControlClient: Sendable {
    /// Finishing files takes milliseconds, opening a camera some seconds; a slow or stuck disk may need this long.
    package static let usualPatienceMilliseconds: Int64 = 60_000
    /// A running program responds to a status request immediately: its control socket has its own thread.
    private static let silenceMilliseconds: Int64 = 5_000
    /// Interval of status requests while the reply is pending.
    private static let signMilliseconds: Int64 = 1_000
    /// Interval of checks whether the program still runs.
    private static let lookMilliseconds: Int64 = 500

    private let path: String
    /// The program's name in messages: "the collector".
    private let name: String
    private let isThere: @Sendable () throws -> Bool
    private let mention: @Sendable (String) -> Void
    private let explain: @Sendable ([UInt8]) -> String?
    private let patienceMilliseconds: Int64

    /// Checks whether the socket is accessible.
    /// - Parameters:
    ///   - name: the program's name in messages.
    ///   - patienceMilliseconds: timeout of the reply.
    ///   - mention: receives a message when the reply is slow.
    ///   - explain: returns the reason for a slow reply and what to do, by the program's status; nil: unknown.
    ///   - isThere: whether the program still runs: a killed one will not reply.
    package init(
        path: String, name: String,
        patienceMilliseconds: Int64 = ControlClient.usualPatienceMilliseconds,
        mention: @escaping @Sendable (String) -> Void = { Program.complain($0) },
        explain: @escaping @Sendable (_ status: [UInt8]) -> String? = { _ in nil },
        isThere: @escaping @Sendable () throws -> Bool
    ) throws {
        self.path = path
        self.name = name
        self.patienceMilliseconds = patienceMilliseconds
        self.mention = mention
        self.explain = explain
        self.isThere = isThere
        // Checked first, because libzmq retries a refused connection silently.
        guard access(path, W_OK) == 0 else {
            let code = errno
            guard code != ENOENT else {
                throw Failure(
                    "\(name) does not listen at \(path): it is starting or stopping; try again")
            }
            let reason = systemMessage(code)
            throw Failure(
                "cannot connect to \(name) at \(path): \(reason); run this as the same user")
        }
    }

    /// Sends a request, and waits for the reply.
    /// - Throws: ``Failure`` with one line, also for a failure in the reply.
    package func ask(_ request: ControlRequest.Request) throws -> ControlReply.Reply {
        let reply = try reply(to: request)
        if case .failure(_, let text) = reply { throw Failure(text) }
        return reply
    }

    /// Sends a request, and waits for the reply, which may be a failure.
    /// - Throws: ``Failure`` with one line without a reply.
    package func reply(to request: ControlRequest.Request) throws -> ControlReply.Reply {
        let question = ControlRequest(id: .random(in: 1 ... .max), request: request)
        let answer: ControlReply?
        var obstacle: String?
        do {
            answer = try exchange(question, obstacle: &obstacle)
        } catch let error as MessagingError {
            throw Failure("cannot connect to \(name) at \(path): \(error)")
        } catch let error as ControlError {
            throw Failure(
                "cannot decode the answer of \(name): \(error.text); use the same version of all programs"
            )
        }
        guard let answer else {
            throw Failure(
                "\(name) has not answered within \(patienceMilliseconds / 1_000) s: "
                    + (obstacle ?? "see its log"))
        }
        return answer.reply
    }

    /// - Parameter obstacle: the reason why the program has not replied, by its last status.
    private func exchange(
        _ question: ControlRequest, obstacle: inout String?
    ) throws -> ControlReply? {
        let socket = try Socket(.dealer, in: Context(), options: SocketOptions())
        try socket.connect("ipc://\(path)")
        var poller = Poller()
        _ = poller.add(socket)
        _ = try socket.send(.bytes(question.encoded()))
        let asked = now()
        var heard = asked
        var signAt = asked + Self.signMilliseconds
        var hasMentioned = false
        while true {
            let rest = asked + patienceMilliseconds - now()
            guard rest > 0 else { return nil }
            _ = try poller.wait(milliseconds: Int(min(rest, Self.lookMilliseconds)))
            while let message = try socket.receive(maximumParts: 1) {
                heard = now()
                let reply = try ControlReply(decoding: message.parts[0].bytes)
                if reply.id == question.id { return reply }
                if case .status(let status) = reply.reply { obstacle = explain(status) }
            }
            guard try isThere() else {
                throw Failure("\(name) exited without an answer: see its log")
            }
            guard now() - heard < Self.silenceMilliseconds else {
                throw Failure(
                    "\(name) does not answer at \(path): check its log and its disk, then restart it; the recording "
                        + "continues")
            }
            if now() - asked >= Self.silenceMilliseconds, !hasMentioned {
                hasMentioned = true
                mention(
                    obstacle.map { "\(name) waits: \($0)" }
                        ?? "\(name) is still working on it; waiting")
            }
            if now() >= signAt {
                signAt = now() + Self.signMilliseconds
                // Any reply, "unknown" included, shows that the program is alive.
                let sign = ControlRequest(id: question.id ^ 1, request: .status)
                _ = try socket.send(.bytes(sign.encoded()))
            }
        }
    }

    private func now() -> Int64 {
        SystemClock.monotonic.nowNanoseconds / 1_000_000
    }

    /// Whether a process listens on a Unix socket; false for a file that was left behind.
    package static func isListening(at path: String) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
