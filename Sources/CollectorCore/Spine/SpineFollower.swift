import Dispatch
import Synchronization
import Threads

/// A thread that follows the spine: the disk thread never waits for it.
final class SpineFollower: Sendable {
    private let spine: Spine
    private let listener: SpineListener
    private let work: Semaphore
    private let stopping = Atomic(false)
    private let thread = JoinableThread()

    /// - Parameter capacity: maximum number of queued events (``SpineListener``).
    init(_ spine: Spine, _ kinds: RecordingEvent.Kinds, capacity: Int) {
        self.spine = spine
        let work = Semaphore(value: 0)
        self.work = work
        listener = SpineListener(kinds, capacity: capacity) { work.signal() }
    }

    /// Whether ``stop(until:)`` was called: the thread takes the remaining events, and returns.
    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Subscribes to the spine, and starts the thread, which ends when `body` returns.
    func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        spine.add(listener)
        thread.start(name, body)
    }

    /// Subscribes to the spine, and has a thread process all events until ``stop(until:)``.
    func start(_ name: String, each process: @escaping @Sendable (SpineListener.Batch) -> Void) {
        start(name) { [self] in
            var isLast = false
            while !isLast {
                wait()
                isLast = isStopping
                process(take())
            }
        }
    }

    /// The events since the last call.
    func take() -> SpineListener.Batch { listener.take() }

    /// Blocks until there may be events, or ``stop(until:)`` was called.
    /// - Parameter due: blocks until then at most.
    func wait(until due: ContinuousClock.Instant? = nil) {
        guard let due else { return work.wait() }
        let wait = max(.zero, due - ContinuousClock.now)
        _ = work.wait(timeout: .now() + .nanoseconds(Int(wait / .nanoseconds(1))))
    }

    /// Ends the thread, and the subscription. No more events follow.
    /// - Parameter deadline: until when the thread's end is waited for.
    /// - Returns: whether it has ended.
    @discardableResult
    func stop(until deadline: DispatchTime = .distantFuture) -> Bool {
        stopping.store(true, ordering: .releasing)
        work.signal()
        defer { spine.remove(listener) }
        return thread.join(until: deadline)
    }
}
