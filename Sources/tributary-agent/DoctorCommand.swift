import AgentCore
import ArgumentParser
import Control
import Logging
import Media
import Terminal
import Trust

/// `tributary-agent doctor`: checks whether this box can run a capture.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", _superCommandName: "tributary-agent",
        abstract: "Checks whether this box can capture, encode, store and send with these options.",
        discussion: """
            Takes the agent's options, tests each part, and reports whether it works and what to do when it does not. \
            Nothing is recorded. Devices that a running agent uses are busy, so run this before starting the agent. \
            The sources of a list ('cameras' in the file of --config) are tested one after the other. Exit status 1 when a \
            test fails.
            """)

    @OptionGroup var link: LinkOptions
    @OptionGroup(title: "Capture") var capture: CaptureOptions
    @OptionGroup(title: "Encoding") var encoding: EncodingOptions
    @OptionGroup(title: "Spool") var keeping: KeepingOptions
    @OptionGroup(title: "Keys") var keys: KeyOptions
    @OptionGroup(title: "Log") var log: LogOptions

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @Flag(help: "Print JSON.") var json = false

    private struct Finding: Encodable {
        /// Nil without a list of cameras.
        var source: String?
        var subject: String
        var verdict: String
        var text: String
    }

    func validate() throws {
        try link.validate()
        try keys.validate()
    }

    func run() throws {
        // After the name of the command.
        let arguments = Array(CommandArguments.all.dropFirst())
        let list = try Program.groups(of: DoctorCommand.self, arguments).map { $0.command }
        let elements = (list.isEmpty ? [self] : list).map {
            CameraService.Element(
                link: $0.link, spool: $0.keeping.spool, preview: $0.capture.preview)
        }
        if !list.isEmpty { try CameraService.check(elements) }
        let sources = list.map(\.link.name)
        let previews = SourcePreviews(sources)
        let keySources = sources.filter { !previews.isPreview($0) }
        if configuration.checks {
            for command in list.isEmpty ? [self] : list {
                try command.check(isInList: !list.isEmpty)
            }
            print(
                list.count < 2
                    ? "the options are valid" : "the options of \(list.count) cameras are valid")
            return
        }
        var findings: [Finding] = []
        func found(_ finding: Diagnosis, of source: String?) {
            findings.append(
                Finding(
                    source: source, subject: finding.subject, verdict: finding.verdict.rawValue,
                    text: finding.text))
            if !json { Self.show(finding, of: source) }
        }
        for command in list.isEmpty ? [self] : list {
            let source = list.isEmpty ? nil : command.link.name
            try command.examine(keySources: keySources) { found($0, of: source) }
        }
        let known =
            list.isEmpty
            ? [link.name, SourcePreviews.name(of: link.name)] : elements.flatMap(\.names)
        for line in keeping.unclaimed(except: known) {
            found(Diagnosis("spool", .warning, line), of: nil)
        }
        if json { try JSONText.print(findings) }
        if findings.contains(where: { $0.verdict == Diagnosis.Verdict.problem.rawValue }) {
            throw ExitCode(ExitStatus.failure)
        }
    }

    /// The source's settings.
    private func captureSettings() throws -> CaptureSettings {
        var settings = CaptureSettings(sourceName: link.name)
        do {
            try capture.apply(to: &settings)
            try encoding.apply(to: &settings)
        } catch let error as CaptureError {
            throw UsageError("\(error)")
        }
        return settings
    }

    /// Checks the options without testing anything.
    private func check(isInList: Bool) throws {
        do {
            try captureSettings().check()
            _ = try keeping.spool(source: link.name)
            try keys.check(for: UplinkSettings.collectors(link.collector))
        } catch let failure as Failure {
            throw failure
        } catch {
            throw UsageError(isInList ? "camera \(link.name): \(error)" : "\(error)")
        }
    }

    /// Runs the tests of one source.
    /// - Parameter keySources: the sources that the box's key has to be authorised for; empty: this one.
    private func examine(keySources: [String], found: (Diagnosis) -> Void) throws {
        let console = log.console
        let logger = Logger(label: "doctor") { [log] _ in
            LineLogHandler(console: console, threshold: LogThreshold(verbose: log.verbose))
        }
        var uplink = UplinkSettings(
            endpoint: link.collectors, sourceName: link.name,
            agentName: SourceNames.ofThisMachine(),
            software: Version.software("tributary-agent"), batch: link.batch.length,
            memoryLimitBytes: Int(keeping.memoryLimit.bytes),
            spool: try keeping.spool(source: link.name))
        let holder = KeyHolder(of: keySources, source: link.name, box: uplink.agentName)
        uplink.otherSecurities = try keys.securities(
            for: uplink.collectors, holder: holder, logger: logger)
        Doctor(capture: try captureSettings(), uplink: uplink, keySources: keySources)
            .examine(found: found)
    }

    private static func show(_ finding: Diagnosis, of source: String?) {
        let word =
            switch finding.verdict {
            case .ok: "OK      "
            case .warning: "WARNING "
            case .problem: "PROBLEM "
            }
        let subject = source.map { "\($0), \(finding.subject)" } ?? finding.subject
        print("\(word) \(subject): \(oneLine(finding.text))")
    }
}

extension DoctorCommand: GroupingCommand {
    static let groupsName = AgentCommand.groupsName
    static let sharedOptions = AgentCommand.sharedOptions.union(["json"])
}
