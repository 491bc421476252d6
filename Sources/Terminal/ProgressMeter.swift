import Synchronization

/// How far long work is: a bar with the time that is left where somebody watches, a line now and then elsewhere.
///
/// Told as often as one likes, on any thread.
package final class ProgressMeter: Sendable {
    private static let redraw = Duration.milliseconds(100)
    private static let lines = Duration.seconds(10)
    private static let width = 24
    /// Before that nothing can be said of the rest.
    private static let patience = Duration.seconds(1)

    private struct State {
        var last: ContinuousClock.Instant
    }

    private let console: Console
    private let label: String
    private let began = ContinuousClock.now
    private let state: Mutex<State>

    /// - Parameter label: what is done: "exporting".
    package init(_ console: Console, label: String) {
        self.console = console
        self.label = label
        state = Mutex(State(last: began))
    }

    /// So much is done, 0 … 1.
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

    /// Takes the bar away.
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
