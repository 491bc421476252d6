import Media
import Testing
import Wire

@testable import AgentCore

@Suite struct CatchUpTests {
    private static let second: Int64 = 1_000_000_000

    private let spool = SpoolID.random()

    private func goal(_ number: UInt64) -> CatchUp.Goal {
        CatchUp.Goal(spool: spool, number: number)
    }

    @Test func `the end of an outage is logged once, when its backlog has been sent`() {
        var catchUp = CatchUp()
        catchUp.lost(now: 10 * Self.second)
        catchUp.lost(now: 20 * Self.second)
        catchUp.resumed(newest: goal(500), keptBytes: 12_300_000, now: 51 * Self.second)
        func look(_ persisted: UInt64, _ seconds: Int64) -> String? {
            catchUp.look(newest: goal(520), keptBytes: 0, now: seconds * Self.second) {
                $0.number <= persisted
            }
        }
        #expect(look(499, 52) == nil)
        #expect(
            look(500, 53)
                == "caught up after 41 s without a collector: 12.3 MB sent within 2.0 s")
        #expect(look(520, 54) == nil)
    }

    @Test func `records captured while the backlog is sent belong to the backlog`() {
        var catchUp = CatchUp()
        catchUp.lost(now: 0)
        catchUp.resumed(newest: goal(100), keptBytes: 1_000_000, now: 60 * Self.second)
        // Meanwhile half as much was captured.
        let first = catchUp.look(newest: goal(150), keptBytes: 500_000, now: 90 * Self.second) {
            $0.number <= 100
        }
        #expect(first == nil)
        let second = catchUp.look(newest: goal(152), keptBytes: 20_000, now: 92 * Self.second) {
            $0.number <= 150
        }
        #expect(
            second == "caught up after 60 s without a collector: 1.5 MB sent within 32 s")
    }

    @Test func `an interruption of the catch-up belongs to the same outage`() {
        var catchUp = CatchUp()
        catchUp.lost(now: 0)
        catchUp.resumed(newest: goal(100), keptBytes: 1_000_000, now: 10 * Self.second)
        catchUp.lost(now: 12 * Self.second)
        catchUp.resumed(newest: goal(120), keptBytes: 900_000, now: 30 * Self.second)
        let line = catchUp.look(newest: goal(121), keptBytes: 0, now: 31 * Self.second) { _ in true
        }
        #expect(line == "caught up after 30 s without a collector: 900 kB sent within 1.0 s")
    }

    @Test func `a short outage is not logged`() {
        var catchUp = CatchUp()
        catchUp.lost(now: 0)
        catchUp.resumed(newest: goal(3), keptBytes: 40_000, now: Self.second)
        let line = catchUp.look(newest: goal(3), keptBytes: 0, now: 2 * Self.second) { _ in true }
        #expect(line == nil)
    }
}
