import Testing

@testable import CollectorCore

/// Limits on viewers from other machines.
@Suite struct WatcherConnectionsTests {
    private typealias Connections = WatcherConnections<String>
    private let second: Int64 = 1_000_000_000
    private let subscription = Connections.Change(topic: [1, 0], isWanted: true)

    @Test func `the oldest connection without a subscription is displaced, never one with`() {
        var connections = Connections()
        for number in 0..<Int32(Connections.maximumConnections) {
            #expect(
                connections.accepted(
                    number, "\(number)", from: "\(number / 4)", now: Int64(number)) == nil)
        }
        #expect(connections.sent(0, key: "a", subscription, now: 0) == nil)
        // At an address with four of them.
        let ending = connections.accepted(100, "new", from: "there", now: 200)
        #expect(ending?.connection == "4")
        #expect(ending?.reason == .full(Connections.maximumConnections))
        for number in 1..<Int32(Connections.maximumConnections) {
            _ = connections.sent(number, key: "\(number)", subscription, now: 0)
        }
        _ = connections.sent(100, key: "b", subscription, now: 0)
        // An unauthorised connection displaces no other.
        #expect(
            connections.accepted(101, "stranger", from: "there", now: 300)?.connection
                == "stranger")
        #expect(connections.count == Connections.maximumConnections)
    }

    @Test func `silent connections of one address displace only each other`() {
        var connections = Connections()
        let (limit, few) = (Int32(Connections.maximumConnections), Int32(3))
        for number in 0..<few {
            _ = connections.accepted(number, "\(number)", from: "viewers", now: 0)
        }
        for number in few..<few + Int32(Connections.silentPerOrigin) {
            #expect(connections.accepted(number, "a", from: "attic", now: 1) == nil)
        }
        let ending = connections.accepted(90, "b", from: "attic", now: 2)
        #expect(ending?.connection == "a")
        #expect(ending?.reason == .silentOfOrigin(Connections.silentPerOrigin))
        // From many places: the one with most of them gives way.
        for number in 100..<100 + limit - few - Int32(Connections.silentPerOrigin) {
            #expect(connections.accepted(number, "c", from: "\(number)", now: 3) == nil)
        }
        #expect(connections.accepted(200, "d", from: "new", now: 4)?.connection == "a")
        let left = connections.connections.map(\.connection)
        #expect(Set(left).isSuperset(of: ["0", "1", "2"]))
    }

    @Test func `the subscriptions of a key are limited, independently of others`() {
        var connections = Connections()
        _ = connections.accepted(1, "wall", from: "here", now: 0)
        func change(_ number: Int, _ isWanted: Bool = true) -> Connections.Change {
            Connections.Change(topic: Array("\(number)".utf8), isWanted: isWanted)
        }
        for number in 0..<Connections.maximumTopics {
            #expect(connections.sent(1, key: "a", change(number), now: 0) == nil)
        }
        // One for another, and the same again.
        #expect(connections.sent(1, key: "a", change(0, false), now: 0) == nil)
        #expect(connections.sent(1, key: "a", change(9_999), now: 0) == nil)
        #expect(connections.sent(1, key: "a", change(1), now: 0) == nil)
        #expect(
            connections.sent(1, key: "a", change(0), now: 0)?.reason
                == .topics(Connections.maximumTopics))
    }

    @Test func `the rate limit of a key stays after its connection was closed`() {
        var connections = Connections()
        let burst = Int(Connections.burstBytes)
        var endings = 0
        for number in 0..<20 as Range<Int32> {
            _ = connections.accepted(number, "flood", from: "there", now: 0)
            _ = connections.read(number, total: burst, now: 0)
            let ending = connections.sent(number, key: "a", subscription, now: 0)
            if ending?.reason == .tooMuch { endings += 1 }
            _ = connections.accepted(100 + number, "viewer", from: "here", now: 0)
            #expect(connections.read(100 + number, total: 2_000, now: 0) == nil)
            #expect(connections.sent(100 + number, key: "\(number)", subscription, now: 0) == nil)
            connections.closed(number)
            connections.closed(100 + number)
        }
        #expect(endings >= 20 - Connections.connectionsPerKey - 1)
    }

    @Test func `a new connection does not inherit the subscriptions of the previous one`() {
        var connections = Connections()
        _ = connections.accepted(1, "viewer", from: "there", now: 0)
        for _ in 0..<Connections.maximumSubscriptions - 1 {
            #expect(connections.sent(1, key: "old", subscription, now: 0) == nil)
        }
        #expect(connections.sent(1, key: "new", subscription, now: 0) == nil)
        #expect(connections.sent(1, key: "new", subscription, now: 0) == nil)
        #expect(connections.disallowed { $0 == "new" }.isEmpty)
    }

    @Test func `if too many bytes wait, the slowest viewer is closed, one per second`() {
        var connections = Connections()
        func watch(_ number: Int32) {
            _ = connections.accepted(number, "\(number)", from: "\(number)", now: 0)
            _ = connections.sent(number, key: "\(number)", subscription, now: 0)
        }
        watch(1)
        #expect(connections.taken([1: 0], isCrowded: true, now: second) == nil)
        watch(2)
        watch(3)
        var total: [Int32: Int] = [1: 1_000_000, 2: 9_000_000, 3: 5_000_000]
        #expect(connections.taken(total, isCrowded: false, now: 2 * second) == nil)
        total = [1: 1_900_000, 2: 9_100_000, 3: 6_000_000]
        #expect(connections.taken(total, isCrowded: true, now: 3 * second - 1) == nil)
        let ending = connections.taken(total, isCrowded: true, now: 3 * second)
        #expect(ending?.connection == "2" && ending?.reason == .doesNotRead)
        #expect(connections.taken(total, isCrowded: true, now: 3 * second + 1) == nil)
        #expect(connections.taken([:], isCrowded: true, now: 4 * second)?.connection != nil)
    }

    @Test func `a key that connects too often loses its oldest connection, and no other key's`() {
        var connections = Connections()
        _ = connections.accepted(50, "other", from: "there", now: 0)
        _ = connections.sent(50, key: "other", subscription, now: 0)
        for number in 0..<Int32(Connections.connectionsPerKey) {
            _ = connections.accepted(number, "\(number)", from: "there", now: Int64(1 + number))
            #expect(connections.sent(number, key: "a", subscription, now: 0) == nil)
        }
        _ = connections.accepted(60, "last", from: "there", now: 100)
        let ending = connections.sent(60, key: "a", subscription, now: 0)
        #expect(ending?.connection == "0")
        #expect(ending?.reason == .connectionsOfKey(Connections.connectionsPerKey))
        // Without keys there is no viewer to count by.
        for number in 70..<80 as Range<Int32> {
            _ = connections.accepted(number, "plain", from: "there", now: 101)
            #expect(connections.sent(number, key: nil, subscription, now: 0) == nil)
        }
    }

    @Test func `an invalid message, or too many subscriptions, ends a connection`() {
        var connections = Connections()
        _ = connections.accepted(1, "garbage", from: "there", now: 0)
        #expect(connections.sent(1, key: nil, nil, now: 0)?.reason == .notASubscription)
        #expect(connections.sent(1, key: nil, subscription, now: 0) == nil)
        _ = connections.accepted(2, "greedy", from: "there", now: 0)
        for _ in 0..<Connections.maximumSubscriptions {
            #expect(connections.sent(2, key: nil, subscription, now: 0) == nil)
        }
        #expect(
            connections.sent(2, key: nil, subscription, now: 0)?.reason
                == .subscriptions(Connections.maximumSubscriptions))
        #expect(connections.count == 0)
    }

    @Test func `a viewer's bytes pass, and a flood does not`() {
        var connections = Connections()
        _ = connections.accepted(1, "viewer", from: "there", now: 0)
        _ = connections.accepted(2, "flood", from: "there", now: 0)
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

    @Test func `a connection without a subscription is closed after ten seconds`() {
        var connections = Connections()
        _ = connections.accepted(1, "silent", from: "there", now: 0)
        _ = connections.accepted(2, "viewer", from: "there", now: 0)
        _ = connections.sent(2, key: "a", subscription, now: 0)
        #expect(connections.overdue(now: 10 * second - 1).isEmpty)
        #expect(connections.overdue(now: 10 * second).map(\.connection) == ["silent"])
        #expect(connections.overdue(now: 1_000 * second).isEmpty)
    }

    @Test func `a key that loses its right loses its connections`() {
        var connections = Connections()
        for (number, key) in ["a", "b", "a"].enumerated() {
            _ = connections.accepted(Int32(number), "\(number)", from: "there", now: 0)
            _ = connections.sent(Int32(number), key: key, subscription, now: 0)
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
