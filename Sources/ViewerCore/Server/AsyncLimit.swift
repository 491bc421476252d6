import HTTPTypes
import Synchronization

/// Limits how much work runs at once, and how much waits.
final class AsyncLimit: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state: Mutex<State>
    private let maximumWaiting: Int

    init(_ count: Int, waiting: Int) {
        state = Mutex(State(free: count))
        maximumWaiting = waiting
    }

    /// - Throws: 503 when too many are waiting.
    func run<Result: Sendable>(
        _ work: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await enter()
        defer { leave() }
        return try await work()
    }

    private func enter() async throws {
        let maximumWaiting = maximumWaiting
        let isEntered = await withCheckedContinuation {
            (continuation: CheckedContinuation<Bool, Never>) in
            let answer = state.withLock { state -> Bool? in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                guard state.waiting.count < maximumWaiting else { return false }
                state.waiting.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
        guard isEntered else {
            throw Problem(.serviceUnavailable, "too many requests: try again")
        }
        // Whoever asked may have gone while it waited.
        guard !Task.isCancelled else {
            leave()
            throw CancellationError()
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: true)
    }
}
