package import Dispatch

/// A named thread that can be joined.
package final class JoinableThread: Sendable {
    private let ended = Semaphore(value: 0)

    package init() {}

    /// Starts the thread; it ends when `body` returns. Call it once.
    /// - Parameter name: at most 15 bytes, the kernel's limit.
    package func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        NamedThread.start(name) { [ended] in
            body()
            ended.signal()
        }
    }

    /// Blocks until the thread has ended, or until a deadline: for threads that a hung disk may block forever.
    /// - Returns: whether it has ended.
    @discardableResult
    package func join(until deadline: DispatchTime) -> Bool {
        guard ended.wait(timeout: deadline) == .success else { return false }
        ended.signal()
        return true
    }

    /// Blocks until the thread has ended. Without ``start(_:_:)``, it blocks forever.
    package func join() {
        ended.wait()
        // Wakes the next waiting thread, and lets later calls return.
        ended.signal()
    }
}
