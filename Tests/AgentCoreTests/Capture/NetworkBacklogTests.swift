import Testing

@testable import AgentCore

/// An agent that stands still while its cameras send.
@Suite struct NetworkBacklogTests {
    private static let second: Int64 = 1_000_000_000

    @Test func `without an interruption, all that has arrived is known`() {
        var backlog = NetworkBacklog()
        var now = Self.second
        for _ in 0..<100 {
            // Some reads wait, and some find data at once.
            backlog.noteRead(from: now, until: now + 40_000_000, newest: now)
            now += 41_000_000
            backlog.noteRead(from: now, until: now + 100_000, newest: nil)
            now += 1_000_000
            #expect(!backlog.isBehind)
            #expect(backlog.knownNanoseconds(now: now) == now)
        }
    }

    @Test func `after an interruption, arrivals are known up to the newest one that was read`() {
        var backlog = NetworkBacklog()
        let stall = 10 * Self.second
        backlog.noteRead(from: stall - 50_000_000, until: stall, newest: stall)
        var now = stall + 5 * Self.second
        // Parts of packets only, then one second of data by each read.
        backlog.noteRead(from: now, until: now + 100_000, newest: nil)
        #expect(backlog.isBehind)
        #expect(backlog.knownNanoseconds(now: now) == stall)
        for index in 1...5 as ClosedRange<Int64> {
            now += 1_000_000
            let newest = stall + index * Self.second
            backlog.noteRead(from: now, until: now + 100_000, newest: newest)
            #expect(backlog.isBehind)
            #expect(backlog.knownNanoseconds(now: now) == newest)
        }
        // The next read has to wait.
        backlog.noteRead(from: now, until: now + 20_000_000, newest: nil)
        #expect(!backlog.isBehind)
        #expect(backlog.knownNanoseconds(now: now) == now)
    }

    @Test func `an arrival is not later than now`() {
        var backlog = NetworkBacklog()
        backlog.noteRead(from: 0, until: 1, newest: nil)
        backlog.noteRead(from: Self.second, until: Self.second + 1, newest: 9 * Self.second)
        #expect(backlog.knownNanoseconds(now: 2 * Self.second) == 2 * Self.second)
    }
}
