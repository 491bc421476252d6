import Dispatch
import ForwardCore
import Glibc
import JSON
import Terminal

/// Prints a forwarder's status once a second.
final class ForwardReporting: Sendable {
    /// A line of `--json` (proto/json/schema.json, "forward").
    struct Line: Encodable {
        var source: String
        var state: String
        /// Time from capture to sending.
        var lateSeconds: Double?
        var sentSamples: UInt64
        var sentBytes: UInt64
        /// Dropped because the destination was unavailable or too slow.
        var droppedSamples: UInt64
        var feedLosses: UInt64
        var connections: UInt64
        var trouble: String?

        init(_ status: Forwarder.Status, source: String) {
            self.source = source
            state = status.state.rawValue
            lateSeconds = status.lateNanoseconds.map { Double($0) / 1e9 }
            sentSamples = status.sentSamples
            sentBytes = status.sentBytes
            droppedSamples = status.droppedSamples
            feedLosses = status.feedLosses
            connections = status.connections
            trouble = status.trouble
        }
    }

    // Created once, only cancelled.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer
    private let report: @Sendable () -> Void
    private let console: Console

    init(_ forwarder: Forwarder, source: String, isJSON: Bool, console: Console) {
        self.console = console
        report = {
            let status = forwarder.status
            if isJSON {
                Self.print(Line(status, source: source))
            } else if console.isTerminal {
                console.progress(Self.text(status, source: source))
            }
        }
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "report"))
        timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
        timer.setEventHandler(handler: report)
        timer.resume()
    }

    /// Prints the last status.
    func stop() {
        timer.cancel()
        report()
        console.endProgress()
    }

    private static func print(_ line: Line) {
        do {
            // One line of JSON.
            let text = try JSONOutput.text(line).split(whereSeparator: \.isNewline)
                .map { $0.drop { $0 == " " } }.joined()
            Swift.print(text)
            fflush(nil)
        } catch {
            preconditionFailure("numbers are finite: \(error)")
        }
    }

    /// `stage: sending, 0.24 s late, 12.3 MB, 0 samples left out`
    private static func text(_ status: Forwarder.Status, source: String) -> String {
        var parts = ["\(source): \(status.state.rawValue)"]
        if let late = status.lateNanoseconds {
            parts.append("\(decimal(Double(late) / 1e9)) s late")
        }
        parts.append(ByteCount(Int64(clamping: status.sentBytes)).description)
        parts.append("\(status.droppedSamples) samples left out")
        if let trouble = status.trouble { parts.append(trouble) }
        return parts.joined(separator: ", ")
    }
}
