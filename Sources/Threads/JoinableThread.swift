import Dispatch

/// A named thread whose end others can wait for.
package final class JoinableThread: Sendable {
    private let ended = DispatchSemaphore(value: 0)

    package init() {}

    /// Starts the thread; it ends when `body` returns. To be called once.
    /// - Parameter name: at most 15 bytes, the kernel's limit.
    package func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        NamedThread.start(name) { [ended] in
            body()
            ended.signal()
        }
    }

    /// Blocks until the thread has ended. Without ``start(_:_:)``, it blocks forever.
    package func join() {
        ended.wait()
        // For others who wait, and for a second call.
        ended.signal()
    }
}
