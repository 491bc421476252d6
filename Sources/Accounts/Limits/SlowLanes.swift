import Synchronization

/// Verifies passwords of names that are being guessed from many addresses: one attempt at a time per name, with a pause after a
/// wrong password.
///
/// The network that was served least recently is next (``Turns``), so a network without guesses precedes all that have guessed.
/// If the queue is full, such a network displaces one that was served. A lane exists while it has attempts. Each attempt
/// belongs to an open request, so the limit of connections also bounds the number of lanes.
package final class SlowLanes: Sendable {
    /// Maximum queued attempts of one name, at ``usualPause`` each: about the time that a person waits.
    package static let maximumWaiting = 10
    /// Pause after a wrong password: at most 43,200 attempts a day per name, from any number of addresses.
    package static let usualPause = Duration.seconds(2)

    private struct Lane {
        let limit = AsyncLimit(
            1, waiting: SlowLanes.maximumWaiting, ofOwner: 1, whenFull: .displacesFrequent)
        var attempts = 0
    }

    private let lanes = Mutex<[String: Lane]>([:])
    private let pause: Duration

    package init(pause: Duration = SlowLanes.usualPause) { self.pause = pause }

    /// Number of names with a lane.
    package var count: Int { lanes.withLock { $0.count } }

    /// Queues an attempt, and runs it when it is scheduled.
    /// - Parameter isWrong: whether a pause has to follow.
    /// - Returns: nil if the queue is full; the attempt was not made.
    package func run<Result: Sendable>(
        _ name: String, from network: RemoteNetwork,
        isWrong: @escaping @Sendable (Result) -> Bool,
        _ attempt: @escaping @Sendable () async -> Result
    ) async -> Result? {
        let limit = lanes.withLock { lanes in
            lanes[name, default: Lane()].attempts += 1
            return lanes[name]?.limit
        }
        defer {
            lanes.withLock { lanes in
                lanes[name]?.attempts -= 1
                if lanes[name]?.attempts == 0 { lanes[name] = nil }
            }
        }
        do {
            return try await limit?.run(for: .network(network)) { [pause] in
                let result = await attempt()
                guard isWrong(result) else { return result }
                // Not a part of this task: a client that hangs up does not shorten it.
                await Task {
                    do {
                        try await Task.sleep(for: pause)
                    } catch {
                        // It is never cancelled.
                    }
                }.value
                return result
            }
        } catch {
            return nil
        }
    }
}
