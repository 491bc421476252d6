import Synchronization
import Testing

@testable import ViewerCore

/// Counted work that runs until released.
private final class CountedWork: Sendable {
    private struct State {
        var isFree = false
        var begun = 0
    }

    private let state = Mutex(State())

    var begun: Int { state.withLock { $0.begun } }

    func free() { state.withLock { $0.isFree = true } }

    /// The number of the run.
    func run() async throws -> Int {
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        while !state.withLock({ $0.isFree }) { try await Task.sleep(for: .milliseconds(1)) }
        return number
    }
}

extension SingleFlight {
    fileprivate func reaches(waiting count: Int) async throws {
        while waitingCount != count { try await Task.sleep(for: .milliseconds(1)) }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct `Work with several callers` {
    private struct Failure: Error {}

    @Test func `runs once for all waiting callers, and again for a later one`() async throws {
        let flight = SingleFlight<Int>()
        let work = CountedWork()
        let callers = (0..<20).map { _ in Task { try await flight.value { try await work.run() } } }
        try await flight.reaches(waiting: 20)
        #expect(work.begun <= 1)
        work.free()
        for caller in callers {
            let number = try await caller.value
            #expect(number == 1)
        }
        let later = try await flight.value { try await work.run() }
        #expect(later == 2)
    }

    @Test func `is left by a cancelled caller, and continues for the others`() async throws {
        let flight = SingleFlight<Int>()
        let work = CountedWork()
        let first = Task { try await flight.value { try await work.run() } }
        try await flight.reaches(waiting: 1)
        let second = Task { try await flight.value { try await work.run() } }
        try await flight.reaches(waiting: 2)
        // The task that started it.
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        work.free()
        let number = try await second.value
        #expect(number == 1 && work.begun == 1)
    }

    @Test func `fails for all waiting callers`() async throws {
        let flight = SingleFlight<Int>()
        let gate = LiveEvent()
        let callers = (0..<3).map { _ in
            Task {
                try await flight.value {
                    while !gate.hasHappened { try await Task.sleep(for: .milliseconds(1)) }
                    throw Failure()
                }
            }
        }
        try await flight.reaches(waiting: 3)
        gate.happens()
        for caller in callers {
            await #expect(throws: Failure.self) { try await caller.value }
        }
        let value = try await flight.value { 7 }
        #expect(value == 7)
    }
}
