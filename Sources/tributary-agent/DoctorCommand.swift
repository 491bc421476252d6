import AgentCore
import ArgumentParser
import Control
import Logging
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
            Exit status 1 when a test fails.
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
        var subject: String
        var verdict: String
        var text: String
    }

    func validate() throws {
        try link.validate()
        try keys.validate()
    }

    func run() throws {
        let console = log.console
        let name = link.name
        let logger = Logger(label: "doctor") { [log] _ in
            LineLogHandler(console: console, threshold: LogThreshold(verbose: log.verbose))
        }
        var settings = CaptureSettings(sourceName: name)
        do {
            try capture.apply(to: &settings)
            try encoding.apply(to: &settings)
        } catch let error as CaptureError {
            throw UsageError("\(error)")
        }
        if configuration.checks {
            do throws(CaptureError) {
                try settings.check()
            } catch {
                throw UsageError("\(error)")
            }
            print("the options are valid")
            return
        }
        var uplink = UplinkSettings(
            endpoint: link.collectors, sourceName: name, agentName: SourceNames.ofThisMachine(),
            software: Version.software("tributary-agent"), batch: link.batch.length,
            memoryLimitBytes: Int(keeping.memoryLimit.bytes),
            spool: try keeping.spool(source: name))
        uplink.otherSecurities = try keys.securities(
            for: uplink.collectors, source: name, logger: logger)
        var findings: [Diagnosis] = []
        Doctor(capture: settings, uplink: uplink).examine { finding in
            findings.append(finding)
            if !json { Self.show(finding) }
        }
        if json {
            try JSONText.print(
                findings.map {
                    Finding(subject: $0.subject, verdict: $0.verdict.rawValue, text: $0.text)
                })
        }
        if findings.contains(where: { $0.verdict == .problem }) {
            throw ExitCode(ExitStatus.failure)
        }
    }

    private static func show(_ finding: Diagnosis) {
        let word =
            switch finding.verdict {
            case .ok: "OK      "
            case .warning: "WARNING "
            case .problem: "PROBLEM "
            }
        print("\(word) \(finding.subject): \(oneLine(finding.text))")
    }
}
