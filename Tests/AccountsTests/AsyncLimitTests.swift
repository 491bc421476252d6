import Synchronization
import Testing

@testable import Accounts

/// Work that runs until released.
private final class HeldWork: Sendable {
    private struct State {
        var isFree = false
        var running = 0
        var most = 0
        var refused = 0
    }

    private let state = Mutex(State())

    var running: Int { state.withLock { $0.running } }
    /// Greatest number running concurrently.
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

/// Names in the order in which they came.
private final class NameList: Sendable {
    private let state = Mutex<[String]>([])

    var names: [String] { state.withLock { $0 } }

    func append(_ name: String) { state.withLock { $0.append(name) } }
}

extension AsyncLimit {
    fileprivate func reaches(waiting count: Int) async throws {
        while waitingCount != count { try await Task.sleep(for: .milliseconds(1)) }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct `A limit of work` {
    private struct Failure: Error {}

    private let anna = WorkOwner.account(.user("anna"))
    private let ben = WorkOwner.account(.user("ben"))

    @Test func `runs a number of tasks, lets a number wait, and refuses the others`() async throws {
        let limit = AsyncLimit(2, waiting: 3, ofOwner: 3)
        let work = HeldWork()
        let done = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    do {
                        try await limit.run(for: anna) { try await work.run() }
                        return true
                    } catch let error as LimitError {
                        #expect([.full, .fullForOwner(3)].contains(error))
                        work.refuse()
                        return false
                    }
                }
            }
            // No more arrive: two run, three wait, and seven have been refused.
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

    @Test func `never runs more tasks than the limit`() async throws {
        let limit = AsyncLimit(3, waiting: 1_000, ofOwner: 1_000)
        let work = HeldWork()
        work.free()
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<500 {
                group.addTask {
                    try await limit.run(for: anna) {
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

    @Test func `releases the slot of work that fails`() async throws {
        let limit = AsyncLimit(1, waiting: 0, ofOwner: 0)
        for _ in 0..<5 {
            await #expect(throws: Failure.self) {
                try await limit.run(for: anna) { () async throws -> Int in throw Failure() }
            }
        }
        let value = try await limit.run(for: anna) { 7 }
        #expect(value == 7)
    }

    @Test func `releases the slot of work that was cancelled`() async throws {
        let limit = AsyncLimit(1, waiting: 1, ofOwner: 1)
        let work = HeldWork()
        let first = Task { try await limit.run(for: anna) { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        let second = Task { try await limit.run(for: anna) { try Task.checkCancellation() } }
        second.cancel()
        first.cancel()
        _ = await first.result
        _ = await second.result
        #expect(work.running == 0)
        for number in 0..<3 {
            let value = try await limit.run(for: anna) { number }
            #expect(value == number)
        }
    }

    @Test func `refuses at once without a queue`() async throws {
        let limit = AsyncLimit(1, waiting: 0, ofOwner: 0)
        let work = HeldWork()
        let first = Task { try await limit.run(for: anna) { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        for _ in 0..<3 {
            await #expect(throws: LimitError.self) { try await limit.run(for: anna) { 7 } }
        }
        work.free()
        try await first.value
        let value = try await limit.run(for: anna) { 7 }
        #expect(value == 7)
    }

    @Test func `releases the slot of long work early, if configured`() async throws {
        let limit = AsyncLimit(1, waiting: 1, ofOwner: 1, longDuration: .milliseconds(1))
        let work = HeldWork()
        let first = Task { try await limit.run(for: anna) { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        // Without a place that is given away, this would wait for ever.
        let value = try await limit.run(for: ben) { 7 }
        #expect(value == 7)
        #expect(work.running == 1)
        work.free()
        try await first.value
    }

    @Test func `displaces a waiting owner with a recent turn, if configured`() async throws {
        let limit = AsyncLimit(1, waiting: 2, ofOwner: 1, whenFull: .displacesFrequent)
        let (anna, ben, carl) = (anna, ben, WorkOwner.account(.user("carl")))
        let dora = WorkOwner.account(.user("dora"))
        try await limit.run(for: anna) {}
        try await limit.run(for: ben) {}
        let work = HeldWork()
        let first = Task { try await limit.run(for: anna) { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        let second = Task { try await limit.run(for: ben) { 2 } }
        try await limit.reaches(waiting: 1)
        let third = Task { try await limit.run(for: carl) { 3 } }
        try await limit.reaches(waiting: 2)
        // Anna's last turn was the latest of all.
        await #expect(throws: LimitError.self) { try await limit.run(for: anna) { 4 } }
        let fifth = Task { try await limit.run(for: dora) { 5 } }
        await #expect(throws: LimitError.self) { try await second.value }
        #expect(limit.waitingCount == 2)
        // Neither Carl nor Dora has had one.
        let erik = WorkOwner.account(.user("erik"))
        await #expect(throws: LimitError.self) { try await limit.run(for: erik) { 6 } }
        work.free()
        try await first.value
        let (three, five) = try await (third.value, fifth.value)
        #expect(three == 3 && five == 5)
    }

    @Test func `removes a cancelled task from the queue`() async throws {
        let limit = AsyncLimit(1, waiting: 1, ofOwner: 1)
        let (anna, work) = (anna, HeldWork())
        let first = Task { try await limit.run(for: anna) { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        let second = Task { try await limit.run(for: anna) { 2 } }
        try await limit.reaches(waiting: 1)
        second.cancel()
        // The first still runs: only the cancelled one has made room.
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(limit.waitingCount == 0 && work.running == 1)
        let third = Task { try await limit.run(for: anna) { 3 } }
        try await limit.reaches(waiting: 1)
        work.free()
        try await first.value
        let value = try await third.value
        #expect(value == 3)
    }

    @Test func `lets a number of tasks wait per owner`() async throws {
        let limit = AsyncLimit(1, waiting: 10, ofOwner: 2)
        let (anna, ben, work) = (anna, ben, HeldWork())
        let first = Task { try await limit.run(for: anna) { try await work.run() } }
        while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
        let own = (0..<2).map { number in
            Task { try await limit.run(for: anna) { number } }
        }
        try await limit.reaches(waiting: 2)
        let refused = await #expect(throws: LimitError.self) {
            try await limit.run(for: anna) { 7 }
        }
        #expect(refused == .fullForOwner(2) && limit.waitingCount == 2)
        let other = Task { try await limit.run(for: ben) { 8 } }
        try await limit.reaches(waiting: 3)
        work.free()
        try await first.value
        var values: [Int] = []
        for task in own + [other] { values.append(try await task.value) }
        #expect(values == [0, 1, 8])
    }

    @Test func `serves the waiting owner with the oldest turn first`() async throws {
        let limit = AsyncLimit(1, waiting: 10, ofOwner: 10)
        let (anna, work) = (anna, HeldWork())
        let begun = NameList()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await limit.run(for: anna) { try await work.run() } }
            while work.running < 1 { try await Task.sleep(for: .milliseconds(1)) }
            for (count, name) in ["anna", "anna", "ben", "carl", "ben"].enumerated() {
                group.addTask {
                    try await limit.run(for: .account(.user(name))) {
                        begun.append(name)
                    }
                }
                try await limit.reaches(waiting: count + 1)
            }
            work.free()
            try await group.waitForAll()
        }
        #expect(begun.names == ["ben", "carl", "anna", "ben", "anna"])
    }
}

/// The owner whose work shares a queue.
@Suite struct WorkOwnerTests {
    @Test func `an account is one owner at any address, and an anonymous address is one owner`() {
        func owner(_ identity: Identity, _ address: String) -> WorkOwner {
            WorkOwner(identity, remoteAddress: address)
        }
        #expect(owner(.user("anna"), "192.0.2.1") == owner(.user("anna"), "192.0.2.2"))
        #expect(owner(.user("anna"), "192.0.2.1") != owner(.user("ben"), "192.0.2.1"))
        #expect(owner(.script("anna"), "192.0.2.1") == owner(.script("anna"), "192.0.2.2"))
        for identity in [Identity.anonymous, .link] {
            #expect(owner(identity, "192.0.2.1") == owner(identity, "192.0.2.1"))
            #expect(owner(identity, "192.0.2.1") != owner(identity, "192.0.2.2"))
            // One subscriber's network.
            #expect(owner(identity, "2001:db8::1") == owner(identity, "2001:db8::2"))
        }
    }
}
