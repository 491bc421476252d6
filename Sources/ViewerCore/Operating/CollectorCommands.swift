import Threads
import Archive
import Control
import HTTPTypes
import Logging
import Synchronization
import Wire

/// Asks the collector for what the viewer may not do itself: it only reads the archive.
///
/// The collector takes such requests from its archive's group when it runs with `--group-commands`.
final class CollectorCommands: Sendable {
    /// What a request is about. A hung agent holds up requests about its own source only.
    enum Subject: Hashable, Sendable, CustomStringConvertible {
        case session(String)
        case source(String)

        var description: String {
            switch self {
            case .session(let name): "session \(name)"
            case .source(let name): "source \(name)"
            }
        }
    }

    /// The collector gives an agent 30 s. The client's connection is closed after 60 s.
    private static let patienceMilliseconds: Int64 = 45_000
    /// Requests about one session or source that have not been answered.
    static let maximumOfSubject = 2
    private static let maximumRunning = 16
    private static let maximumWaiting = 32

    /// Nil: the archive has no directory, and no collector is known.
    private let path: String?
    private let logger: Logger
    /// An answer can take as long as a camera takes to open: threads that read recordings do not wait for it.
    private let queue = BlockingWorkQueue(
        "commands", maximumRunning: maximumRunning, maximumWaiting: maximumWaiting)
    /// How many requests about each have not been answered.
    private let open = Mutex<[Subject: Int]>([:])

    /// - Parameter archive: its directory; nil: it has none.
    init(archive: String?, logger: Logger) {
        path = archive.map { ArchiveLayout(root: $0).commands }
        self.logger = logger
    }

    /// Asks one thing, and waits for the answer. Who is cancelled waits no longer.
    /// - Throws: ``Problem``, also when the collector or the agent refuses; or `CancellationError`.
    func ask(
        _ request: ControlRequest.Request, about subject: Subject
    ) async throws -> ControlReply.Reply {
        let reply = try await SingleFlight<ControlReply.Reply>().value {
            guard self.begin(subject) else {
                throw Problem(
                    .serviceUnavailable,
                    "\(Self.maximumOfSubject) requests about \(subject) have not been answered yet: try again later"
                )
            }
            let outcome = await self.queue.run { self.exchange(request) }
            self.end(subject)
            guard let outcome else {
                throw Problem(
                    .serviceUnavailable, "too many requests wait for the collector: try again later"
                )
            }
            return try outcome.get()
        }
        if let problem = Self.problem(reply, subject) { throw problem }
        return reply
    }

    private func begin(_ subject: Subject) -> Bool {
        open.withLock { open in
            guard open[subject, default: 0] < Self.maximumOfSubject else { return false }
            open[subject, default: 0] += 1
            return true
        }
    }

    private func end(_ subject: Subject) {
        open.withLock { open in
            let count = open[subject, default: 0] - 1
            open[subject] = count > 0 ? count : nil
        }
    }

    /// Blocks. The log has the server's paths; who has asked does not need them.
    private func exchange(_ request: ControlRequest.Request) -> Result<ControlReply.Reply, Problem>
    {
        guard let path, NamedPath.isSocket(path) else {
            return .failure(
                Problem(
                    .conflict,
                    "no collector takes commands here: start it with --group-commands"))
        }
        do {
            let client = try ControlClient(
                path: path, name: "the collector",
                patienceMilliseconds: Self.patienceMilliseconds, mention: { _ in },
                isThere: { true })
            return .success(try client.reply(to: request))
        } catch {
            logger.warning("a command was not answered: \(error)")
            return .failure(
                Problem(
                    .serviceUnavailable, "the collector has not answered: see the viewer's log"))
        }
    }

    /// What a refusal is for who has asked: without names of other sessions and sources, which the collector's own text may have.
    private static func problem(_ reply: ControlReply.Reply, _ subject: Subject) -> Problem? {
        switch reply {
        case .failure(let reason, let text):
            switch reason {
            case .noSession: Problem(.notFound, "\(subject) is not there, or not being recorded")
            case .refused: Problem(.conflict, text)
            case .malformed: Problem(.badRequest, text)
            case .other, .version, .unknownRequest, .stopping: Problem(.serviceUnavailable, text)
            }
        case .report(.failure(let reason, let text), _):
            switch reason {
            case .malformed, .unknownCommand, .refused: Problem(.conflict, text)
            case .notConnected: Problem(.notFound, "no agent is connected for \(subject)")
            case .busy, .other, .noAnswer, .notRestored: Problem(.serviceUnavailable, text)
            }
        case .sessionStopped, .report, .changeTold, .draining, .status, .unknown: nil
        }
    }
}
