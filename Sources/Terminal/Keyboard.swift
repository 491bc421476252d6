import Dispatch
import Glibc

/// Single key presses on a terminal, without a return key and without echo.
///
/// The terminal is restored when the object is released, when the program ends through ``Program/main(_:)`` or `exit`,
/// and while it is stopped (Ctrl-Z).
package final class Keyboard: Sendable {
    // Retained while keys are read; created once, only released.
    nonisolated(unsafe) private let sources: [any DispatchSourceProtocol]
    private let reader: Reader

    /// Reads keys while the program is in the foreground. Only used on the keyboard's queue, and at the end, when
    /// nothing runs there any more.
    private final class Reader: @unchecked Sendable {
        private let source: any DispatchSourceProtocol
        private var isSuspended = false

        init(_ source: any DispatchSourceProtocol) {
            self.source = source
        }

        /// The program continues after a stop, in the foreground or in the background. In the background, reading the
        /// terminal or changing its settings would stop it again.
        func goOn() {
            let isForeground = Keyboard.isForeground
            if isForeground { _ = RawTerminal.enter() }
            guard isSuspended == isForeground else { return }
            isSuspended.toggle()
            if isSuspended { source.suspend() } else { source.resume() }
        }

        func end() {
            source.cancel()
            // A suspended source must not be released.
            if isSuspended { source.resume() }
        }
    }

    fileprivate static var isForeground: Bool { tcgetpgrp(0) == getpgrp() }

    /// - Parameter pressed: called on its own queue with every typed byte.
    /// - Returns: nil if standard input is no terminal, or the program is in the background.
    package init?(_ pressed: @escaping @Sendable (UInt8) -> Void) {
        // A background program that reads the terminal is stopped.
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
                // The terminal is gone: it would be readable forever.
                if count < 0, errno != EINTR, errno != EAGAIN { keys.cancel() }
                return
            }
        }
        keys.resume()
        let reader = Reader(keys)
        self.reader = reader
        // After Ctrl-Z and fg, the shell has restored its own settings.
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

/// The terminal's original and raw settings.
private enum RawTerminal {
    // Written before the handler that reads it is registered, and by one thread.
    nonisolated(unsafe) private static var saved: termios?

    /// Returns whether it succeeded.
    static func enter() -> Bool {
        var settings = termios()
        guard tcgetattr(0, &settings) == 0 else { return false }
        if saved == nil {
            saved = settings
            atexit { RawTerminal.leave() }
        }
        // Signals keep working, such as Ctrl-C. A read returns available bytes without blocking.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &settings.c_cc) {
            $0[Int(VMIN)] = 0
            $0[Int(VTIME)] = 0
        }
        return tcsetattr(0, TCSANOW, &settings) == 0
    }

    static func leave() {
        // The program in the foreground has its own settings.
        guard var settings = saved, tcgetpgrp(0) == getpgrp() else { return }
        _ = tcsetattr(0, TCSANOW, &settings)
    }
}
