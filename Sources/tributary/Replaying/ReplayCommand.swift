import Archive
import ArgumentParser
import CollectorClient
import Containers
import Glibc
import JSON
import Logging
import Messaging
import ReplayCore
import Terminal
import Trust

/// `tributary replay`: plays recordings as if they were live.
struct ReplayCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Replays recordings in real time, like a live source.",
        discussion: """
            The input is a session of the archive (or 'latest'), a session directory, recordings (.mp4) of one session, the spool of \
            an agent that no longer runs, or a file written by 'tributary-collector --record-wire'. All sources are played on their \
            common timeline, including gaps and format changes. The samples are sent as recorded, byte for byte.

            To a collector (tcp://, ipc://) at the recorded speed, samples get new timestamps at sending time, like those of a \
            camera. At any other speed, or with --keep-time, the intervals between timestamps are kept to the nanosecond; \
            --keep-time also keeps the session zero of the recording.

            Other destinations get the coded video and audio in a container: 'tributary replay latest --to - | ffplay -'. When the \
            format changes, MPEG-TS continues if the codecs are the same. Otherwise, a file is followed by a new one \
            (show.mkv, show-2.mkv), a server is connected to again, and standard output continues with a new program map. Previews \
            (NAME.preview) are sent to collectors; to other destinations only with --source.

            On a terminal: space pauses and resumes, s steps to the next message, q stops. Ctrl-C stops too, after completing what \
            was sent; a second Ctrl-C does not wait. Exit status 77 when the collector does not admit this machine's key.
            """)

    private static let defaultCollector = "tcp://127.0.0.1:5550"

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: ArgumentHelp("A session or files.", valueName: "input"))
    var inputs: [String]

    @Option(
        help: """
            Destination: a collector (tcp://ADDRESS:PORT or ipc://PATH), a file (.ts .mkv .mp4 …), - for MPEG-TS on standard output, or \
            a stream URL of libavformat (udp://, rtsp://, srt://, rtmp://).
            """)
    var to = Self.defaultCollector

    @Option(
        help: ArgumentHelp(
            "File whose first line is a stream URL, instead of --to: a stream key in --to can be read by every user (ps).",
            valueName: "file"))
    var urlFile: String?

    @Option(
        help: ArgumentHelp(
            "Play only this source. Repeatable.", valueName: "name"))
    var source: [String] = []

    @Option(
        help: """
            Playback speed: 0.001 to 1000 times the recorded speed, or max for no pacing. (default: 1; max for a file)
            """)
    var speed: ReplaySpeed?

    @Option(
        parsing: .unconditional,
        help: "Start at this session time (1:23.5, 90s) or UTC, from the keyframe before it."
    )
    var from: TimelinePoint?

    @Option(
        parsing: .unconditional, help: "Stop at this session time (1:23.5, 90s) or UTC.")
    var until: TimelinePoint?

    @Flag(help: "Loop until stopped.")
    var loop = false

    @Flag(help: "Keep the timestamps and the session zero of the recording.")
    var keepTime = false

    @Flag(help: "Start paused; s steps, space resumes.")
    var paused = false

    @Flag(help: "Overwrite an existing file.")
    var overwrite = false

    @OptionGroup(title: "Keys") var keys: KeyOptions

    @Flag(help: "Print the result as JSON; with --to - on standard error.")
    var json = false

    @OptionGroup(title: "Log") var log: LogOptions

    func validate() throws {
        guard !inputs.isEmpty else {
            throw ValidationError("nothing to play: give a session or files")
        }
        if ContainerTarget.isCollector(to) {
            if let flaw = Endpoint.flaw(to) { throw ValidationError("--to: \(flaw)") }
        } else if let flaw = ContainerTarget.flaw(to) {
            throw ValidationError("--to: \(flaw)")
        }
        if overwrite, urlFile != nil || ContainerTarget(to)?.isFile != true {
            throw ValidationError(
                "--overwrite needs a file: --to \(StreamURL.name(to)) is not a file")
        }
        if urlFile != nil, to != Self.defaultCollector {
            throw ValidationError("give --to or --url-file, not both")
        }
        // Other users cannot read the environment.
        if OptionEnvironment.current()["TRIBUTARY_TO"] != to,
            let flaw = StreamURL.flaw(onCommandLine: to)
        {
            throw ValidationError(flaw)
        }
        try keys.validate()
    }

    mutating func run() throws {
        if let urlFile {
            to = try StreamURL.read(file: urlFile)
            do throws(StreamAddressError) {
                _ = try StreamAddress(parsing: to)
            } catch {
                throw UsageError("the URL in --url-file \(urlFile) \(error)")
            }
        }
        let console = log.console
        var logger = Logger(label: "replay") { _ in LineLogHandler(console: console) }
        logger.logLevel = log.verbose ? .debug : .notice
        if inputs.count == 1, WireRecordingReader.isWireRecording(inputs[0]) {
            return try WireReplayRun.run(inputs[0], self, console: console, logger: logger)
        }
        let input = try ReplayInput(self)
        try withArchiveErrors {
            for source in input.recorded {
                try OneBoxCheck.run(source, from: input.window.from, until: input.window.until)
            }
        }
        if !ContainerTarget.isCollector(to) {
            return try ContainerReplayRun.run(input, self, console: console)
        }
        if keepTime, input.zeroUTCNanoseconds == nil {
            throw UsageError(
                "--keep-time: \(input.name) has no session zero; leave --keep-time out")
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
            switch outcome {
            case .complete: break
            case .failed(let line): throw Failure(line)
            case .refused(let line): throw Failure(line, exitStatus: ExitStatus.refused)
            }
            let report = ReplayReport(
                control.status, input: input, seconds: (ContinuousClock().now - began) / .seconds(1)
            )
            if json { try JSONOutput.print(report) } else { print(report.line) }
            let missing = control.status.unexplainedSamples
            guard missing == 0 else {
                throw Failure(
                    "\(missing) samples are neither in the files of \(input.name) nor in its ledger, and were replayed as gaps: "
                        + "'tributary verify' names them, and --store reads media that is only in a store"
                )
            }
            try input.checkComplete()
        } catch let error as ReplayError {
            throw Failure("\(error)", exitStatus: error.exitStatus)
        }
    }

    private func timeline(_ input: ReplayInput) -> ReplaySettings.Timeline {
        if keepTime, let zero = input.zeroUTCNanoseconds { return .kept(zeroUTCNanoseconds: zero) }
        return pace == .normal ? .live : .moved
    }

    /// Speed of sending to a collector.
    var pace: ReplaySpeed { speed ?? .normal }
}

extension ReplaySpeed: HintedArgument {
    package static var valueHint: String { "a speed factor such as 0.5, 1 or 8, or max" }

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
