import CollectorClient
import JSON
import Logging
import ReplayCore
import Terminal
import Trust

/// `tributary replay FILE.wire`: sends a collector's recorded messages again.
enum WireReplayRun {
    /// Slower, the recorded heartbeats are too rare for a collector.
    private static let slowest = ReplaySpeed.millionths(500_000)

    static func run(_ path: String, _ command: ReplayCommand, console: Console, logger: Logger)
        throws
    {
        try check(command)
        let recording: WireRecordingReader
        do throws(WireRecordingError) {
            recording = try WireRecordingReader(path)
        } catch {
            throw Failure("\(error)")
        }
        let replay = WireReplay(
            endpoint: command.to,
            security: try command.keys.security(for: command.to, source: "replay", logger: logger),
            speed: command.pace, logger: logger)
        let signals = StopSignals { _ in replay.stop() }
        let ticker = Ticker(console) {
            let status = replay.status
            console.progress(
                "▶ \(TimelinePoint.text(status.positionNanoseconds ?? 0)) "
                    + "\(ByteCount(Int64(status.sentBytes)))")
        }
        defer {
            ticker.stop()
            console.endProgress()
            withExtendedLifetime(signals) {}
        }
        let report: WireReplay.Report
        do throws(ReplayError) {
            report = try replay.run(recording)
        } catch {
            throw Failure("\(error)", exitStatus: error.exitStatus)
        }
        console.endProgress()
        try show(report, replay.status, path, at: command.to, json: command.json)
    }

    private static func check(_ command: ReplayCommand) throws {
        guard ContainerTarget.isCollector(command.to) else {
            throw UsageError(
                "--to \(StreamURL.name(command.to)): a wire recording can only be replayed to a collector"
            )
        }
        let others: [(Bool, String)] = [
            (!command.source.isEmpty, "--source"), (command.from != nil, "--from"),
            (command.until != nil, "--until"), (command.loop, "--loop"),
            (command.keepTime, "--keep-time"), (command.paused, "--paused"),
        ]
        for (isGiven, name) in others where isGiven {
            throw UsageError("\(name) cannot be used with a wire recording: leave it out")
        }
        if case .millionths(let speed) = command.pace, case .millionths(let least) = slowest,
            speed < least
        {
            throw UsageError(
                "--speed \(command.pace.text): a wire recording must be replayed at \(slowest.text) or faster; at lower speeds "
                    + "its heartbeats would time out")
        }
    }

    private static func show(
        _ report: WireReplay.Report, _ status: ReplayStatus, _ path: String, at endpoint: String,
        json: Bool
    ) throws {
        if json {
            try JSONOutput.print(WireReplayReport(report, status))
        } else {
            print(
                "sent \(path) again: \(report.connections) connections, \(report.messages) messages, "
                    + ByteCount(Int64(report.payloadBytes)).description)
            for refusal in report.refusals { print("the collector refused: \(refusal)") }
            if report.unsentMessages > 0 {
                print("\(report.unsentMessages) messages of refused connections not sent")
            }
            if report.missingMessages > 0 {
                print("\(report.missingMessages) messages are missing in the recording")
            }
            if report.isTorn { print("the last message is incomplete: the collector was killed") }
        }
        if let shutOut = report.shutOut {
            throw Failure(
                "the collector at \(endpoint) refused: \(shutOut)", exitStatus: ExitStatus.refused)
        }
        if report.unpersistedRecords > 0 {
            throw Failure(
                "\(report.unpersistedRecords) records had not reached the collector's disk at the end"
            )
        }
    }
}

/// Result of the replay.
private struct WireReplayReport: Encodable {
    var connections: Int
    var messages: UInt64
    var payloadBytes: UInt64
    var refusals: [String]
    var unsentMessages: UInt64
    var missingMessages: UInt64
    var isTorn: Bool
    var unpersistedRecords: UInt64
    var lateness: ReplayReport.Lateness?

    init(_ report: WireReplay.Report, _ status: ReplayStatus) {
        connections = report.connections
        messages = report.messages
        payloadBytes = report.payloadBytes
        refusals = report.refusals
        unsentMessages = report.unsentMessages
        missingMessages = report.missingMessages
        isTorn = report.isTorn
        unpersistedRecords = report.unpersistedRecords
        lateness = status.lateness.map(ReplayReport.Lateness.init)
    }
}

extension ReplayError {
    /// Exit status of a program that ends with this error.
    var exitStatus: Int32 { isRefused ? ExitStatus.refused : ExitStatus.failure }
}
