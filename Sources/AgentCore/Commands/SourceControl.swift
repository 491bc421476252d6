import Control
import Logging
import Wire

/// The control socket of one source: passes commands of this machine to a handler.
final class SourceControl: Sendable {
    /// Called on the socket's thread, must not block it. The answer may come later, on any thread.
    typealias Handler = @Sendable (CommandRequest, @escaping CommandQueue.Answer) -> Void

    let path: String
    private let server: ControlServer

    /// Opens the socket. It is created with a changed umask(2), which is process-wide: no other thread may create files
    /// during the call.
    /// - Returns: nil, with a log line, on failure: recording does not depend on it.
    init?(at path: String, source: String, logger: Logger, handler: @escaping Handler) {
        self.path = path
        do throws(ControlSocketError) {
            server = try ControlServer { server in
                for question in server.takeQuestions() {
                    Self.follow(question, source: source, handler)
                }
            }
            try server.start(at: path)
        } catch {
            logger.warning(
                "no control socket, so this agent takes no local commands: \(path): \(error); use another --control-socket"
            )
            return nil
        }
    }

    /// Sends pending answers, and removes the socket. Blocks; the handler is not called afterwards.
    func close() { server.stop() }

    private static func follow(
        _ question: ControlServer.Question, source: String, _ handler: Handler
    ) {
        switch question.request.request {
        case .command(let request, let name) where name == nil || name == source:
            handler(request) { reply, payload in
                question.answer(.report(reply, payload: payload))
            }
        case .command:
            question.answer(.failure(.malformed, "this agent sends the source \(source)"))
        case .stopSession, .sessionChanged, .changeSession, .drain, .status, .unknown:
            question.answer(.failure(.unknownRequest, "unknown request"))
        }
    }
}
