import HTTPTypes
import Synchronization

/// Lets so many pieces of work run at once, and so many more wait.
final class AsyncLimit: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
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
        let isFull = state.withLock { state in
            state.free == 0 && state.waiting.count >= maximumWaiting
        }
        if isFull { throw Problem(.serviceUnavailable, "too many requests: try again") }
        await withCheckedContinuation { continuation in
            let mayGo = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if mayGo { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
