import Synchronization

/// Progress of long work: a bar with the remaining time on a terminal, occasional lines elsewhere.
///
/// Thread-safe; may be called at any rate.
package final class ProgressMeter: Sendable {
    private static let redraw = Duration.milliseconds(100)
    private static let lines = Duration.seconds(10)
    private static let width = 24
    /// Before that, the remaining time cannot be estimated.
    private static let patience = Duration.seconds(1)

    private struct State {
        var last: ContinuousClock.Instant
    }

    private let console: Console
    private let label: String
    private let began = ContinuousClock.now
    private let state: Mutex<State>

    /// - Parameter label: the activity: "exporting".
    package init(_ console: Console, label: String) {
        self.console = console
        self.label = label
        state = Mutex(State(last: began))
    }

    /// Updates the completed fraction, 0 … 1.
    package func update(_ fraction: Double) {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            let interval = console.isTerminal ? Self.redraw : Self.lines
            guard now - state.last >= interval else { return false }
            state.last = now
            return true
        }
        guard isDue else { return }
        let text = Self.text(label, fraction, elapsed: now - began, hasBar: console.isTerminal)
        if console.isTerminal { console.progress(text) } else { console.line(text) }
    }

    /// Erases the bar.
    package func end() { console.endProgress() }

    /// `exporting ━━━━━━──── 42 %, 0:12 left`.
    static func text(
        _ label: String, _ fraction: Double, elapsed: Duration, hasBar: Bool
    ) -> String {
        let done = min(1, max(0, fraction))
        var text = label
        if hasBar {
            let filled = Int(done * Double(width))
            text +=
                " " + String(repeating: "━", count: filled)
                + String(repeating: "─", count: width - filled)
        }
        text += " \(Int(done * 100)) %"
        if elapsed >= patience, done > 0 {
            let left = Int((elapsed / .seconds(1)) * (1 - done) / done + 0.5)
            let seconds = left % 60
            let minutes = left / 60 % 60
            func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
            text +=
                left >= 3_600
                ? ", \(left / 3_600):\(padded(minutes)):\(padded(seconds)) left"
                : ", \(minutes):\(padded(seconds)) left"
        }
        return text
    }
}
