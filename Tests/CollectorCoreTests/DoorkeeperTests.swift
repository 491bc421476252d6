import Testing

@testable import CollectorCore

struct `A doorkeeper` {
    private static let second: Int64 = 1_000_000_000
    private typealias Keeper = Doorkeeper<Int32>

    @Test func `lets so many silent connections of one address stay, and others of another`() {
        var keeper = Keeper(maximumConnections: 1_000)
        for descriptor in 0..<Int32(Keeper.silentPerAddress) {
            #expect(keeper.accepted(descriptor, descriptor, from: "a", now: 0) == nil)
        }
        #expect(keeper.accepted(500, 500, from: "a", now: 0) != nil)
        #expect(keeper.accepted(501, 501, from: "b", now: 0) == nil)
        // One that is refused counts until it is gone.
        #expect(keeper.closed(500)?.wasSilent == true)
        #expect(keeper.accepted(502, 502, from: "a", now: 0) != nil)
        _ = keeper.closed(502)
        _ = keeper.closed(0)
        #expect(keeper.accepted(503, 503, from: "a", now: 0) == nil)
    }

    @Test func `does not count those who have spoken`() {
        var keeper = Keeper(maximumConnections: 1_000)
        for descriptor in 0..<Int32(900) {
            #expect(keeper.accepted(descriptor, descriptor, from: "a", now: 0) == nil)
            keeper.spoke(descriptor)
            keeper.spoke(descriptor)
        }
        #expect(keeper.overdue(now: 100 * Self.second).isEmpty)
        #expect(keeper.closed(3)?.wasSilent == false)
        #expect(keeper.closed(3) == nil)
    }

    @Test func `refuses everybody when all places are taken`() {
        var keeper = Keeper(maximumConnections: 2)
        #expect(keeper.accepted(1, 1, from: "a", now: 0) == nil)
        #expect(keeper.accepted(2, 2, from: "b", now: 0) == nil)
        #expect(keeper.accepted(3, 3, from: "c", now: 0)?.contains("2 connections") == true)
        _ = keeper.closed(3)
        _ = keeper.closed(1)
        #expect(keeper.accepted(4, 4, from: "c", now: 0) == nil)
    }

    @Test func `names those who say nothing for ten seconds, and again if they stay`() {
        var keeper = Keeper(maximumConnections: 10)
        _ = keeper.accepted(1, 1, from: "a", now: 0)
        _ = keeper.accepted(2, 2, from: "b", now: 5 * Self.second)
        #expect(keeper.overdue(now: 9 * Self.second).isEmpty)
        #expect(keeper.overdue(now: 10 * Self.second).map(\.connection) == [1])
        #expect(keeper.overdue(now: 10 * Self.second).isEmpty)
        #expect(keeper.overdue(now: 20 * Self.second).map(\.connection).sorted() == [1, 2])
    }

    @Test func `knows a descriptor that is used again as another connection`() {
        var keeper = Keeper(maximumConnections: 10)
        _ = keeper.accepted(1, 10, from: "a", now: 0)
        keeper.spoke(1)
        // Its end has not been heard of, but it must have ended.
        _ = keeper.accepted(1, 11, from: "b", now: 0)
        #expect(keeper.count == 1)
        #expect(keeper.overdue(now: 10 * Self.second).map(\.connection) == [11])
        #expect(keeper.closed(1)?.address == "b")
    }
}
