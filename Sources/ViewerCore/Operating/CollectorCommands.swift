import Archive
import Control
import HTTPTypes
import Terminal
import Wire

/// Asks the collector for what the viewer may not do itself: it only reads the archive.
///
/// The collector takes such requests from its archive's group when it runs with `--group-commands`.
final class CollectorCommands: Sendable {
    private let path: String
    /// An answer can take as long as a camera takes to open: threads that read recordings do not wait for it.
    private let threads = ReadingThreads(count: 4)

    init(archive: String) {
        path = ArchiveLayout(root: archive).commands
    }

    /// Asks one thing, and waits for the answer.
    /// - Throws: ``Problem``, also when the collector or the agent refuses.
    func ask(_ request: ControlRequest.Request) async throws -> ControlReply.Reply {
        let path = path
        let reply = try await threads.run {
            guard FileSystem.exists(path) else {
                throw Problem(
                    .serviceUnavailable,
                    "no collector takes commands here: start it with --group-commands")
            }
            do {
                return try ControlClient(
                    path: path, name: "the collector", mention: { _ in }, isThere: { true }
                ).reply(to: request)
            } catch let failure as Failure {
                throw Problem(.serviceUnavailable, "\(failure)")
            }
        }
        if let problem = Self.problem(reply) { throw problem }
        return reply
    }

    func stop() async throws { try await threads.stop() }

    private static func problem(_ reply: ControlReply.Reply) -> Problem? {
        switch reply {
        case .failure(let reason, let text):
            switch reason {
            case .noSession: Problem(.notFound, text)
            case .refused: Problem(.conflict, text)
            case .malformed: Problem(.badRequest, text)
            case .other, .version, .unknownRequest, .stopping: Problem(.serviceUnavailable, text)
            }
        case .report(.failure(let reason, let text), _):
            switch reason {
            case .malformed, .unknownCommand, .refused: Problem(.conflict, text)
            case .notConnected: Problem(.notFound, text)
            case .busy, .other, .noAnswer, .notRestored: Problem(.serviceUnavailable, text)
            }
        case .sessionStopped, .report, .changeTold, .status, .unknown: nil
        }
    }
}
