import Testing

@testable import OperationsServer

struct `A budget of HTTP connections` {
    private static let second: Int64 = 1_000_000_000

    @Test func `displaces the connection that has waited longest without a request`() {
        var budget = ConnectionBudget()
        var ids: [Int] = []
        for number in 0..<ConnectionLimits.statusPages.maximumConnections {
            let (id, displaced) = budget.opened(now: Int64(number))
            #expect(displaced == nil)
            ids.append(id)
        }
        budget.asked(ids[0], now: 500)
        budget.asked(ids[1], now: 501)
        budget.answered(ids[1], now: 502)
        #expect(budget.opened(now: 600).displaced == ids[2])
        #expect(budget.opened(now: 601).displaced == ids[3])
        #expect(budget.count == ConnectionLimits.statusPages.maximumConnections)
        // Connections with a pending answer are displaced last.
        var displaced: [Int] = []
        for now in Int64(700)..<900 { displaced += [budget.opened(now: now).displaced ?? 0] }
        #expect(displaced.contains(ids[1]))
        #expect(!displaced.contains(ids[0]))
    }

    @Test func `allows five seconds for a header, 15 for an answer, a minute after it`() {
        var budget = ConnectionBudget()
        let id = budget.opened(now: 0).id
        #expect(!budget.isOverdue(id, now: 5 * Self.second - 1))
        #expect(budget.isOverdue(id, now: 5 * Self.second))
        budget.asked(id, now: 4 * Self.second)
        // A part of a body.
        budget.asked(id, now: 18 * Self.second)
        #expect(!budget.isOverdue(id, now: 19 * Self.second - 1))
        #expect(budget.isOverdue(id, now: 19 * Self.second))
        budget.answered(id, now: 5 * Self.second)
        #expect(!budget.isOverdue(id, now: 65 * Self.second - 1))
        #expect(budget.isOverdue(id, now: 65 * Self.second))
        budget.closed(id)
        #expect(budget.isOverdue(id, now: 0))
    }
}
