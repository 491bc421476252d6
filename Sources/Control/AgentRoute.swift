package import ArgumentParser
import Terminal
package import Wire

/// A route to a running agent, shared by all commands.
package protocol AgentRoute: ParsableArguments {
    /// Options that may also be set by the environment.
    static var optionNames: Set<String> { get }
    /// The source's name, for messages.
    var sourceName: String { get }
    /// Sends a request to the agent, and waits for the reply.
    /// - Throws: ``Failure`` with one line when the agent cannot be reached.
    func ask(_ request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8])
}

extension AgentRoute {
    /// Sends a request; throws if the agent reports a failure.
    func answer(to request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8]) {
        let answer = try ask(request)
        switch answer.reply {
        case .failure(_, let text): throw Failure(text)
        case .unknown:
            throw Failure("unexpected answer from the agent: use the same version of all programs")
        default: return answer
        }
    }
}

extension ControlReply.Reply {
    /// The agent's reply and its payload.
    /// - Throws: ``Failure`` for another kind of reply, as from a program of another version.
    package func ofAgent() throws -> (reply: CommandReply, payload: [UInt8]) {
        guard case .report(let reply, let payload) = self else {
            throw Failure("unexpected answer: use the same version of all programs")
        }
        return (reply, payload)
    }
}
