import Glibc
import Synchronization

/// The terminal a program talks to people through (standard error): whole lines, and below them one line that is
/// rewritten in place while something runs.
///
/// Log lines and the progress line come from different threads; the console is where they take turns.
package final class Console: Sendable {
    private struct State {
        var progress = ""
    }

    private let state = Mutex(State())
    private let descriptor: Int32
    /// Whether the progress line is shown: only where somebody can watch it change.
    package let isTerminal: Bool

    /// - Parameter descriptor: where to write; 2 is standard error.
    package init(descriptor: Int32 = 2) {
        self.descriptor = descriptor
        self.isTerminal = isatty(descriptor) == 1
    }

    /// Writes one line, above the progress line if there is one.
    package func line(_ text: String) {
        state.withLock { state in
            if isTerminal, !state.progress.isEmpty {
                write("\r\u{1B}[K" + text + "\n" + clipped(state.progress))
            } else {
                write(text + "\n")
            }
        }
    }

    /// Replaces the progress line; nothing happens where no terminal is.
    package func progress(_ text: String) {
        guard isTerminal else { return }
        state.withLock { state in
            state.progress = text
            write("\r\u{1B}[K" + clipped(text))
        }
    }

    /// Takes the progress line away.
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

    private func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = Glibc.write(
                    descriptor, UnsafeBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { return }
                rest = rest.dropFirst(written)
            }
        }
    }
}
