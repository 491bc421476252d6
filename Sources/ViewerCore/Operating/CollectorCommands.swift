import Threads
import Archive
import Control
import HTTPTypes
import Logging
import Synchronization
import Wire

/// Sends commands to the collector, because the viewer only reads the archive.
///
/// The collector accepts commands from its archive's group with `--group-commands`.
final class CollectorCommands: Sendable {
    /// Subject of a command. A hung agent delays commands to its own source only.
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
    static let usualPatienceMilliseconds: Int64 = 45_000
    /// Requests about one session or source that have not been answered.
    static let maximumOfSubject = 2
    private static let maximumRunning = 16
    private static let maximumWaiting = 32

    /// The directories of the archives whose collectors a command goes to; none: no collector is known.
    private let archives: @Sendable (Subject) -> [String]
    private let logger: Logger
    private let patienceMilliseconds: Int64
    /// A reply may need as long as opening a camera, so reading threads do not wait for it.
    private let queue = BlockingWorkQueue(
        "commands", maximumRunning: maximumRunning, maximumWaiting: maximumWaiting)
    /// Number of unanswered requests by subject.
    private let open = Mutex<[Subject: Int]>([:])

    /// - Parameters:
    ///   - patienceMilliseconds: timeout of a reply.
    ///   - archives: the directories of the archives whose collectors a command goes to.
    init(
        logger: Logger, patienceMilliseconds: Int64 = usualPatienceMilliseconds,
        archives: @escaping @Sendable (Subject) -> [String]
    ) {
        self.archives = archives
        self.patienceMilliseconds = patienceMilliseconds
        self.logger = logger
    }

    /// Runs work about a subject, and waits for it. A cancelled task stops waiting; the work goes on.
    /// - Throws: ``Problem`` if as much work about it as is allowed has not ended yet; errors of the work; or `CancellationError`.
    func limited<Answer: Sendable>(
        _ subject: Subject, _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await SingleFlight<Answer>().value {
            guard self.begin(subject) else {
                throw Problem(
                    .serviceUnavailable,
                    "\(Self.maximumOfSubject) requests about \(subject) have not been answered yet: try again later"
                )
            }
            defer { self.end(subject) }
            return try await work()
        }
    }

    /// Sends a command, and waits for the reply. A cancelled task stops waiting.
    /// - Parameter archive: the directory of the archive whose collector receives the command; nil: all collectors of `subject`.
    /// - Throws: ``Problem``, also for a refusal by the collector or the agent; or `CancellationError`.
    func ask(
        _ request: ControlRequest.Request, about subject: Subject, in archive: String? = nil
    ) async throws -> ControlReply.Reply {
        let reply = try await limited(subject) {
            let archives = archive.map { [$0] } ?? self.archives(subject)
            let outcome = await self.queue.run {
                self.exchange(request, about: subject, in: archives)
            }
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

    /// Sends a command to each collector that it is for; of several, the last reply counts, or the first failure. Blocks.
    private func exchange(
        _ request: ControlRequest.Request, about subject: Subject, in archives: [String]
    ) -> Result<ControlReply.Reply, Problem> {
        var outcome: Result<ControlReply.Reply, Problem>?
        for archive in archives {
            outcome = exchange(request, with: ArchiveLayout(root: archive).commands)
            guard case .success(let reply) = outcome, Self.problem(reply, subject) == nil else {
                break
            }
        }
        return outcome ?? .failure(Self.noCollector)
    }

    /// Has the collector of an archive change a session. Blocks.
    /// - Returns: the reason why it does not; nil: it has changed it.
    func change(_ change: SessionChange, in archive: String) -> Problem? {
        let subject = Subject.session(change.session)
        switch exchange(.changeSession(change), about: subject, in: [archive]) {
        case .success(let reply): return Self.problem(reply, subject)
        case .failure(let problem): return problem
        }
    }

    private static let noCollector = Problem(
        .conflict, "no collector takes commands here: start it with --group-commands")

    /// Blocks. Paths of the server are logged, and not sent to the client.
    private func exchange(
        _ request: ControlRequest.Request, with path: String
    ) -> Result<ControlReply.Reply, Problem> {
        guard NamedPath.isSocket(path) else { return .failure(Self.noCollector) }
        do {
            let client = try ControlClient(
                path: path, name: "the collector",
                patienceMilliseconds: patienceMilliseconds, mention: { _ in },
                isThere: { true })
            return .success(try client.reply(to: request))
        } catch {
            logger.warning("a command was not answered: \(error)")
            return .failure(
                Problem(
                    .serviceUnavailable, "the collector has not answered: see the viewer's log"))
        }
    }

    /// A refusal's text for clients, without names of other sessions and sources, which the collector's text may contain.
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
