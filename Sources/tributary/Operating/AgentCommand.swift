import Archive
import ArgumentParser
import Control
import Terminal
import Wire

/// `tributary agent`: commands to agents, through the collector that they send to.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Shows and changes the capture of a running agent.",
        usage: "tributary agent <source> <command> …",
        discussion: """
            The collector that records into the archive forwards the command, so only the collector's user can run it. Exit \
            status 1 when no connected agent sends the source or the agent refuses the command.
            """,
        subcommands: AgentCommands.all(by: CollectorRoute.self))

    /// `agent stage status` as `agent status stage`, the order that the parser needs.
    /// - Throws: without a command; the parser would only report an unexpected name.
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
    @Argument(help: "Source name.")
    var source: String

    @OptionGroup var archive: DirectoryOptions

    static var optionNames: Set<String> { ["archive"] }
    var sourceName: String { source }

    func ask(_ request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8]) {
        guard ArchiveLayout.isValidName(source) else {
            throw UsageError(
                "'\(source)' is not a valid source name: use letters, digits, '.', '_' and '-'")
        }
        let reply = try withArchiveErrors {
            try CollectorControl(archive.layout).ask(.command(request, source: source))
        }
        return try reply.ofAgent()
    }
}
