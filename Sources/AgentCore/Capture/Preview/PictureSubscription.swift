import Dispatch
import Encoding
import Media
import Synchronization
import Threads

/// The way of a source's pictures to one preview: the source never waits for it.
final class PictureSubscription: Sendable {
    private struct State {
        var backlog = PictureBacklog()
        /// The last taken picture's memory is in use.
        var isHeld = false
        var isCancelled = false
    }

    private let state = Mutex(State())
    private let arrivals = Semaphore(value: 0)

    /// Whether no more items are wanted.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Adds to the backlog. Does not block.
    func put(_ change: (inout PictureBacklog) -> Void) {
        let isAwaited = state.withLock { state in
            guard !state.isCancelled else { return false }
            let wasEmpty = state.backlog.items.isEmpty
            change(&state.backlog)
            return wasEmpty && !state.backlog.items.isEmpty
        }
        if isAwaited { arrivals.signal() }
    }

    /// The next item; nil: none has come within that time. ``release()`` follows when its memory is not needed any more.
    func take(milliseconds: Int) -> PictureBacklog.Item? {
        let deadline = DispatchTime.now() + .milliseconds(milliseconds)
        while true {
            let item = state.withLock { state in
                let item = state.backlog.take()
                if case .picture = item { state.isHeld = true } else { state.isHeld = false }
                return item
            }
            if let item { return item }
            guard arrivals.wait(timeout: deadline) == .success else { return nil }
        }
    }

    /// The last picture's memory is not needed any more.
    func release() { state.withLock { $0.isHeld = false } }

    /// Whether a picture's memory is in use, or will be.
    var hasMemory: Bool { state.withLock { $0.isHeld || $0.backlog.hasPictures } }

    /// Drops all items, and accepts no more.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            state.backlog = PictureBacklog()
        }
    }
}
