import AgentCore
import ArgumentParser
import CLinux
import Devices
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
            --video test is a moving picture whose top carries its capture time; --audio test beeps at every whole second. \
            A file is played at its own pace, as a camera would, with its sound unless --audio says otherwise. \
            'tributary-agent devices' lists cameras and microphones, with the names to use them by.

            Samples are kept in the spool until the collector has them on disk, and sent again after a lost connection, a \
            crash or a power cut. A power cut may take what is newer than the last second or, while the collector takes \
            everything promptly, what it has not got on disk yet. Every option can \
            come from the environment (--video-bitrate is TRIBUTARY_VIDEO_BITRATE) and from a file (--config). Stop with Ctrl-C or SIGTERM: what \
            has been captured is sent first; a second Ctrl-C does not wait.
            """,
        version: Version.number)

    @Option(help: "Where the collector listens: tcp://ADDRESS:PORT or ipc://PATH.")
    var collector = "tcp://127.0.0.1:5550"

    @Option(
        help: "The source's name: letters, digits, '.', '_', '-'. (default: this machine's name)")
    var source: String?

    @OptionGroup(title: "Capture") var capture: CaptureOptions
    @OptionGroup(title: "Encoding") var encoding: EncodingOptions

    @Option(help: "How much is sent in one message; 0 sends each sample at once.")
    var batch = TimeSpan(nanoseconds: 100_000_000)

    @OptionGroup(title: "Keeping what the collector does not have") var keeping: KeepingOptions

    @OptionGroup(title: "Keys") var keys: KeyOptions

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @Flag(name: .shortAndLong, help: "Log details too.")
    var verbose = false

    func validate() throws {
        if let flaw = Endpoint.flaw(collector) { throw ValidationError("--collector: \(flaw)") }
        if let source, !SourceNames.isValid(source) {
            throw ValidationError(
                "--source '\(source.prefix(80))' cannot be a name: use letters, digits, '.', '_' and "
                    + "'-', at most 64, and begin with a letter or digit")
        }
        try keys.validate()
        guard batch.nanoseconds <= 1_000_000_000 else {
            throw ValidationError("--batch \(batch) is too long: use at most 1s")
        }
    }

    func run() throws {
        // Camera boxes are small.
        _ = CLinux_share_heap()
        let console = Console()
        let name = source ?? SourceNames.ofThisMachine()
        var logger = Logger(label: "agent") { _ in HumanLogHandler(console: console) }
        logger[metadataKey: "source"] = "\(name)"
        if verbose { logger.logLevel = .debug }
        do {
            var settings = CaptureSettings(sourceName: name)
            try capture.apply(to: &settings)
            try encoding.apply(to: &settings)
            var uplink = UplinkSettings(
                endpoint: collector, sourceName: name, agentName: SourceNames.ofThisMachine(),
                software: Version.software("tributary-agent"), batch: batch.duration,
                memoryLimitBytes: Int(keeping.memoryLimit.bytes),
                spool: try keeping.spool(source: name))
            if configuration.checks {
                print("these options are right")
                return
            }
            uplink.security = try keys.security(for: collector, source: name, logger: logger)
            let agent = try Agent(capture: settings, uplink: uplink, logger: logger)
            let signals = StopSignals { count in
                if count == 1 { agent.stop() } else { agent.abandon() }
            }
            defer { withExtendedLifetime(signals) {} }
            if case .failed(let line) = try agent.run() { throw Failure(line) }
            logger.info("done: the collector has everything on disk")
        } catch let error as CaptureError {
            if case .settings(let text) = error { throw UsageError(text) }
            throw Failure("\(error)")
        } catch let error as UplinkError {
            throw Failure("\(error)")
        }
    }

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // To capture needs no word, and what it does need would be asked for with another one, too: so these are commands
        // of their own.
        if arguments.first == "devices" {
            Program.main(
                DevicesCommand.self, name: AgentCommand._commandName,
                arguments: Array(arguments.dropFirst()))
        }
        Program.main(AgentCommand.self)
    }
}
