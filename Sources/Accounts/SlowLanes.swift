import Synchronization

/// Verifies passwords for names that are guessed from many addresses: of each name one at a time, and after a wrong one a pause.
///
/// The next turn is of the network whose turn was longest ago (``Turns``), so that one which has not guessed comes before all that have; and where
/// too many wait, it takes the place of one that has had a turn. A lane exists while attempts are in it, each of which holds a request: the
/// number of connections bounds them.
package final class SlowLanes: Sendable {
    /// Attempts of one name that wait: as long as a person waits, at ``usualPause`` each.
    package static let maximumWaiting = 10
    /// After a wrong password: at most 43,200 a day of one name, from however many addresses.
    package static let usualPause = Duration.seconds(2)

    private struct Lane {
        let limit = AsyncLimit(
            1, waiting: SlowLanes.maximumWaiting, ofOwner: 1, whenFull: .displacesFrequent)
        var attempts = 0
    }

    private let lanes = Mutex<[String: Lane]>([:])
    private let pause: Duration

    package init(pause: Duration = SlowLanes.usualPause) { self.pause = pause }

    /// How many names have a lane at this moment.
    package var count: Int { lanes.withLock { $0.count } }

    /// Makes an attempt when its turn has come.
    /// - Parameter isWrong: whether a pause has to follow.
    /// - Returns: nil: too many wait, and it was not made.
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
