import AgentCore
import ArgumentParser
import CLinux
import Control
import Devices
import Dispatch
import Encoding
import Glibc
import Logging
import Media
import Terminal
import Trust

/// The agent's command line.
@main
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tributary-agent",
        abstract: "Captures one source, encodes it and sends it to a collector.",
        discussion: """
            'tributary-agent doctor --help' shows how to find out whether this box can do it, 'tributary-agent control --help' \
            how a running agent is changed, 'tributary-agent enrol --help' how a box is connected to a server.

            --video test is a moving picture whose top carries its capture time; --audio test beeps at every whole second. \
            A file is played at its own pace, as a camera would, with its sound unless --audio says otherwise. \
            'tributary-agent devices' lists cameras and microphones, with the names to use them by.

            Samples are kept in the spool until the collector has them on disk, and sent again after a lost connection, a \
            crash or a power cut. A power cut may take what is newer than the last second or, while the collector takes \
            everything promptly, what it has not got on disk yet. Every option can \
            come from the environment (--video-bitrate is TRIBUTARY_VIDEO_BITRATE) and from a file (--config). Stop with Ctrl-C or SIGTERM: what \
            has been captured is sent first, for at most --linger; a second Ctrl-C does not wait. SIGHUP reads the file again: what is captured, its size, rate and \
            bitrate change while it runs.
            """,
        version: Version.number)

    @OptionGroup var link: LinkOptions

    @OptionGroup(title: "Capture") var capture: CaptureOptions
    @OptionGroup(title: "Encoding") var encoding: EncodingOptions

    @OptionGroup(title: "Keeping what the collector does not have") var keeping: KeepingOptions

    @OptionGroup(title: "Keys") var keys: KeyOptions

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    func validate() throws {
        try link.validate()
        try keys.validate()
    }

    func run() throws {
        // Camera boxes are small.
        _ = CLinux_share_heap()
        let console = Console()
        let name = link.name
        let service = AgentService(console: console, source: name, isVerbose: link.verbose)
        let logger = service.logger
        do {
            var settings = CaptureSettings(sourceName: name)
            try capture.apply(to: &settings)
            try encoding.apply(to: &settings)
            var uplink = UplinkSettings(
                endpoint: link.collector, sourceName: name, agentName: SourceNames.ofThisMachine(),
                software: Version.software("tributary-agent"), batch: link.batch.duration,
                memoryLimitBytes: Int(keeping.memoryLimit.bytes),
                spool: try keeping.spool(source: name))
            if configuration.checks {
                try settings.check()
                print("these options are right")
                return
            }
            uplink.linger = keeping.linger.duration
            uplink.controlPath = ControlSocket.path(
                link.controlSocket, spool: keeping.spool, source: name)
            uplink.security = try keys.security(for: link.collector, source: name, logger: logger)
            let agent = try Agent(capture: settings, uplink: uplink, logger: logger)
            let signals = StopSignals { count in
                if count > 1 { return agent.abandon() }
                service.stop(agent)
            }
            let reloading = ReloadSignal { service.reload(agent) }
            let watching = service.watch(agent)
            defer {
                watching?.cancel()
                withExtendedLifetime((signals, reloading)) {}
            }
            switch try agent.run() {
            case .complete: logger.info("done: the collector has everything on disk")
            case .kept(let line): try service.leave(line)
            case .failed(let line): throw Failure(line)
            }
        } catch let error as CaptureError {
            if case .settings(let text) = error { throw UsageError(text) }
            throw Failure("\(error)")
        } catch let error as UplinkError {
            throw Failure("\(error)")
        }
    }

    static func main() {
        // Beside the agent itself there are commands that look after it.
        let words = Array(CommandLine.arguments.dropFirst())
        let rest = Array(words.dropFirst())
        switch words.first {
        case "control":
            let options = SocketRoute.optionNames
            if let flaw = AgentCommands.flaw(
                in: rest, valueOptions: options, isSourceNamed: false)
            {
                Program.refuse(UsageError(flaw), name: Self._commandName)
            }
            Program.main(
                ControlCommand.self, name: Self._commandName,
                arguments: AgentCommands.arranged(rest, valueOptions: options))
        case "devices":
            Program.main(DevicesCommand.self, name: Self._commandName, arguments: rest)
        case "enrol":
            Program.main(EnrolCommand.self, name: Self._commandName, arguments: rest)
        case "doctor":
            Program.main(DoctorCommand.self, name: Self._commandName, arguments: rest)
        case "help":
            Program.main(AgentCommand.self, arguments: ["--help"])
        case .some(let word) where !word.hasPrefix("-"):
            let commands = ["control", "devices", "doctor", "enrol"]
            let flaw =
                "there is no command '\(word)': \(suggestion(for: word, among: commands)) Options alone capture."
            Program.refuse(UsageError(flaw), name: Self._commandName)
        default:
            Program.main(AgentCommand.self)
        }
    }
}
