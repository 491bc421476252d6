import Testing

@testable import CollectorCore

/// What viewers on other machines may cost.
@Suite struct WatcherConnectionsTests {
    private typealias Connections = WatcherConnections<String>
    private let second: Int64 = 1_000_000_000

    @Test func `the oldest that has not subscribed makes room, and never one that has`() {
        var connections = Connections()
        for number in 0..<Int32(Connections.maximumConnections) {
            #expect(connections.accepted(number, "\(number)", now: Int64(number)) == nil)
        }
        #expect(connections.sent(0, key: "a", isSubscription: true) == nil)
        let ending = connections.accepted(100, "new", now: 200)
        #expect(ending?.connection == "1")
        #expect(ending?.reason == .full(Connections.maximumConnections))
        for number in 2..<Int32(Connections.maximumConnections) {
            _ = connections.sent(number, key: "\(number)", isSubscription: true)
        }
        _ = connections.sent(100, key: "b", isSubscription: true)
        // Nobody has to go for somebody who has not shown a right.
        #expect(connections.accepted(101, "stranger", now: 300)?.connection == "stranger")
        #expect(connections.count == Connections.maximumConnections)
    }

    @Test func `a key that connects too often loses its oldest connection, and no other key's`() {
        var connections = Connections()
        _ = connections.accepted(50, "other", now: 0)
        _ = connections.sent(50, key: "other", isSubscription: true)
        for number in 0..<Int32(Connections.connectionsPerKey) {
            _ = connections.accepted(number, "\(number)", now: Int64(1 + number))
            #expect(connections.sent(number, key: "a", isSubscription: true) == nil)
        }
        _ = connections.accepted(60, "last", now: 100)
        let ending = connections.sent(60, key: "a", isSubscription: true)
        #expect(ending?.connection == "0")
        #expect(ending?.reason == .connectionsOfKey(Connections.connectionsPerKey))
        // Without keys there is nobody to count for.
        for number in 70..<80 as Range<Int32> {
            _ = connections.accepted(number, "plain", now: 101)
            #expect(connections.sent(number, key: nil, isSubscription: true) == nil)
        }
    }

    @Test func `what is no subscription, and too many, end a connection`() {
        var connections = Connections()
        _ = connections.accepted(1, "garbage", now: 0)
        #expect(
            connections.sent(1, key: nil, isSubscription: false)?.reason == .notASubscription)
        #expect(connections.sent(1, key: nil, isSubscription: true) == nil)
        _ = connections.accepted(2, "greedy", now: 0)
        for _ in 0..<Connections.maximumSubscriptions {
            #expect(connections.sent(2, key: nil, isSubscription: true) == nil)
        }
        #expect(
            connections.sent(2, key: nil, isSubscription: true)?.reason
                == .subscriptions(Connections.maximumSubscriptions))
        #expect(connections.count == 0)
    }

    @Test func `a viewer's bytes pass, and a flood does not`() {
        var connections = Connections()
        _ = connections.accepted(1, "viewer", now: 0)
        _ = connections.accepted(2, "flood", now: 0)
        // A day of heartbeats, and a wall that opens every minute.
        var sent = 0
        for minute in 1...1_440 as ClosedRange<Int64> {
            sent += 20_000 + 60 * 60
            #expect(connections.read(1, total: sent, now: minute * 60 * second) == nil)
        }
        var endings = 0
        for look in 1...10 as ClosedRange<Int64> {
            if connections.read(2, total: Int(look) * 100_000, now: look * second / 10) != nil {
                endings += 1
            }
        }
        #expect(endings == 1)
        #expect(connections.connections.map(\.connection) == ["viewer"])
    }

    @Test func `whoever does not subscribe is closed after ten seconds, others stay`() {
        var connections = Connections()
        _ = connections.accepted(1, "silent", now: 0)
        _ = connections.accepted(2, "viewer", now: 0)
        _ = connections.sent(2, key: "a", isSubscription: true)
        #expect(connections.overdue(now: 10 * second - 1).isEmpty)
        #expect(connections.overdue(now: 10 * second).map(\.connection) == ["silent"])
        #expect(connections.overdue(now: 1_000 * second).isEmpty)
    }

    @Test func `a key that loses its right loses its connections`() {
        var connections = Connections()
        for (number, key) in ["a", "b", "a"].enumerated() {
            _ = connections.accepted(Int32(number), "\(number)", now: 0)
            _ = connections.sent(Int32(number), key: key, isSubscription: true)
        }
        #expect(connections.hasNewWatcher() && !connections.hasNewWatcher())
        let ended = connections.disallowed { $0 != "a" }
        #expect(ended.map(\.connection) == ["0", "2"])
        #expect(ended.allSatisfy { $0.reason == .notAllowed })
        #expect(connections.count == 1)
        connections.closed(1)
        #expect(connections.count == 0)
    }
}
