import Dispatch
import Synchronization
import Testing
import Threads

@testable import Accounts

/// Blocks work until it is opened.
final class WorkGate: Sendable {
    private struct State {
        var running = 0
        var most = 0
    }

    private let semaphore = DispatchSemaphore(value: 0)
    private let state = Mutex(State())

    /// Greatest number blocked concurrently.
    var most: Int { state.withLock { $0.most } }

    func pass() {
        state.withLock { state in
            state.running += 1
            state.most = max(state.most, state.running)
        }
        semaphore.wait()
        state.withLock { $0.running -= 1 }
    }

    /// Lets a number of jobs pass.
    func open(_ count: Int) {
        for _ in 0..<count { semaphore.signal() }
    }
}

extension BlockingWorkQueue {
    /// Returns when the queue has these numbers of jobs.
    func reaches(running: Int, waiting: Int) async throws {
        while true {
            let load = load
            if load.running == running, load.waiting == waiting { return }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct `A queue of blocking work` {
    @Test func `has two at once, sixteen that wait, and no more`() async throws {
        let queue = BlockingWorkQueue("test", maximumRunning: 2, maximumWaiting: 16)
        let gate = WorkGate()
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for index in 0..<18 {
                group.addTask {
                    await queue.run {
                        gate.pass()
                        return index
                    }
                }
            }
            try await queue.reaches(running: 2, waiting: 16)
            // A started thread may not have run yet.
            while gate.most < 2 { try await Task.sleep(for: .milliseconds(1)) }
            let refused = await queue.run { -1 }
            #expect(refused == nil)
            gate.open(18)
            var done: Set<Int> = []
            for try await value in group {
                if let value { done.insert(value) }
            }
            #expect(done == Set(0..<18))
        }
        #expect(gate.most == 2)
        try await queue.reaches(running: 0, waiting: 0)
        let later = await queue.run { 7 }
        #expect(later == 7)
    }

    @Test func `accepts new work when some has ended`() async throws {
        let queue = BlockingWorkQueue("test", maximumRunning: 1, maximumWaiting: 0)
        let gate = WorkGate()
        async let first = queue.run {
            gate.pass()
            return 1
        }
        try await queue.reaches(running: 1, waiting: 0)
        let refused = await queue.run { 2 }
        #expect(refused == nil)
        gate.open(1)
        let one = await first
        #expect(one == 1)
        try await queue.reaches(running: 0, waiting: 0)
        let third = await queue.run { 3 }
        #expect(third == 3)
    }
}
