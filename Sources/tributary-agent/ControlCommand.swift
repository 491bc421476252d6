import ArgumentParser
import Control
import Files
import Glibc
import Media
import Terminal
import Wire

/// The control socket of an agent, for commands on its box.
enum ControlSocket {
    /// - Parameters:
    ///   - option: the value of `--control-socket`.
    ///   - spool: the value of `--spool`.
    static func path(_ option: String?, spool: String?, source: String) -> String? {
        if option == "none" { return nil }
        return option ?? KeepingOptions.directory(spool).map { "\($0)/\(source).sock" }
    }
}

/// `tributary-agent control`: commands to the agent that runs on this box.
struct ControlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "control", _superCommandName: "tributary-agent",
        abstract: "Shows and changes the capture of a running agent on this box.",
        discussion: """
            'tributary agent SOURCE' on the server takes the same commands. Exit status 1 when no agent is running here or \
            the agent refuses the command.
            """,
        subcommands: AgentCommands.all(by: SocketRoute.self))
}

/// Through the agent's own socket.
struct SocketRoute: AgentRoute {
    @Option(
        help:
            "Source name. (default: this machine's name, or that of the only running agent)")
    var source: String?

    @Option(help: "The agent's spool directory (its --spool).")
    var spool: String?

    @Option(
        help: ArgumentHelp("The agent's control socket (its --control-socket).", valueName: "path"))
    var controlSocket: String?

    static var optionNames: Set<String> { ["source", "spool", "control-socket"] }
    var sourceName: String {
        if let source { return source }
        // The socket that was found has the name of its source.
        let file = socketPath.map(Path.name) ?? ""
        return file.hasSuffix(".sock")
            ? String(file.dropLast(".sock".count)) : SourceNames.ofThisMachine()
    }

    func ask(_ request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8]) {
        if let source, !SourceName.isValid(source) {
            throw UsageError(
                "'\(source.prefix(80))' is not a valid source name: \(SourceName.rule)"
            )
        }
        guard let path = socketPath else {
            throw UsageError(
                "there is no spool directory to find the agent in: give its socket with --control-socket"
            )
        }
        guard ControlClient.isListening(at: path) else {
            throw Failure("no agent is listening at \(path): \(advice(path))")
        }
        let client = try ControlClient(path: path, name: "the agent") {
            ControlClient.isListening(at: path)
        }
        return try client.ask(.command(request, source: source)).ofAgent()
    }

    private var socketPath: String? {
        let name = source ?? SourceNames.ofThisMachine()
        guard let path = ControlSocket.path(controlSocket, spool: spool, source: name) else {
            return nil
        }
        if controlSocket != nil || source != nil || access(path, F_OK) == 0 { return path }
        let sockets = KeepingOptions.directory(spool).map(Self.sockets) ?? []
        let previews = SourcePreviews(sockets.map(Self.source))
        let sources = sockets.filter { !previews.isPreview(Self.source($0)) }
        return sources.count == 1 ? sources[0] : path
    }

    /// Advice if no agent listens: the names of running agents.
    private func advice(_ path: String) -> String {
        guard controlSocket == nil, let directory = KeepingOptions.directory(spool) else {
            return "check --control-socket, and run this as the user that the agent runs as"
        }
        let running = Self.sockets(in: directory).filter(ControlClient.isListening).sorted()
            .map(Self.source)
        guard !running.isEmpty else {
            return
                "no agent is running with its spool in \(directory); give --spool or --control-socket, and run this as "
                + "the user that the agent runs as"
        }
        return
            "running with this spool: \(running.joined(separator: ", ")); choose one with --source"
    }

    /// The source whose agent has that socket.
    private static func source(_ socket: String) -> String {
        String(Path.name(of: socket).dropLast(".sock".count))
    }

    private static func sockets(in directory: String) -> [String] {
        (Directory.names(in: directory) { $0.hasSuffix(".sock") } ?? []).map {
            "\(directory)/\($0)"
        }
    }
}
