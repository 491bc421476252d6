import Testing

@testable import AgentCore

@Suite struct WatcherArrivalsTests {
    private let second: Int64 = 1_000_000_000

    @Test func `the first watcher causes one keyframe`() {
        var arrivals = WatcherArrivals()
        let looks: [(isWatched: Bool, seconds: Int64)] = [
            (false, 0), (true, 1), (true, 30), (false, 31), (true, 32),
        ]
        let keyframes = looks.map { look in
            arrivals.arrives(isWatched: look.isWatched, now: look.seconds * second)
        }
        #expect(keyframes == [false, true, false, false, true])
    }

    @Test func `watchers that come and go cause at most one keyframe in ten seconds`() {
        var arrivals = WatcherArrivals()
        let keyframes = (0..<600).count { step in
            arrivals.arrives(isWatched: !step.isMultiple(of: 2), now: Int64(step) * second / 10)
        }
        #expect(keyframes == 6)
    }
}
