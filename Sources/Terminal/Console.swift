import Glibc
package import Logging
import Synchronization

/// The terminal at standard error: whole lines, and below them a progress line that is rewritten in place.
///
/// In the format ``LogFormat/json`` every line is an object, and there is no progress line. Where standard error is
/// connected to the systemd journal, lines begin with their priority (sd-daemon(3)): `<4>` is a warning.
///
/// Serialises log lines and the progress line, which come from different threads. Writing does not wait for the reader
/// (``LogOutlet``).
package final class Console: Sendable {
    private struct State {
        var progress = ""
    }

    private let state = Mutex(State())
    private let descriptor: Int32
    private let outlet: LogOutlet
    private let format: LogFormat
    private let isJournal: Bool
    /// Whether the progress line is shown: only on a terminal.
    package let isTerminal: Bool

    /// - Parameters:
    ///   - descriptor: where to write; 2 is standard error.
    ///   - isJournal: whether that is the systemd journal; nil: to be found out.
    package init(
        descriptor: Int32 = 2, format: LogFormat = .ofThisProcess, isJournal: Bool? = nil
    ) {
        self.descriptor = descriptor
        outlet = descriptor == 2 ? .standardError : LogOutlet(descriptor)
        self.format = format
        self.isJournal = isJournal ?? JournalStream.isConnected(descriptor)
        isTerminal = format == .text && isatty(descriptor) == 1
    }

    /// Writes one line, above the progress line if there is one.
    package func line(_ text: String, level: Logger.Level = .info) {
        write(LogEntry(level, text), text: oneLine(text))
    }

    /// Writes a line of the log, above the progress line if there is one.
    package func write(_ entry: LogEntry) { write(entry, text: entry.text) }

    /// Writes a line of an interactive command, such as its next step; it is not a log record, and is text in every format.
    package func tell(_ text: String) { show(text) }

    /// Ends the line after input that was not echoed.
    package func endInput() { write("\n") }

    private func write(_ entry: LogEntry, text: @autoclosure () -> String) {
        let prefix = isJournal ? "<\(entry.priority)>" : ""
        show(prefix + (format == .json ? entry.json : text()))
    }

    private func show(_ text: String) {
        state.withLock { state in
            if isTerminal, !state.progress.isEmpty {
                write("\r\u{1B}[K" + text + "\n" + clipped(state.progress))
            } else {
                write(text + "\n")
            }
        }
    }

    /// Replaces the progress line; does nothing without a terminal.
    package func progress(_ text: String) {
        guard isTerminal else { return }
        state.withLock { state in
            state.progress = text
            write("\r\u{1B}[K" + clipped(text), isTransient: true)
        }
    }

    /// Erases the progress line.
    package func endProgress() {
        guard isTerminal else { return }
        state.withLock { state in
            if !state.progress.isEmpty { write("\r\u{1B}[K") }
            state.progress = ""
        }
    }

    /// A line longer than the terminal would wrap and could not be rewritten.
    private func clipped(_ text: String) -> String {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else { return text }
        return String(text.prefix(Int(size.ws_col) - 1))
    }

    private func write(_ text: String, isTransient: Bool = false) {
        outlet.write(text, isTransient: isTransient) { [format, isJournal] count in
            let entry = LogEntry(
                .warning, "\(count) lines omitted: the reader of the log did not keep up")
            let prefix = isJournal ? "<\(entry.priority)>" : ""
            return prefix + (format == .json ? entry.json : entry.text) + "\n"
        }
    }
}
