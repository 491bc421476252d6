import Dispatch
import Files
import Glibc

/// The whole terminal at standard output, redrawn repeatedly.
///
/// It uses the terminal's alternate screen, so that the previous content is restored when the program ends, unless it
/// is killed, and while it is stopped (Ctrl-Z).
package final class FullScreen: Sendable {
    // Retained while signals are handled; created once, only released.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
    private static let leave = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

    /// - Parameter changed: called on its own queue to redraw, after a resize or after a stop.
    /// - Returns: nil if standard output is no terminal, or one without this capability.
    package init?(_ changed: @escaping @Sendable () -> Void) {
        guard Self.isPossible else { return nil }
        let queue = DispatchQueue(label: "screen")
        func hear(_ number: Int32, _ heard: @escaping @Sendable () -> Void)
            -> any DispatchSourceSignal
        {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: heard)
            source.resume()
            return source
        }
        let resized = hear(SIGWINCH, changed)
        let stopped = hear(SIGTSTP) {
            Self.write(Self.leave)
            // SIGSTOP cannot be caught or ignored.
            kill(getpid(), SIGSTOP)
        }
        let resumed = hear(SIGCONT) {
            Self.write(Self.enter)
            changed()
        }
        sources = [resized, stopped, resumed]
        atexit { FullScreen.write(FullScreen.leave) }
        Self.write(Self.enter)
    }

    deinit {
        for source in sources { source.cancel() }
    }

    /// Whether standard output is a terminal with an alternate screen.
    package static var isPossible: Bool {
        guard isatty(1) == 1 else { return false }
        return getenv("TERM").map { strcmp($0, "dumb") != 0 } ?? false
    }

    /// Columns and rows; 80 × 24 if unknown.
    package static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Draws lines from the top, and erases the previous ones. Lines must fit the terminal.
    package func draw(_ lines: [String]) {
        var text = "\u{1B}[H"
        for (index, line) in lines.enumerated() {
            text += index == 0 ? "" : "\r\n"
            text += line + "\u{1B}[0m\u{1B}[K"
        }
        Self.write(text + "\u{1B}[J")
    }

    private static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = Descriptor.write(1, UnsafeRawBufferPointer($0)) }
    }
}
