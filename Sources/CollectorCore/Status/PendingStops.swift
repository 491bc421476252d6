import Control
import Wire

/// Stopped sessions, and the requests that wait for them to be finished.
struct PendingStops: Sendable {
    private var waiting: [(question: ControlServer.Question, session: StoppedSession)] = []

    /// Adds a request that waits for the end of a stopped session.
    mutating func wait(_ question: ControlServer.Question, for session: StoppedSession) {
        waiting.append((question, session))
    }

    /// A session is finished: returns the answers that are due.
    /// - Parameter damage: the first file of the session that could not be finished; nil: every file is final.
    mutating func finished(
        _ name: String, damage: String?
    ) -> [(question: ControlServer.Question, reply: ControlReply.Reply)] {
        let due = waiting.filter { $0.session.name == name }
        waiting.removeAll { $0.session.name == name }
        return due.map { question, session in
            guard let damage else { return (question, .sessionStopped(session)) }
            return (
                question,
                .failure(
                    .other, "session \(name) is stopped, but not every file is final: \(damage)")
            )
        }
    }
}
