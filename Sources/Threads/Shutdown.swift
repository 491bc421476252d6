import Dispatch
import Synchronization

/// The shutdown of a program, or of a part of it. Signal handlers begin it; it cancels waits for remote systems.
///
/// It is irreversible. Thread-safe.
package final class Shutdown: Sendable {
    private struct State {
        var next = 0
        var handlers: [Int: @Sendable () -> Void] = [:]
    }

    private let begun = Atomic(false)
    private let state = Mutex(State())

    package init() {}

    package var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// Ends present and later waits.
    package func begin() {
        state.withLock { state in
            begun.store(true, ordering: .releasing)
            for handler in state.handlers.values { handler() }
            state.handlers = [:]
        }
    }

    /// Begins the shutdown after this many seconds. Until then, work in progress may finish.
    package func begin(afterSeconds seconds: Int) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { [self] in
            begin()
        }
    }

    /// Runs `body`; a shutdown before or during it calls `handler` once.
    /// - Parameter handler: wakes `body`. It must neither block nor use this object. It is not called after `body` has ended.
    package func withHandler<Result, Failure: Error>(
        _ handler: @escaping @Sendable () -> Void, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let key: Int? = state.withLock { state in
            guard !hasBegun else { return nil }
            state.next += 1
            state.handlers[state.next] = handler
            return state.next
        }
        guard let key else {
            handler()
            return try body()
        }
        defer { state.withLock { state in _ = state.handlers.removeValue(forKey: key) } }
        return try body()
    }
}
