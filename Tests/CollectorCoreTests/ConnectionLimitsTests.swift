import Testing

@testable import CollectorCore

struct `A connection limiter` {
    private static let second: Int64 = 1_000_000_000
    private typealias Keeper = ConnectionLimits<Int32>

    /// Checks every second, as the receiving thread does.
    private func overdue(_ keeper: inout Keeper, seconds: ClosedRange<Int64>) -> [Int32] {
        seconds.flatMap { keeper.overdue(now: $0 * Self.second) }.map(\.connection).sorted()
    }

    @Test func `displaces the oldest unwelcomed connection of an address, and no other`() {
        var keeper = Keeper(maximumConnections: 10_000)
        for descriptor in 0..<Int32(Keeper.strangersPerOrigin) {
            #expect(
                keeper.accepted(
                    descriptor, descriptor, from: "a", origin: "a", now: Int64(descriptor)) == nil)
        }
        let ending = keeper.accepted(500, 500, from: "a", origin: "a", now: 900)
        #expect(ending?.connection == 0)
        #expect(ending?.reason == .strangersOfOrigin(256))
        #expect(keeper.accepted(501, 501, from: "b", origin: "b", now: 900) == nil)
        // The second one, although the first has not closed yet.
        #expect(keeper.accepted(502, 502, from: "a", origin: "a", now: 901)?.connection == 1)
        #expect(keeper.closed(0)?.wasSilent == false)
        _ = keeper.closed(1)
        // A welcomed connection frees its place for an unwelcomed one.
        keeper.spoke(502, now: 902)
        keeper.welcomed(502)
        #expect(keeper.accepted(503, 503, from: "a", origin: "a", now: 903) == nil)
    }

    @Test func `counts one IPv6 network as one origin`() {
        var keeper = Keeper(maximumConnections: 10_000)
        let ended = (0..<Int32(400)).compactMap {
            keeper.accepted($0, $0, from: "2001:db8::\($0)", origin: "2001:db8::/64", now: 0)
        }
        #expect(ended.count == 400 - Keeper.strangersPerOrigin)
    }

    @Test func `reserves three quarters of the places for agents`() {
        var keeper = Keeper(maximumConnections: 1_000)
        var here: Set<Int32> = []
        func come(_ descriptor: Int32, from address: String) {
            here.insert(descriptor)
            let ending = keeper.accepted(
                descriptor, descriptor, from: address, origin: address,
                now: Int64(descriptor))
            if let ending {
                here.remove(ending.connection)
                _ = keeper.closed(ending.connection)
            }
        }
        come(1_000, from: "an agent")
        for descriptor in 0..<Int32(999) { come(descriptor, from: "10.0.0.\(descriptor % 34)") }
        #expect(keeper.count == 250)
        // The address with the most connections loses one, so that an address with one keeps it.
        #expect(here.contains(1_000))
        come(1_001, from: "another agent")
        #expect(here.contains(1_001))
    }

    @Test func `does not count agents that were welcomed`() {
        var keeper = Keeper(maximumConnections: 1_000)
        for descriptor in 0..<Int32(900) {
            #expect(
                keeper.accepted(descriptor, descriptor, from: "a", origin: "a", now: 0) == nil)
            keeper.spoke(descriptor, now: 0)
            keeper.welcomed(descriptor)
        }
        #expect(overdue(&keeper, seconds: 0...100).isEmpty)
        #expect(keeper.closed(3)?.wasSilent == false)
        #expect(keeper.closed(3) == nil)
    }

    @Test func `refuses new connections when agents take all places`() {
        var keeper = Keeper(maximumConnections: 2)
        for descriptor: Int32 in [1, 2] {
            _ = keeper.accepted(descriptor, descriptor, from: "a", origin: "a", now: 0)
            keeper.welcomed(descriptor)
        }
        let ending = keeper.accepted(3, 3, from: "c", origin: "c", now: 0)
        #expect(ending?.connection == 3)
        #expect(ending?.reason == .full(2))
        _ = keeper.closed(3)
        _ = keeper.closed(1)
        #expect(keeper.accepted(4, 4, from: "c", origin: "c", now: 0) == nil)
    }

    @Test func `names connections that are silent for ten seconds, and again if they stay`() {
        var keeper = Keeper(maximumConnections: 10)
        _ = keeper.accepted(1, 1, from: "a", origin: "a", now: 0)
        _ = keeper.accepted(2, 2, from: "b", origin: "b", now: 5 * Self.second)
        #expect(overdue(&keeper, seconds: 1...9).isEmpty)
        #expect(overdue(&keeper, seconds: 10...14) == [1])
        #expect(overdue(&keeper, seconds: 15...20) == [1, 2])
    }

    @Test func `names connections that are not welcomed within 30 seconds`() {
        var keeper = Keeper(maximumConnections: 10)
        _ = keeper.accepted(1, 1, from: "a", origin: "a", now: 0)
        var named: [Int64] = []
        for second in Int64(1)...31 {
            keeper.spoke(1, now: second * Self.second)
            if keeper.overdue(now: second * Self.second).first?.reason == .notWelcome {
                named.append(second)
            }
        }
        #expect(named == [30])
    }

    @Test func `keeps a connection while it sends clock probes, and names one that stops`() {
        var keeper = Keeper(maximumConnections: 10)
        for descriptor: Int32 in [1, 2] {
            _ = keeper.accepted(descriptor, descriptor, from: "a", origin: "a", now: 0)
            #expect(keeper.askedForTime(descriptor, now: Self.second).1 == nil)
        }
        var named: [Int32] = []
        for second in Int64(1)...100 {
            if second % 2 == 0 { _ = keeper.askedForTime(1, now: second * Self.second) }
            let ended = keeper.overdue(now: second * Self.second)
            #expect(ended.allSatisfy { $0.reason == .clockStopped })
            named += ended.map(\.connection)
        }
        #expect(named.first == 2)
        #expect(!named.contains(1))
    }

    @Test func `limits connections that send only clock probes by the number of agents`() {
        var keeper = Keeper(maximumConnections: 10_000)
        func clocks(_ descriptors: Range<Int32>, from origin: String) -> Int {
            descriptors.count { descriptor in
                _ = keeper.accepted(
                    descriptor, descriptor, from: origin, origin: origin, now: Int64(descriptor))
                return keeper.askedForTime(descriptor, now: Int64(descriptor)).1 == nil
            }
        }
        #expect(clocks(0..<469, from: "a") == Keeper.spareClocksPerOrigin)
        // As many more as there are agents.
        for descriptor in Int32(1_000)..<1_100 {
            _ = keeper.accepted(descriptor, descriptor, from: "b", origin: "b", now: 0)
            keeper.welcomed(descriptor)
        }
        #expect(clocks(2_000..<2_300, from: "b") == Keeper.spareClocksPerOrigin + 100)
        // Connections still greeting too, when a whole site reconnects.
        for descriptor in Int32(3_000)..<3_200 {
            _ = keeper.accepted(descriptor, descriptor, from: "c", origin: "c", now: 0)
        }
        #expect(clocks(4_000..<4_400, from: "c") >= Keeper.spareClocksPerOrigin + 150)
    }

    @Test func `limits agents per origin, and ends the one that is silent for longest`() {
        var keeper = Keeper(maximumConnections: 10_000)
        var ended: [Int32] = []
        for descriptor in 0..<Int32(Keeper.welcomesPerOrigin) + 3 {
            _ = keeper.accepted(
                descriptor, descriptor, from: "a", origin: "a", now: Int64(descriptor))
            keeper.spoke(0, now: Int64(descriptor))
            ended += [keeper.welcomed(descriptor)].compactMap { $0?.connection }
        }
        #expect(ended == [1, 2, 3])
    }

    @Test func `limits connections per key, and ends the one that is silent for longest`() {
        var keeper = Keeper(maximumConnections: 100)
        for descriptor in Int32(0)..<4 {
            _ = keeper.accepted(descriptor, descriptor, from: "a", origin: "a", now: 0)
            #expect(keeper.proved(descriptor, key: "k", limit: 4) == nil)
            keeper.spoke(descriptor, now: 0)
            keeper.welcomed(descriptor)
        }
        keeper.spoke(0, now: 5)
        keeper.spoke(2, now: 6)
        keeper.spoke(3, now: 7)
        _ = keeper.accepted(9, 9, from: "a", origin: "a", now: 10)
        #expect(keeper.proved(9, key: "k", limit: 4)?.connection == 1)
        _ = keeper.closed(1)
        _ = keeper.accepted(10, 10, from: "a", origin: "a", now: 10)
        #expect(keeper.proved(10, key: "another", limit: 4) == nil)
    }

    @Test func `does not count the time during which it was suspended`() {
        var keeper = Keeper(maximumConnections: 10)
        _ = keeper.accepted(1, 1, from: "a", origin: "a", now: 0)
        _ = keeper.accepted(2, 2, from: "a", origin: "a", now: 0)
        _ = keeper.askedForTime(2, now: 0)
        #expect(overdue(&keeper, seconds: 1...3).isEmpty)
        #expect(overdue(&keeper, seconds: 3_600...3_606).isEmpty)
        #expect(overdue(&keeper, seconds: 3_607...3_607) == [1])
    }

    @Test func `takes a reused descriptor for a new connection`() {
        var keeper = Keeper(maximumConnections: 10)
        _ = keeper.accepted(1, 10, from: "a", origin: "a", now: 0)
        keeper.welcomed(1)
        // Its disconnect event was lost, but it must have ended.
        _ = keeper.accepted(1, 11, from: "b", origin: "b", now: 0)
        #expect(keeper.count == 1)
        #expect(overdue(&keeper, seconds: 1...10) == [11])
        #expect(keeper.closed(1)?.address == "b")
    }
}
