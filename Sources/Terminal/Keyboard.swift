import Dispatch
import Glibc

/// Single key presses, while a program runs on a terminal: no return key needed, nothing is echoed.
///
/// The terminal is put back as it was when the object goes, when the program ends through ``Program/main(_:)`` or `exit`, and
/// while it is stopped (Ctrl-Z).
package final class Keyboard: Sendable {
    // Kept for as long as keys are to be heard; made once, only released.
    nonisolated(unsafe) private let sources: [any DispatchSourceProtocol]

    /// - Parameter pressed: called on a queue of its own with every byte that is typed.
    /// - Returns: nil where standard input is no terminal, or not ours to read.
    package init?(_ pressed: @escaping @Sendable (UInt8) -> Void) {
        // A program in the background that reads the terminal would be stopped.
        guard isatty(0) == 1, tcgetpgrp(0) == getpgrp(), RawTerminal.enter() else { return nil }
        let queue = DispatchQueue(label: "keyboard")
        let keys = DispatchSource.makeReadSource(fileDescriptor: 0, queue: queue)
        keys.setEventHandler {
            var byte: UInt8 = 0
            while read(0, &byte, 1) == 1 { pressed(byte) }
        }
        keys.resume()
        // After Ctrl-Z and fg, the shell has put its own settings back.
        let resumed = DispatchSource.makeSignalSource(signal: SIGCONT, queue: queue)
        resumed.setEventHandler { _ = RawTerminal.enter() }
        resumed.resume()
        sources = [keys, resumed]
    }

    deinit {
        for source in sources { source.cancel() }
        RawTerminal.leave()
    }
}

/// The terminal's settings, as they were and as keys need them.
private enum RawTerminal {
    // Written before the handler that reads it is registered, and by one thread.
    nonisolated(unsafe) private static var saved: termios?

    /// Returns whether it could.
    static func enter() -> Bool {
        var settings = termios()
        guard tcgetattr(0, &settings) == 0 else { return false }
        if saved == nil {
            saved = settings
            atexit { RawTerminal.leave() }
        }
        // Signals keep working: Ctrl-C is still Ctrl-C. A read takes what is there and does not wait.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &settings.c_cc) {
            $0[Int(VMIN)] = 0
            $0[Int(VTIME)] = 0
        }
        return tcsetattr(0, TCSANOW, &settings) == 0
    }

    static func leave() {
        guard var settings = saved else { return }
        _ = tcsetattr(0, TCSANOW, &settings)
    }
}
