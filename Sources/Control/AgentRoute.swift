package import ArgumentParser
import Terminal
package import Wire

/// A way to a running agent: the same commands take any.
package protocol AgentRoute: ParsableArguments {
    /// Options that the environment may give.
    static var optionNames: Set<String> { get }
    /// The source's name, for people.
    var sourceName: String { get }
    /// Asks the agent, and waits for the answer.
    /// - Throws: ``Failure`` with one line when nobody can be asked.
    func ask(_ request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8])
}

extension AgentRoute {
    /// Asks the agent; its failure is ours.
    func answer(to request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8]) {
        let answer = try ask(request)
        switch answer.reply {
        case .failure(_, let text): throw Failure(text)
        case .unknown:
            throw Failure("unexpected answer from the agent: use the same version of all programs")
        case .status, .controls, .keyframeRequested, .snapshot: return answer
        }
    }
}

extension ControlReply.Reply {
    /// The answer of an agent.
    package func ofAgent() throws -> (reply: CommandReply, payload: [UInt8]) {
        guard case .report(let reply, let payload) = self else {
            throw Failure("unexpected answer: use the same version of all programs")
        }
        return (reply, payload)
    }
}
