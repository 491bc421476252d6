import Archive
import ArgumentParser
import Containers
import Glibc
import Logging
import Messaging
import CollectorClient
import ReplayCore
import Terminal
import Trust

/// `tributary replay`: what was recorded, as if it were live.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Plays recordings again, as if they were live.",
        discussion: """
            The input is a session of the archive (or 'latest'), a session's directory, recordings (.mp4) of one session, the spool of an \
            agent that is gone, or what 'tributary-collector --record-wire' wrote. All sources are played on their common timeline, gaps and changes of format included; what is \
            sent is what was recorded, byte for byte.

            Into a collector (tcp://, ipc://), at the recorded speed, samples get the times at which they are sent, as a camera's would. \
            At any other speed, or with --keep-time, they keep their distances to the nanosecond, and with --keep-time the \
            recording's own zero too.

            Anything else than a collector gets the coded pictures and sound in a container: 'tributary replay latest --to - | ffplay -'. \
            Where a recording changes its formats, MPEG-TS goes on; other files are followed by another one (show.mkv, show-2.mkv), other \
            servers are connected to again.

            On a terminal, space pauses and goes on, s steps to the next message, q ends. Ctrl-C ends too: what was \
            sent is completed; a second Ctrl-C does not wait.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: ArgumentHelp("A session, or files.", valueName: "input"))
    var inputs: [String]

    @Option(
        help: """
            Where to: a collector (tcp://ADDRESS:PORT or ipc://PATH), a file (.ts .mkv .mp4 …), - for MPEG-TS on standard output, or \
            what libavformat can send to (udp://, rtsp://, srt://, rtmp://).
            """)
    var to = "tcp://127.0.0.1:5550"

    @Option(
        help: ArgumentHelp(
            "Play only this source; give it again for others.", valueName: "name"))
    var source: [String] = []

    @Option(
        help: """
            How fast: 1 is as recorded; 0.001 to 1000, or max for as fast as it is taken. (default: 1; max into a file)
            """)
    var speed: ReplaySpeed?

    @Option(
        help: "From when on: session time (1:23.5, 90s) or UTC. Begins with the keyframe before it."
    )
    var from: TimelinePoint?

    @Option(help: "Until when: session time (1:23.5, 90s) or UTC.")
    var until: TimelinePoint?

    @Flag(help: "Begin again at the end, for ever.")
    var loop = false

    @Flag(help: "Keep the recording's times: the new session has the old one's zero.")
    var keepTime = false

    @Flag(help: "Begin paused; s steps, space goes on.")
    var paused = false

    @Flag(help: "Replace the file if it is there already.")
    var overwrite = false

    @OptionGroup(title: "Keys") var keys: KeyOptions

    @Flag(help: "Print what was played as JSON.")
    var json = false

    @Flag(name: .shortAndLong, help: "Log details too.")
    var verbose = false

    func validate() throws {
        guard !inputs.isEmpty else {
            throw ValidationError("say what to play: a session, or files")
        }
        if ContainerTarget.isCollector(to) {
            if let flaw = Endpoint.flaw(to) { throw ValidationError("--to: \(flaw)") }
        } else if let flaw = ContainerTarget.flaw(to) {
            throw ValidationError("--to: \(flaw)")
        }
        if overwrite, ContainerTarget(to)?.isFile != true {
            throw ValidationError("--overwrite is for files: --to \(to) is none")
        }
        try keys.validate()
    }

    func run() throws {
        let console = Console()
        var logger = Logger(label: "replay") { _ in HumanLogHandler(console: console) }
        logger.logLevel = verbose ? .debug : .notice
        if inputs.count == 1, WireTapeReader.isTape(inputs[0]) {
            return try WireReplayRun.run(inputs[0], self, console: console, logger: logger)
        }
        let input = try ReplayInput(self)
        if !ContainerTarget.isCollector(to) {
            return try ContainerReplayRun.run(input, self, console: console)
        }
        if keepTime, input.zeroUTCNanoseconds == nil {
            throw UsageError(
                "--keep-time: \(input.name) does not say what time it was; leave it out")
        }
        let settings = ReplaySettings(
            endpoint: to,
            security: try keys.security(
                for: to, source: input.sources.first ?? "replay", logger: logger),
            speed: pace, timeline: timeline(input), loops: loop,
            agentName: "replay of \(input.name)", software: Version.software("tributary"))
        do {
            let control = try ReplayControl(startsPaused: paused)
            let replay = CollectorReplay(settings: settings, control: control, logger: logger)
            let began = ContinuousClock().now
            let outcome = try ReplayWatch.watch(
                control, input: input, to: to, speed: pace, console: console
            ) { () throws(ReplayError) in try replay.run(input.players) }
            if case .failed(let line) = outcome { throw Failure(line) }
            let report = ReplayReport(
                control.status, input: input, seconds: (ContinuousClock().now - began) / .seconds(1)
            )
            if json { try JSONOutput.print(report) } else { print(report.line) }
        } catch let error as ReplayError {
            throw Failure("\(error)")
        }
    }

    private func timeline(_ input: ReplayInput) -> ReplaySettings.Timeline {
        if keepTime, let zero = input.zeroUTCNanoseconds { return .kept(zeroUTCNanoseconds: zero) }
        return pace == .normal ? .live : .moved
    }

    /// How fast it is sent to a collector.
    var pace: ReplaySpeed { speed ?? .normal }
}

extension ReplaySpeed: HintedArgument {
    package static var valueHint: String { "how many times as fast, such as 0.5, 1 or 8, or max" }

    /// Reads `1`, `0.25`, `max`.
    package init?(argument: String) {
        if argument == "max" {
            self = .unlimited
            return
        }
        let parts = argument.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 6 }),
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let whole = Int64(parts[0]),
            let fraction = Int64(
                parts.count == 2
                    ? parts[1] + String(repeating: "0", count: 6 - parts[1].count) : "0")
        else { return nil }
        let millionths = whole * 1_000_000 + fraction
        guard ReplaySpeed.range.contains(millionths) else { return nil }
        self = .millionths(millionths)
    }

    /// For help.
    package var defaultValueDescription: String { text }

    /// `1`, `0.25`, `max`.
    var text: String {
        guard case .millionths(let value) = self else { return "max" }
        let (whole, rest) = value.quotientAndRemainder(dividingBy: 1_000_000)
        guard rest > 0 else { return "\(whole)" }
        var digits = String(rest)
        digits = String(repeating: "0", count: 6 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(whole).\(digits)"
    }
}
