import Dispatch
import ReplayCore
import Terminal
import Threads

/// A replay's progress, keys and signals.
enum ReplayWatch {
    private static let graceSeconds = 1

    /// Plays to the end.
    /// - Parameter play: blocks until the end.
    static func watch(
        _ replay: ReplayControl, input: ReplayInput, to destination: String, speed: ReplaySpeed,
        console: Console,
        _ play: () throws(ReplayError) -> ReplayOutcome
    ) throws(ReplayError) -> ReplayOutcome {
        let signals = StopSignals { count in
            if count == 1 { replay.stop() } else { replay.abandon() }
            // Read samples are sent; a store that does not respond is not waited for.
            LongWork.end.begin(afterSeconds: graceSeconds)
        }
        let keyboard = Keyboard { key in
            switch key {
            case UInt8(ascii: " "): replay.togglePause()
            case UInt8(ascii: "s"): replay.step()
            case UInt8(ascii: "q"): replay.stop()
            default: break
            }
        }
        let hasKeys = keyboard != nil
        let ticker = Ticker(console) {
            console.progress(
                line(
                    replay.status, input: input, to: destination, speed: speed, hasKeys: hasKeys))
        }
        defer {
            ticker.stop()
            console.endProgress()
            withExtendedLifetime((signals, keyboard)) {}
        }
        return try play()
    }

    /// `▶ 0:12.300 / 1:00.000 ━━━━━──────── 2× 12.3 MB   space pause, s step, q end`
    static func line(
        _ status: ReplayStatus, input: ReplayInput, to destination: String, speed: ReplaySpeed,
        hasKeys: Bool
    ) -> String {
        let keys =
            hasKeys ? "  space \(status.isPaused ? "resume" : "pause"), s step, q stop" : ""
        guard let position = status.positionNanoseconds else {
            return status.isFlowing ? "⏸ ready\(keys)" : "waiting for \(destination)"
        }
        let mark = status.isPaused ? "⏸" : status.isFlowing ? "▶" : "…"
        var parts = ["\(mark) \(TimelinePoint.text(position))"]
        if let end = input.endNanoseconds, end > 0 {
            // So that the keys fit into 80 columns too.
            let width = 12
            let done = min(width, max(0, Int(Int128(position) * Int128(width) / Int128(end))))
            parts.append(
                "/ \(TimelinePoint.text(end)) "
                    + String(repeating: "━", count: done)
                    + String(repeating: "─", count: width - done))
        }
        if status.rounds > 1 { parts.append("round \(status.rounds)") }
        parts.append(speed == .unlimited ? "max" : "\(speed.text)×")
        parts.append(ByteCount(Int64(status.sentBytes)).description)
        return parts.joined(separator: " ") + keys
    }
}

/// A timer of five ticks a second while a terminal shows the progress.
final class Ticker: Sendable {
    private static let milliseconds = 200

    // Made once, only cancelled.
    nonisolated(unsafe) private let timer: (any DispatchSourceTimer)?

    init(_ console: Console, _ tick: @escaping @Sendable () -> Void) {
        guard console.isTerminal else {
            timer = nil
            return
        }
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "progress"))
        timer.schedule(deadline: .now(), repeating: .milliseconds(Self.milliseconds))
        timer.setEventHandler(handler: tick)
        timer.resume()
        self.timer = timer
    }

    func stop() { timer?.cancel() }
}

/// Result of a replay.
struct ReplayReport: Encodable {
    struct Lateness: Encodable {
        var medianSeconds: Double
        var percentile99Seconds: Double
        var greatestSeconds: Double

        init(_ lateness: ReplayStatus.Lateness) {
            medianSeconds = Double(lateness.median) / 1e9
            percentile99Seconds = Double(lateness.percentile99) / 1e9
            greatestSeconds = Double(lateness.greatest) / 1e9
        }
    }

    var input: String
    var sources: [String]
    var samples: UInt64
    var payloadBytes: UInt64
    var rounds: Int
    var elapsedSeconds: Double
    /// Lateness of messages; none at maximum speed.
    var lateness: Lateness?
    /// Output files; several if the recording changes its formats and the container cannot.
    var files: [String]?

    init(_ status: ReplayStatus, input: ReplayInput, seconds: Double) {
        self.input = input.name
        sources = input.sources
        samples = status.sentSamples
        payloadBytes = status.sentBytes
        rounds = status.rounds
        elapsedSeconds = seconds
        lateness = status.lateness.map(Lateness.init)
        files = status.files.isEmpty ? nil : status.files
    }

    /// A line for each further file.
    var notes: [String] {
        (files ?? []).dropFirst().map {
            "continued in \(oneLine($0)): the format of the recording changes"
        }
    }

    var line: String {
        let count = sources.count == 1 ? "1 source" : "\(sources.count) sources"
        return "played \(input): \(count), \(samples) samples, "
            + "\(ByteCount(Int64(payloadBytes))) in \(decimal(elapsedSeconds)) s"
    }
}
