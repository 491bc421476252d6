import Dispatch
import Glibc

/// Single key presses, while a program runs on a terminal: no return key needed, nothing is echoed.
///
/// The terminal is put back as it was when the object goes, when the program ends through ``Program/main(_:)`` or `exit`, and
/// while it is stopped (Ctrl-Z).
package final class Keyboard: Sendable {
    // Kept for as long as keys are to be heard; made once, only released.
    nonisolated(unsafe) private let sources: [any DispatchSourceProtocol]
    private let reader: Reader

    /// Hears keys while the program is in the foreground. Only touched on the keyboard's queue, and at the end, when nothing runs there any more.
    private final class Reader: @unchecked Sendable {
        private let source: any DispatchSourceProtocol
        private var isSuspended = false

        init(_ source: any DispatchSourceProtocol) {
            self.source = source
        }

        /// The program goes on after having been stopped, in the foreground or in the background: there the terminal is somebody else's, and who
        /// reads it or changes its settings is stopped again.
        func goOn() {
            let isForeground = Keyboard.isForeground
            if isForeground { _ = RawTerminal.enter() }
            guard isSuspended == isForeground else { return }
            isSuspended.toggle()
            if isSuspended { source.suspend() } else { source.resume() }
        }

        func end() {
            source.cancel()
            // A source that is suspended may not be let go of.
            if isSuspended { source.resume() }
        }
    }

    fileprivate static var isForeground: Bool { tcgetpgrp(0) == getpgrp() }

    /// - Parameter pressed: called on a queue of its own with every byte that is typed.
    /// - Returns: nil where standard input is no terminal, or not ours to read.
    package init?(_ pressed: @escaping @Sendable (UInt8) -> Void) {
        // A program in the background that reads the terminal would be stopped.
        guard isatty(0) == 1, Self.isForeground, RawTerminal.enter() else { return nil }
        let queue = DispatchQueue(label: "keyboard")
        let keys = DispatchSource.makeReadSource(fileDescriptor: 0, queue: queue)
        keys.setEventHandler {
            guard Self.isForeground else { return }
            var byte: UInt8 = 0
            while true {
                let count = read(0, &byte, 1)
                if count == 1 {
                    pressed(byte)
                    continue
                }
                // The terminal is gone: it would be readable for ever.
                if count < 0, errno != EINTR, errno != EAGAIN { keys.cancel() }
                return
            }
        }
        keys.resume()
        let reader = Reader(keys)
        self.reader = reader
        // After Ctrl-Z and fg, the shell has put its own settings back.
        let resumed = DispatchSource.makeSignalSource(signal: SIGCONT, queue: queue)
        resumed.setEventHandler { reader.goOn() }
        resumed.resume()
        sources = [resumed]
    }

    deinit {
        for source in sources { source.cancel() }
        reader.end()
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
        // Whoever is in the foreground now has settings of its own.
        guard var settings = saved, tcgetpgrp(0) == getpgrp() else { return }
        _ = tcsetattr(0, TCSANOW, &settings)
    }
}
