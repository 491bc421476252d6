import Synchronization

/// A wish to end work that blocks in a library; said on any thread, heard at the next look.
package final class Cancellation: Sendable {
    private let wish = Atomic<Bool>(false)

    package init() {}

    package func cancel() { wish.store(true, ordering: .relaxed) }

    package var isCancelled: Bool { wish.load(ordering: .relaxed) }
}
