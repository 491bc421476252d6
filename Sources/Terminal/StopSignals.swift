import Dispatch
import Glibc

/// SIGINT and SIGTERM as a request to finish: the first asks, the second does not wait any longer.
package final class StopSignals: Sendable {
    private let watch: SignalWatch

    /// - Parameter stop: called on a queue of its own with how often it has been asked, counted from 1.
    package init(_ stop: @escaping @Sendable (Int) -> Void) {
        let count = Count()
        watch = SignalWatch([SIGINT, SIGTERM]) {
            count.value += 1
            stop(count.value)
        }
    }

    /// Only touched on the signals' serial queue.
    private final class Count: @unchecked Sendable {
        var value = 0
    }
}

/// SIGHUP as a request to read the configuration again.
package final class ReloadSignal: Sendable {
    private let watch: SignalWatch

    /// - Parameter reload: called on a queue of its own, once for each request.
    package init(_ reload: @escaping @Sendable () -> Void) {
        watch = SignalWatch([SIGHUP], reload)
    }
}

/// Signals that a queue hears of, where everything may be done, unlike in a signal's handler.
private final class SignalWatch: Sendable {
    // Kept for as long as signals are to be heard; made once, only released.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    init(_ signals: [Int32], _ heard: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "signals")
        sources = signals.map { number in
            // The default action would end the program before the source hears of it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: heard)
            source.resume()
            return source
        }
    }
}
