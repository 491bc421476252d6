import Dispatch
import Threads

/// A line about work that takes long, while it runs.
struct LateNotice: Sendable {
    /// A store that answers has been read by then, unless it has much.
    private static let seconds = 5

    /// Blocks until a semaphore is signalled, or the time for the line has come: then it returns true.
    let isLate: @Sendable (Semaphore) -> Bool

    init(
        isLate: @escaping @Sendable (Semaphore) -> Bool = {
            $0.wait(timeout: .now() + .seconds(Self.seconds)) == .timedOut
        }
    ) {
        self.isLate = isLate
    }

    /// - Parameter say: called at most once, on another thread, before this returns.
    func during<Result, Failure: Error>(
        say: @escaping @Sendable () -> Void, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let ended = Semaphore(value: 0)
        let thread = JoinableThread()
        thread.start("late notice") { [isLate] in
            if isLate(ended) { say() }
        }
        defer {
            ended.signal()
            thread.join()
        }
        return try work()
    }
}
