import Messaging
import Testing

@testable import CollectorClient

@Suite struct GreetingWatchTests {
    private static let second: Int64 = 1_000_000_000
    private let endpoint = "tcp://server:5550"

    @Test func `a collector that accepts connections and never greets is reported as hanging`() {
        var watch = GreetingWatch()
        _ = watch.follow(.connected(endpoint: endpoint), now: 0)
        #expect(watch.trouble(of: endpoint, now: 4 * Self.second) == nil)
        #expect(
            watch.trouble(of: endpoint, now: 5 * Self.second)
                == "the collector at tcp://server:5550 accepts connections but does not answer")
        let end = ConnectionEvent.handshakeFailed(endpoint: endpoint, .brokenOff(errno: 11))
        let isOver = watch.follow(end, now: 30 * Self.second)
        #expect(isOver)
        // On the next connection too, before its time is over.
        _ = watch.follow(.retrying(endpoint: endpoint, milliseconds: 200), now: 30 * Self.second)
        _ = watch.follow(.connected(endpoint: endpoint), now: 31 * Self.second)
        #expect(watch.trouble(of: endpoint, now: 31 * Self.second) != nil)
        _ = watch.follow(.ready(endpoint: endpoint), now: 32 * Self.second)
        #expect(watch.trouble(of: endpoint, now: 60 * Self.second) == nil)
    }

    @Test func `a handshake that is refused at once is not reported as hanging`() {
        var watch = GreetingWatch()
        _ = watch.follow(.connected(endpoint: endpoint), now: 0)
        let end = ConnectionEvent.handshakeFailed(endpoint: endpoint, .brokenOff(errno: 11))
        let isOver = watch.follow(end, now: Self.second / 10)
        #expect(!isOver)
        #expect(watch.trouble(of: endpoint, now: Self.second / 10) == nil)
    }

    @Test func `a collector that hung and has ended is not reported as hanging`() {
        var watch = GreetingWatch()
        _ = watch.follow(.connected(endpoint: endpoint), now: 0)
        let end = ConnectionEvent.handshakeFailed(endpoint: endpoint, .brokenOff(errno: 11))
        _ = watch.follow(end, now: 30 * Self.second)
        for _ in 0..<2 {
            _ = watch.follow(
                .retrying(endpoint: endpoint, milliseconds: 200), now: 31 * Self.second)
        }
        #expect(watch.trouble(of: endpoint, now: 32 * Self.second) == nil)
    }
}
