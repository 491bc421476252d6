import Dispatch
import Glibc

/// SIGINT and SIGTERM as a request to finish: the first asks, the second does not wait any longer.
package final class StopSignals: Sendable {
    // Kept for as long as signals are to be heard; made once, only released.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// - Parameter stop: called on a queue of its own with how often it has been asked, counted from 1.
    package init(_ stop: @escaping @Sendable (Int) -> Void) {
        let queue = DispatchQueue(label: "signals")
        let count = Count()
        sources = [SIGINT, SIGTERM].map { number in
            // The default action would end the program before the source hears of it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                count.value += 1
                stop(count.value)
            }
            source.resume()
            return source
        }
    }

    /// Only touched on the signals' serial queue.
    private final class Count: @unchecked Sendable {
        var value = 0
    }
}
