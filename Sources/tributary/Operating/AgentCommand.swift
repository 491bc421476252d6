import Archive
import ArgumentParser
import Control
import Terminal
import Wire

/// `tributary agent`: commands to agents, through the collector that they send to.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Shows and changes what an agent captures, while it does.",
        usage: "tributary agent <source> <command> …",
        discussion: """
            The collector that records into the archive passes the command on, so that only its own user can give any. \
            Exit status 1 when no agent sends the source, or when it refuses.
            """,
        subcommands: AgentCommands.all(by: CollectorRoute.self))

    /// `agent stage status` as `agent status stage`, which is how the parser takes it.
    /// - Throws: where no command is given; the parser would only say that it had not expected a name.
    static func arranged(_ arguments: [String]) throws(UsageError) -> [String] {
        guard arguments.first == "agent" else { return arguments }
        let words = Array(arguments.dropFirst())
        let options = CollectorRoute.optionNames
        if let flaw = AgentCommands.flaw(in: words, valueOptions: options, isSourceNamed: true) {
            throw UsageError(flaw)
        }
        return ["agent"] + AgentCommands.arranged(words, valueOptions: options)
    }
}

/// Through the collector.
struct CollectorRoute: AgentRoute {
    @Argument(help: "The source's name.")
    var source: String

    @OptionGroup var archive: ArchiveOptions

    static var optionNames: Set<String> { ["archive"] }
    var sourceName: String { source }

    func ask(_ request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8]) {
        guard ArchiveLayout.isValidName(source) else {
            throw UsageError("'\(source)' cannot be a source's name")
        }
        let reply = try withArchiveErrors {
            try CollectorControl(archive.layout).ask(.command(request, source: source))
        }
        return try reply.ofAgent()
    }
}
