import Foundation
import TestSpools
import Testing

@testable import Catalog

private let second: Int64 = 1_000_000_000

/// Leases as one process sees them, and several processes with a database that fails.
@Suite struct LeaseTests {
    private func asked(_ lease: inout Lease, at now: Int64) throws -> Lease.Request {
        let request = lease.request(now: now)
        return try #require(request)
    }

    private func granted(_ token: Int64 = 1, at now: Int64 = 0) throws -> Lease {
        var lease = Lease()
        let request = try asked(&lease, at: now)
        lease.answered(request, .granted(token: token), now: now)
        return lease
    }

    private func renew(_ lease: inout Lease, _ token: Int64 = 1, at now: Int64) throws {
        let request = try asked(&lease, at: now)
        lease.answered(request, .granted(token: token), now: now)
    }

    @Test func `it is held a term after the grant, while it is renewed`() throws {
        var lease = try granted()
        #expect(lease.standing(now: 0) == .settling(token: 1) && !lease.isHeld(now: 0))
        #expect(lease.request(now: 9 * second) == nil)
        for seconds: Int64 in [10, 20, 30] { try renew(&lease, at: seconds * second) }
        #expect(!lease.isHeld(now: 30 * second - 1) && lease.isHeld(now: 30 * second))
        // Without a further answer it ends a term after the last request, less the margin.
        let end = 30 * second + Lease.termNanoseconds - Lease.marginNanoseconds
        #expect(lease.isHeld(now: end - 1) && !lease.isHeld(now: end))
        #expect(lease.standing(now: end) == .unknown)
    }

    @Test func `a term counts from the request, not from its answer`() throws {
        var lease = Lease()
        let request = try asked(&lease, at: 0)
        lease.answered(request, .granted(token: 1), now: 20 * second)
        #expect(lease.standing(now: 26 * second) == .settling(token: 1))
        #expect(lease.standing(now: 27 * second) == .unknown)
    }

    @Test func `a refusal for another holder ends it at once`() throws {
        var lease = try granted()
        for seconds: Int64 in [10, 20, 30] { try renew(&lease, at: seconds * second) }
        let request = try asked(&lease, at: 40 * second)
        lease.answered(
            request, .refused(holder: "west", remainingNanoseconds: 4 * second), now: 40 * second)
        #expect(lease.standing(now: 40 * second) == .taken(by: "west"))
        // It asks again when the other one's lease may end.
        #expect(lease.request(now: 44 * second - 1) == nil)
        #expect(lease.request(now: 44 * second) != nil)
    }

    @Test func `a lease that had ended, or has a new token, settles again`() throws {
        var late = try granted()
        for seconds: Int64 in [10, 20, 30] { try renew(&late, at: seconds * second) }
        try renew(&late, at: 60 * second)
        #expect(late.standing(now: 60 * second) == .settling(token: 1))
        var other = try granted()
        for seconds: Int64 in [10, 20, 30] { try renew(&other, at: seconds * second) }
        try renew(&other, 2, at: 40 * second)
        #expect(other.standing(now: 40 * second) == .settling(token: 2))
    }

    @Test func `only the first answer to the last request counts`() throws {
        var lease = Lease()
        let first = try asked(&lease, at: 0)
        lease.failed(first, now: 5 * second)
        #expect(lease.request(now: 6 * second) == nil)
        let next = try asked(&lease, at: 7 * second)
        lease.answered(first, .granted(token: 1), now: 8 * second)
        #expect(lease.standing(now: 8 * second) == .unknown)
        lease.answered(next, .refused(holder: "west", remainingNanoseconds: 0), now: 8 * second)
        lease.answered(next, .granted(token: 1), now: 9 * second)
        #expect(lease.standing(now: 9 * second) == .taken(by: "west"))
    }

    @Test func `a lease that another holder has for centuries is asked for as often as any`() throws
    {
        var lease = Lease()
        let request = try asked(&lease, at: second)
        lease.answered(
            request, .refused(holder: "west", remainingNanoseconds: .max), now: second)
        #expect(lease.standing(now: second) == .taken(by: "west"))
        #expect(lease.dueNanoseconds == second + Lease.renewalNanoseconds)
    }

    @Test func `a lease that was released is not held`() throws {
        var lease = try granted(7)
        #expect(lease.end(now: second) == 7)
        #expect(lease.standing(now: second) == .unknown && lease.end(now: second) == nil)
    }

    private static let seeds: UInt64 = {
        ProcessInfo.processInfo.environment["SITE_SEEDS"].flatMap { UInt64($0) } ?? 30
    }()

    @Test(arguments: 1...seeds)
    func `a lease has one holder at a time, even if the database loses rows`(
        seed: UInt64
    ) throws {
        var scene = LeaseSimulation(seed: seed)
        scene.run()
        #expect(scene.overlaps == [], "seed \(seed)")
        #expect(scene.changes > 3, "seed \(seed): \(scene.changes) changes of holder")
        scene.calm()
        #expect(scene.holders.count == 1, "seed \(seed)")
    }
}

/// Processes that want one lease, of a database that is slow, loses and repeats answers, fails over to a standby that
/// lacks the last commits, and is restored from an old dump; processes are paused and restarted.
private struct LeaseSimulation {
    private struct Row: Hashable {
        var holder: Int
        var token: Int64
        var until: Int64
    }

    private struct Process {
        var lease = Lease()
        /// Different for each run of a process.
        var holder: Int
        /// Its clock: offset, and rate in parts per million.
        var offset: Int64
        var rate: Int64
        var pausedUntil: Int64 = 0

        func now(_ time: Int64) -> Int64 { offset + time + time / 1_000_000 * rate }
    }

    /// A statement on its way, or its answer.
    private struct Message {
        var process: Int
        var holder: Int
        var request: Lease.Request
        var due: Int64
        /// Nil: it has not been executed.
        var answer: Lease.Answer?
        /// The client has given it up.
        var isFailed = false
    }

    /// A fifth of a second.
    private static let step: Int64 = 200_000_000
    private static let stepsPerSecond: Int64 = 5
    private static let duration: Int64 = 1_800 * second

    private var random: SeededGenerator
    private var processes: [Process] = []
    private var row: Row?
    /// Earlier states of the row, which a standby or a dump may have.
    private var history: [Row?] = [nil]
    private var messages: [Message] = []
    private var time: Int64 = 0
    /// The database's clock steps.
    private var databaseOffset: Int64 = 0
    private var runs = 0
    private var isCalm = false
    private var last: Int?
    private(set) var overlaps: [String] = []
    /// How often another process held it than before.
    private(set) var changes = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for _ in 0..<3 { processes.append(process()) }
    }

    private mutating func process() -> Process {
        runs += 1
        return Process(
            holder: runs, offset: Int64.random(in: 0...Self.duration, using: &random),
            rate: Int64.random(in: -10_000...10_000, using: &random))
    }

    private mutating func happens(onceIn seconds: Int64) -> Bool {
        !isCalm && Int64.random(in: 0..<seconds * Self.stepsPerSecond, using: &random) == 0
    }

    private mutating func some(_ seconds: ClosedRange<Int64>) -> Int64 {
        Int64.random(
            in: seconds.lowerBound * Self.stepsPerSecond...seconds.upperBound * Self.stepsPerSecond,
            using: &random) * Self.step
    }

    var holders: [Int] {
        processes.indices.filter { processes[$0].lease.isHeld(now: processes[$0].now(time)) }
    }

    mutating func run() { while time < Self.duration { turn() } }

    /// Two minutes without faults.
    mutating func calm() {
        isCalm = true
        for index in processes.indices { processes[index].pausedUntil = 0 }
        let end = time + 180 * second
        while time < end { turn() }
    }

    private mutating func turn() {
        time += Self.step
        if happens(onceIn: 120) { forget() }
        if happens(onceIn: 300) { databaseOffset += some(0...40) }
        for index in processes.indices {
            if happens(onceIn: 200) { processes[index].pausedUntil = time + some(0...90) }
            if happens(onceIn: 400) { processes[index] = process() }
            send(index)
        }
        deliver()
        let holders = holders
        if holders.count > 1 { overlaps.append("\(time / second) s: \(holders)") }
        if let holder = holders.first, holder != last {
            last = holder
            changes += 1
        }
    }

    /// A standby without the last commits takes over, or a dump is restored.
    private mutating func forget() {
        let lost = Int.random(in: 0...3, using: &random)
        row =
            lost == 0
            ? history.randomElement(using: &random) ?? nil
            : history.suffix(lost).first ?? nil
    }

    private mutating func send(_ index: Int) {
        let now = processes[index].now(time)
        guard time >= processes[index].pausedUntil,
            let request = processes[index].lease.request(now: now)
        else { return }
        let copies = happens(onceIn: 2) ? 2 : 1
        for _ in 0..<copies {
            let isSlow = !isCalm && Int.random(in: 0..<10, using: &random) == 0
            messages.append(
                Message(
                    process: index, holder: processes[index].holder, request: request,
                    due: time + (isSlow ? some(0...45) : Self.step)))
        }
    }

    private mutating func deliver() {
        var left: [Message] = []
        for var message in messages {
            let index = message.process
            let isHere = processes[index].holder == message.holder
            if message.due > time {
                // A client may give up a statement that is still to be executed.
                let now = processes[index].now(time)
                if isHere, !message.isFailed, happens(onceIn: 5) {
                    processes[index].lease.failed(message.request, now: now)
                    message.isFailed = true
                }
                left.append(message)
                continue
            }
            guard let answer = message.answer else {
                message.answer = execute(message.holder)
                message.due = time + (isCalm ? Self.step : some(0...4))
                left.append(message)
                continue
            }
            guard isHere else { continue }
            if time < processes[index].pausedUntil {
                left.append(message)
                continue
            }
            let now = processes[index].now(time)
            if !isCalm, Int.random(in: 0..<8, using: &random) == 0 {
                processes[index].lease.failed(message.request, now: now)
            } else {
                processes[index].lease.answered(message.request, answer, now: now)
            }
        }
        messages = left
    }

    /// The statement ``PostgreSQLStatements/leaseTaken``.
    private mutating func execute(_ holder: Int) -> Lease.Answer {
        let now = time + databaseOffset
        if let row, row.holder != holder, row.until > now {
            return .refused(holder: "\(row.holder)", remainingNanoseconds: row.until - now)
        }
        let isRenewed = row.map { $0.holder == holder && $0.until > now } ?? false
        let token = (row?.token ?? 0) + (isRenewed ? 0 : 1)
        row = Row(holder: holder, token: token, until: now + Lease.termNanoseconds)
        history.append(row)
        return .granted(token: token)
    }
}
