import Synchronization

/// Deduplicates concurrent work: one execution, whose result all callers await without a thread.
///
/// A cancelled caller stops waiting; the work continues for other callers.
final class SingleFlight<Value: Sendable>: Sendable {
    private struct State {
        var isRunning = false
        var last = 0
        /// Waiting callers, bounded by connections.
        var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
    }

    private enum Beginning {
        case first, joined, cancelled
    }

    private let state = Mutex(State())

    /// Number of callers that wait for the running work.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// The result of the running work, or of this one.
    /// - Throws: errors of the work, or `CancellationError`.
    func value(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let beginning = begin(number, continuation)
                switch beginning {
                case .first: Task { await run(work) }
                case .joined: break
                case .cancelled: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            let waiting = state.withLock { $0.waiting.removeValue(forKey: number) }
            waiting?.resume(throwing: CancellationError())
        }
    }

    private func begin(
        _ number: Int, _ continuation: CheckedContinuation<Value, any Error>
    ) -> Beginning {
        state.withLock { state in
            // Under the lock, so that a later cancellation finds the continuation.
            guard !Task.isCancelled else { return .cancelled }
            state.waiting[number] = continuation
            defer { state.isRunning = true }
            return state.isRunning ? .joined : .first
        }
    }

    private func run(_ work: @Sendable () async throws -> Value) async {
        let result: Result<Value, any Error>
        do {
            result = .success(try await work())
        } catch {
            result = .failure(error)
        }
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.isRunning = false
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}
