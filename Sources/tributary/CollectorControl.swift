import Archive
import Glibc
import Messaging
import Terminal
import Wire

/// Asks the collector that records into an archive.
struct CollectorControl {
    /// Finishing files takes milliseconds; on a disk that is slow or stuck, as long as that.
    private static let patienceMilliseconds: Int64 = 60_000

    private let layout: ArchiveLayout

    /// Looks whether there is a collector to ask.
    init(_ layout: ArchiveLayout) throws {
        self.layout = layout
        guard try ArchiveLock.isTaken(layout) else {
            throw Failure(
                "no collector is recording into \(layout.root): say where with --archive")
        }
        // libzmq would go on trying in silence.
        guard access(layout.control, W_OK) == 0 else {
            let code = errno
            guard code != ENOENT else {
                throw Failure(
                    "the collector that records into \(layout.root) is starting or ending: ask again"
                )
            }
            let reason = String(cString: strerror(code))
            throw Failure(
                "cannot ask the collector at \(layout.control): \(reason); be the user that it runs as"
            )
        }
    }

    /// Asks one thing, and waits for the answer.
    func ask(_ request: ControlRequest.Request) throws -> ControlReply.Reply {
        let question = ControlRequest(id: .random(in: 1 ... .max), request: request)
        let answer: ControlReply?
        do {
            answer = try exchange(question)
        } catch let error as MessagingError {
            throw Failure("cannot ask the collector at \(layout.control): \(error)")
        } catch let error as ControlError {
            throw Failure("the collector's answer cannot be read: \(error.text)")
        }
        guard let answer else {
            throw Failure(
                "the collector has not answered within \(Self.patienceMilliseconds / 1_000) s; its log "
                    + "says what it waits for")
        }
        if case .failure(_, let text) = answer.reply { throw Failure(text) }
        return answer.reply
    }

    private func exchange(_ question: ControlRequest) throws -> ControlReply? {
        let socket = try Socket(.dealer, in: Context(), options: SocketOptions())
        try socket.connect("ipc://\(layout.control)")
        var poller = Poller()
        _ = poller.add(socket)
        _ = try socket.send(.bytes(question.encoded()))
        let deadline = now() + Self.patienceMilliseconds
        while true {
            let rest = deadline - now()
            guard rest > 0 else { return nil }
            _ = try poller.wait(milliseconds: Int(min(rest, 500)))
            while let message = try socket.receive(maximumParts: 1) {
                let reply = try ControlReply(decoding: message.parts[0].bytes)
                if reply.id == question.id { return reply }
            }
            // A collector that was killed will not answer.
            guard try ArchiveLock.isTaken(layout) else {
                throw Failure("the collector has ended without an answer; its next start recovers")
            }
        }
    }

    private func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
