import Synchronization

/// Runs blocking work on its own threads. The numbers of running and of waiting jobs are limited. A thread ends when no job
/// waits.
package final class BlockingWorkQueue: Sendable {
    private typealias Job = @Sendable () -> Void

    private enum Admission {
        case begins, waits, isFull
    }

    private struct State {
        var running = 0
        var waiting: [Job] = []
    }

    /// Name of its threads, at most 15 bytes.
    private let name: String
    private let maximumRunning: Int
    private let maximumWaiting: Int
    private let state = Mutex(State())

    package init(_ name: String, maximumRunning: Int, maximumWaiting: Int) {
        self.name = name
        self.maximumRunning = maximumRunning
        self.maximumWaiting = maximumWaiting
    }

    /// Number of running and waiting jobs.
    package var load: (running: Int, waiting: Int) {
        state.withLock { ($0.running, $0.waiting.count) }
    }

    /// Runs blocking work.
    /// - Returns: nil if the queue is full; the work was not run.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let isTaken = submit { continuation.resume(returning: work()) }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    private func submit(_ job: @escaping Job) -> Bool {
        let (maximumRunning, maximumWaiting) = (maximumRunning, maximumWaiting)
        let admission = state.withLock { state -> Admission in
            if state.running < maximumRunning {
                state.running += 1
                return .begins
            }
            guard state.waiting.count < maximumWaiting else { return .isFull }
            state.waiting.append(job)
            return .waits
        }
        switch admission {
        case .isFull: return false
        case .waits: return true
        case .begins:
            NamedThread.start(name) { [self] in work(through: job) }
            return true
        }
    }

    /// Runs a job, and then waiting jobs until there are none.
    private func work(through first: @escaping Job) {
        var job: Job? = first
        while let next = job {
            next()
            job = state.withLock { state -> Job? in
                guard !state.waiting.isEmpty else {
                    state.running -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
        }
    }
}
