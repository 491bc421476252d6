import Testing

@testable import AgentCore

/// An agent that stands still while its cameras send.
@Suite struct NetworkBacklogTests {
    private static let second: Int64 = 1_000_000_000

    @Test func `without an interruption, all arrivals until now are known`() {
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

    /// The process stands still between two reads, or while one waits.
    @Test(arguments: [true, false])
    func `after an interruption, arrivals are known up to the newest one read`(
        isInRead: Bool
    ) {
        var backlog = NetworkBacklog()
        let stall = 10 * Self.second
        backlog.noteRead(from: stall - 50_000_000, until: stall, newest: stall)
        #expect(!backlog.isBehind)
        var now = stall + 5 * Self.second
        // Parts of packets only, then one second of data by each read.
        backlog.noteRead(
            from: isInRead ? stall + 1_000_000 : now, until: now + 100_000, newest: stall + 1)
        #expect(backlog.isBehind)
        #expect(backlog.knownNanoseconds(now: now) == stall + 1)
        backlog.noteRead(from: now, until: now + 9_000_000, newest: nil)
        #expect(backlog.isBehind)
        for index in 1...5 as ClosedRange<Int64> {
            now += 10_000_000
            let newest = stall + index * Self.second
            // In a debug build, reads take long.
            backlog.noteRead(from: now, until: now + 9_000_000, newest: newest)
            #expect(backlog.isBehind)
            #expect(backlog.knownNanoseconds(now: now) == newest)
        }
        // The last part has old and new data.
        now += 10_000_000
        backlog.noteRead(from: now, until: now + 100_000, newest: now)
        #expect(backlog.isBehind)
        backlog.noteRead(from: now + 1_000_000, until: now + 20_000_000, newest: now + 20_000_000)
        #expect(!backlog.isBehind)
        #expect(backlog.knownNanoseconds(now: now) == now)
    }

    @Test func `an interruption without data ends with a read that waited`() {
        var backlog = NetworkBacklog()
        backlog.noteRead(from: 0, until: 1, newest: nil)
        var now = 9 * Self.second
        backlog.noteRead(from: now, until: now + 100_000_000, newest: nil)
        #expect(backlog.isBehind)
        now += 100_000_000
        backlog.noteRead(from: now, until: now + 100_000_000, newest: nil)
        #expect(!backlog.isBehind)
    }

    @Test func `an arrival is not later than now`() {
        var backlog = NetworkBacklog()
        backlog.noteRead(from: 0, until: 1, newest: nil)
        backlog.noteRead(from: Self.second, until: Self.second + 1, newest: 9 * Self.second)
        #expect(backlog.knownNanoseconds(now: 2 * Self.second) == 2 * Self.second)
    }
}
