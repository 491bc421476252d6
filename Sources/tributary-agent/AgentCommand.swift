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
import Wire

/// The agent's command line.
@main
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tributary-agent",
        abstract: "Captures a source, or several, encodes them and sends them to a collector.",
        discussion: """
            Other commands: 'tributary-agent doctor' checks whether this box can run a capture, 'tributary-agent control' \
            changes a running agent, 'tributary-agent enrol' connects a box to a server, and 'tributary-agent devices' \
            lists cameras and microphones with their names. Each has a --help of its own.

            --video test is a moving test pattern that shows its capture time at the top; --audio test beeps at every \
            whole second. A file is read in real time, like a camera, with its audio unless --audio is given.

            Samples are kept in the spool until the collector has them on disk. They are sent again after a lost \
            connection, a crash or a power failure. While the collector keeps up, a power failure on this box can lose the \
            samples that the collector does not have on disk yet; otherwise the last second, or up to seven seconds if \
            the collector was just lost.

            A configuration file may list several sources under 'cameras', each with its own 'source', 'video' and other \
            options. One agent records all of them; one that fails is started again and does not affect the others. SIGHUP \
            adds, removes and changes them.

            Every option can be set in the environment (--video-bitrate is TRIBUTARY_VIDEO_BITRATE) and in a file \
            (--config). Stop with Ctrl-C or SIGTERM: captured samples are sent first, for at most --linger; a second \
            Ctrl-C does not wait. SIGHUP reloads the file: video, audio, size, frame rate, bitrate, crop, rotation and \
            mirroring change without a restart.

            Exit status: 0 when the collector has everything on disk, 1 when the work failed or samples are left, 64 for wrong usage, 77 when \
            samples are left because the collector does not admit this box's key.
            """,
        version: Version.number)

    @OptionGroup var link: LinkOptions

    @OptionGroup(title: "Capture") var capture: CaptureOptions
    @OptionGroup(title: "Encoding") var encoding: EncodingOptions

    @OptionGroup(title: "Spool") var keeping: KeepingOptions

    @OptionGroup(title: "Keys") var keys: KeyOptions

    @OptionGroup(title: "Log") var log: LogOptions

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    func validate() throws {
        try link.validate()
        try keys.validate()
    }

    /// Requested limit of open files: each source of a configuration with many has about twenty.
    private static let descriptors = 65_536
    private static let leastDescriptors = 64

    func run() throws {
        try DescriptorLimit.raise(to: Self.descriptors, orFailBelow: Self.leastDescriptors)
        // Camera boxes are small.
        _ = CLinux_share_heap()
        if let cameras = try CameraService.cameras() {
            return try CameraService(self).run(cameras)
        }
        let console = log.console
        let name = link.name
        let service = AgentService(console: console, source: name, isVerbose: log.verbose)
        let logger = service.logger
        do {
            if configuration.checks {
                try check()
                print("the options are valid")
                return
            }
            let plan = try plans(logger)[0]
            for line in keeping.unclaimed(except: [name]) { logger.warning("\(line)") }
            let agent = try Agent(capture: plan.capture, uplink: plan.uplink, logger: logger)
            let signals = StopSignals { count in
                if count > 1 { return agent.abandon() }
                service.stop(agent)
                StopDeadline.begin(linger: plan.uplink.linger, logger)
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
            case .refused(let line, isKept: true):
                try service.leave(line, else: ExitStatus.refused)
            case .refused(let line, isKept: false):
                throw Failure(line, exitStatus: ExitStatus.refused)
            case .failed(let line): throw Failure(line)
            }
        } catch CaptureError.stopped {
            try service.leave("\(CaptureError.stopped)")
        } catch let error as CaptureError {
            if case .settings(let text) = error { throw UsageError(text) }
            throw Failure("\(error)")
        } catch let error as UplinkError {
            throw Failure("\(error)")
        }
    }

    func captureSettings() throws -> CaptureSettings {
        let name = link.name
        var settings = CaptureSettings(sourceName: name)
        try capture.apply(to: &settings)
        try encoding.apply(to: &settings)
        guard settings.preview != nil else { return settings }
        if SourcePreviews.source(named: name) != nil {
            throw UsageError(
                "'\(name)' is the name of a preview, which has no preview itself: leave --preview out"
            )
        }
        guard SourceName.isValid(SourcePreviews.name(of: name)) else {
            throw UsageError(
                "the name '\(name)' is too long for a source with a preview: use a shorter --source"
            )
        }
        return settings
    }

    /// Checks the options as far as possible without opening or creating anything.
    func check() throws {
        try captureSettings().check()
        _ = try keeping.spool(source: link.name)
        try keys.check(for: UplinkSettings.collectors(link.collector))
    }

    /// Resolves the options into a plan for the source, and one for its preview. Creates the box's key if it is missing.
    /// - Parameter keySources: the sources that the key has to be authorised for, without previews; empty: this one.
    func plans(_ logger: Logger, keySources: [String] = []) throws -> [AgentPlan] {
        var settings = try captureSettings()
        let preview = settings.ownPreview
        // Another preview does not restart the source.
        settings.preview = nil
        let holder = KeyHolder(
            of: keySources, source: link.name, box: SourceNames.ofThisMachine())
        var plans = [AgentPlan(capture: settings, uplink: try uplink(link.name, holder, logger))]
        if let preview {
            plans.append(
                AgentPlan(
                    capture: preview, uplink: try uplink(preview.sourceName, holder, logger)))
        }
        return plans
    }

    private func uplink(
        _ name: String, _ holder: KeyHolder, _ logger: Logger
    ) throws -> UplinkSettings {
        var uplink = UplinkSettings(
            endpoint: link.collectors, sourceName: name, agentName: SourceNames.ofThisMachine(),
            software: Version.software("tributary-agent"), batch: link.batch.length,
            memoryLimitBytes: Int(keeping.memoryLimit.bytes),
            spool: try keeping.spool(source: name))
        uplink.linger = keeping.linger.duration
        uplink.controlPath = link.socketPath(of: name, spool: keeping.spool)
        uplink.otherSecurities = try keys.securities(
            for: uplink.collectors, holder: holder, logger: logger)
        return uplink
    }

    /// The subcommands other than capturing. `deploy/manual` generates a manual page for each.
    private static let commands: [(name: String, type: any ParsableCommand.Type)] = [
        ("control", ControlCommand.self), ("devices", DevicesCommand.self),
        ("doctor", DoctorCommand.self), ("enrol", EnrolCommand.self),
    ]

    static func main() {
        let words = CommandArguments.all
        let rest = Array(words.dropFirst())
        switch words.first {
        case "help": Program.main(AgentCommand.self, arguments: ["--help"])
        case .some(let word) where !word.hasPrefix("-"): perform(word, rest)
        default:
            Program.main(AgentCommand.self, signals: .service(reloads: true))
        }
    }

    /// Runs one of ``commands``.
    private static func perform(_ name: String, _ arguments: [String]) {
        guard let command = commands.first(where: { $0.name == name })?.type else {
            let flaw =
                "there is no command '\(name)': \(suggestion(for: name, among: commands.map(\.name))) (without a command, the agent captures)"
            Program.refuse(UsageError(flaw), name: Self._commandName)
        }
        var arguments = arguments
        if command == ControlCommand.self {
            let options = SocketRoute.optionNames
            if let flaw = AgentCommands.flaw(
                in: arguments, valueOptions: options, isSourceNamed: false)
            {
                Program.refuse(UsageError(flaw), name: Self._commandName)
            }
            arguments = AgentCommands.arranged(arguments, valueOptions: options)
        }
        Program.main(command, name: Self._commandName, arguments: arguments)
    }
}

extension AgentCommand: GroupingCommand {
    static let groupsName = "cameras"

    /// Options that apply to all cameras. All other options belong to one camera.
    static let sharedOptions: Set = [
        "collector", "collector-key", "insecure", "keys", "spool", "verbose", "log-format",
        "config",
        "check-config",
    ]
}
