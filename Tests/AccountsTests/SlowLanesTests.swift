import Synchronization
import Testing

@testable import Accounts

/// Attempts in the order in which they were made.
private final class MadeAttempts: Sendable {
    private let state = Mutex<[String]>([])

    var all: [String] { state.withLock { $0 } }

    func add(_ attempt: String) { state.withLock { $0.append(attempt) } }
}

@Suite(.timeLimit(.minutes(1)))
struct `A slow log-in lane` {
    private func network(_ number: Int) -> RemoteNetwork { RemoteNetwork("10.0.0.\(number)") }

    /// Makes an attempt with a wrong password.
    private func fail(
        _ lanes: SlowLanes, _ name: String, from number: Int, _ made: MadeAttempts
    ) async -> Bool? {
        await lanes.run(name, from: network(number), isWrong: { !$0 }) {
            made.add("\(name) \(number)")
            return false
        }
    }

    @Test func `makes one attempt at a time, and pauses after a wrong one`() async {
        let lanes = SlowLanes(pause: .milliseconds(100))
        let made = MadeAttempts()
        let start = ContinuousClock.now
        await withTaskGroup { group in
            for number in 1...4 {
                group.addTask { _ = await fail(lanes, "anna", from: number, made) }
            }
        }
        #expect(made.all.count == 4)
        #expect(ContinuousClock.now - start >= .milliseconds(400))
        // Nothing is kept of it.
        #expect(lanes.count == 0)
    }

    @Test func `has no pause after a right one, and delays no other name`() async throws {
        let lanes = SlowLanes(pause: .seconds(30))
        let made = MadeAttempts()
        let slow = Task { _ = await fail(lanes, "anna", from: 1, made) }
        while made.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        for number in 1...3 {
            let isRight = await lanes.run("ben", from: network(number), isWrong: { !$0 }) { true }
            #expect(isRight == true)
        }
        #expect(lanes.count == 1)
        slow.cancel()
    }

    @Test func `keeps its pause if a client disconnects`() async throws {
        // Longer than a busy machine needs for the following lines.
        let lanes = SlowLanes(pause: .seconds(4))
        let made = MadeAttempts()
        let start = ContinuousClock.now
        let first = Task { _ = await fail(lanes, "anna", from: 1, made) }
        while made.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        first.cancel()
        let isRight = await lanes.run("anna", from: network(2), isWrong: { !$0 }) { true }
        #expect(isRight == true)
        #expect(ContinuousClock.now - start >= .seconds(4))
    }

    /// Twelve addresses guess without a pause; she comes from a thirteenth.
    @Test func `serves the owner before addresses that have failed`() async throws {
        let lanes = SlowLanes(pause: .milliseconds(20))
        let made = MadeAttempts()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...12 {
                group.addTask {
                    while !Task.isCancelled {
                        _ = await fail(lanes, "anna", from: number, made)
                        // Calls past the limit return at once.
                        await Task.yield()
                    }
                }
            }
            // All of them have had a turn, and the lane is full.
            while Set(made.all).count < 12 { try await Task.sleep(for: .milliseconds(1)) }
            for number in 13...20 {
                let before = made.all.count
                let isRight = await lanes.run("anna", from: network(number), isWrong: { !$0 }) {
                    made.add("owner")
                    return true
                }
                #expect(isRight == true)
                // Behind the running one alone.
                let turns = made.all.count - before
                #expect(turns <= 3, "\(turns) turns")
            }
            group.cancelAll()
        }
        #expect(lanes.count == 0)
    }

    @Test func `lets ten attempts wait, one of each address`() async throws {
        let lanes = SlowLanes(pause: .seconds(3))
        let made = MadeAttempts()
        let first = Task { _ = await fail(lanes, "anna", from: 100, made) }
        while made.all.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        let refused = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<40 {
                group.addTask {
                    await lanes.run("anna", from: network(number / 2), isWrong: { !$0 }) { true }
                        == nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        await first.value
        #expect(refused == 30)
    }
}
