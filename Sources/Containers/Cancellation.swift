import Synchronization

/// A flag that cancels work which blocks in a library. Thread-safe; checked periodically.
package final class Cancellation: Sendable {
    private let wish = Atomic<Bool>(false)

    package init() {}

    package func cancel() { wish.store(true, ordering: .relaxed) }

    package var isCancelled: Bool { wish.load(ordering: .relaxed) }
}
