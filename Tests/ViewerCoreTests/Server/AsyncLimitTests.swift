import HTTPTypes
import Synchronization
import Testing

@testable import ViewerCore

/// Work that lasts until it is let go.
private final class HeldWork: Sendable {
    private struct State {
        var isFree = false
        var running = 0
        var most = 0
        var refused = 0
    }

    private let state = Mutex(State())

    var running: Int { state.withLock { $0.running } }
    /// The most that ran at once.
    var most: Int { state.withLock { $0.most } }
    var refused: Int { state.withLock { $0.refused } }

    func free() { state.withLock { $0.isFree = true } }

    func refuse() { state.withLock { $0.refused += 1 } }

    func run() async throws {
        state.withLock { state in
            state.running += 1
            state.most = max(state.most, state.running)
        }
        defer { state.withLock { $0.running -= 1 } }
        while !state.withLock({ $0.isFree }) { try await Task.sleep(for: .milliseconds(1)) }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct `A limit of work` {
    private struct Failure: Error {}

    @Test func `lets so many run, so many more wait, and refuses the others`() async throws {
        let limit = AsyncLimit(2, waiting: 3)
        let work = HeldWork()
        let done = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    do {
                        try await limit.run { try await work.run() }
                        return true
                    } catch let problem as Problem {
                        #expect(problem.status.code == 503)
                        work.refuse()
                        return false
                    }
                }
            }
            // Nobody else comes: two have a place, three wait, and the other seven know it.
            while work.refused < 7 || work.running < 2 {
                try await Task.sleep(for: .milliseconds(1))
            }
            work.free()
            var done = 0
            for try await isDone in group where isDone { done += 1 }
            return done
        }
        #expect(done == 5 && work.refused == 7)
        #expect(work.most == 2 && work.running == 0)
    }

    @Test func `never lets more run at once, however many come`() async throws {
        let limit = AsyncLimit(3, waiting: 1_000)
        let work = HeldWork()
        work.free()
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<500 {
                group.addTask {
                    try await limit.run {
                        try await work.run()
                        await Task.yield()
                        return number
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 500 * 499 / 2)
        #expect((1...3).contains(work.most))
    }

    @Test func `gives the place back of work that fails`() async throws {
        let limit = AsyncLimit(1, waiting: 0)
        for _ in 0..<5 {
            await #expect(throws: Failure.self) {
                try await limit.run { () async throws -> Int in throw Failure() }
            }
        }
        let value = try await limit.run { 7 }
        #expect(value == 7)
    }

    @Test func `gives the place back of work that was cancelled`() async throws {
        let limit = AsyncLimit(1, waiting: 1)
        let work = HeldWork()
        let first = Task { try await limit.run { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        let second = Task { try await limit.run { try Task.checkCancellation() } }
        second.cancel()
        first.cancel()
        _ = await first.result
        _ = await second.result
        #expect(work.running == 0)
        for number in 0..<3 {
            let value = try await limit.run { number }
            #expect(value == number)
        }
    }

    @Test func `refuses at once where nobody may wait`() async throws {
        let limit = AsyncLimit(1, waiting: 0)
        let work = HeldWork()
        let first = Task { try await limit.run { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        for _ in 0..<3 {
            await #expect(throws: Problem.self) { try await limit.run { 7 } }
        }
        work.free()
        try await first.value
        let value = try await limit.run { 7 }
        #expect(value == 7)
    }
}
