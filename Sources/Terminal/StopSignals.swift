import Dispatch
import Glibc

/// SIGINT and SIGTERM as requests to finish: the first one is graceful, the second one immediate.
package final class StopSignals: Sendable {
    private let watch: SignalWatch

    /// Who asks.
    package enum Origin: Sendable {
        /// SIGINT: a person at a terminal.
        case person
        /// SIGTERM: a service manager.
        case system
    }

    /// - Parameter stop: called on its own queue with the number of requests so far, from 1.
    package convenience init(_ stop: @escaping @Sendable (Int) -> Void) {
        self.init { count, _ in stop(count) }
    }

    /// - Parameter stop: called on its own queue with the number of requests so far, from 1, and the last one's origin.
    package init(_ stop: @escaping @Sendable (Int, Origin) -> Void) {
        let count = Count()
        watch = SignalWatch([SIGINT, SIGTERM]) { number in
            count.value += 1
            stop(count.value, number == SIGINT ? .person : .system)
        }
    }

    /// Only used on the signals' serial queue.
    private final class Count: @unchecked Sendable {
        var value = 0
    }
}

/// SIGHUP as a request to reload the configuration.
package final class ReloadSignal: Sendable {
    private let watch: SignalWatch

    /// - Parameter reload: called on its own queue, once for each request.
    package init(_ reload: @escaping @Sendable () -> Void) {
        watch = SignalWatch([SIGHUP]) { _ in reload() }
    }
}

/// Signals delivered to a queue, where, unlike in a signal handler, any function may be called.
private final class SignalWatch: Sendable {
    // Retained while signals are handled; created once, only released.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    init(_ signals: [Int32], _ heard: @escaping @Sendable (Int32) -> Void) {
        let queue = DispatchQueue(label: "signals")
        sources = signals.map { number in
            // The default action would end the program first.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { heard(number) }
            source.resume()
            return source
        }
    }
}
