import Synchronization

/// A flag that cancels work which blocks in a library. Thread-safe; checked periodically.
package final class Cancellation: Sendable {
    private let isRequested = Atomic<Bool>(false)

    package init() {}

    package func cancel() { isRequested.store(true, ordering: .relaxed) }

    package var isCancelled: Bool { isRequested.load(ordering: .relaxed) }
}
