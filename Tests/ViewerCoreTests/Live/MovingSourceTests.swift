import Media
import Testing
import Wire

@testable import ViewerCore

/// A source in the feeds of several collectors.
@Suite struct MovingSourceTests {
    private static let picture: Int64 = 40_000_000
    private static let second: Int64 = 1_000_000_000

    /// Sends pictures of one feed, each at its time.
    private func send(
        _ count: Int, of camera: inout LiveCamera, from feed: String, to hub: LiveHub, at now: Int64
    ) {
        for index in 0..<count {
            let message = camera.next()
            hub.take(
                message.samples, media: message.media, from: feed,
                now: now + Int64(index) * Self.picture)
        }
    }

    private func watched(_ hub: LiveHub, _ sources: Set<String>? = nil) -> LiveWatcher {
        let watcher = LiveWatcher(sources: sources) { _ in true }
        #expect(hub.start(watcher))
        return watcher
    }

    private func collectors(_ frames: [LiveFrame]) -> [String?] {
        frames.filter { $0.kind == .begin }.map { frame in
            guard case .begin(let format, _) = frame.content else { return nil }
            return format.collector
        }
    }

    @Test func `a source that moves continues with a whole group of the other collector`()
        async throws
    {
        let hub = LiveHub()
        let watcher = watched(hub)
        var east = LiveCamera()
        send(10, of: &east, from: "east", to: hub, at: 0)
        // The agent sends the next collector the group that was not acknowledged, from its keyframe on.
        var west = LiveCamera()
        send(12, of: &west, from: "west", to: hub, at: 4 * Self.second)
        let frames = await watcher.drained()
        #expect(frames.compactMap(\.picture) == Array(0..<10) + Array(0..<12))
        #expect(collectors(frames) == ["east", "west"])
        #expect(hub.feed(of: "camera") == "west")
        var player = LivePlayer()
        player.take(frames)
        #expect(player.flaws.isEmpty)
    }

    @Test func `a second collector's media are shown when the first is silent`() async throws {
        let hub = LiveHub()
        let watcher = watched(hub)
        var east = LiveCamera()
        send(10, of: &east, from: "east", to: hub, at: 0)
        _ = await watcher.drained()
        // Drained: the other collector has it at once.
        var west = LiveCamera()
        send(5, of: &west, from: "west", to: hub, at: 400_000_000)
        let early = await watcher.drained()
        #expect(early.isEmpty)
        send(25, of: &west, from: "west", to: hub, at: 1_350_000_000)
        let frames = await watcher.drained()
        #expect(frames.compactMap(\.picture).prefix(25) == Array(0..<25)[...])
        #expect(collectors(frames) == ["west"])
    }

    @Test func `a second feed of a source changes nothing while the first sends`() async throws {
        let hub = LiveHub()
        let watcher = watched(hub)
        var (east, west) = (LiveCamera(), LiveCamera())
        west.pictureBytes = 7
        west.picture = 1_000_000
        for round in 0..<50 {
            send(1, of: &east, from: "east", to: hub, at: Int64(round) * Self.picture)
            send(3, of: &west, from: "west", to: hub, at: Int64(round) * Self.picture + 1)
            hub.tick(now: Int64(round) * Self.picture + 2)
        }
        let frames = await watcher.drained().filter { $0.kind != .beat }
        #expect(frames.compactMap(\.picture) == Array(0..<50))
        #expect(collectors(frames) == ["east"])
    }

    @Test func `a collector that was silent for a moment gets its source back`() async throws {
        let hub = LiveHub()
        let watcher = watched(hub)
        var (east, west) = (LiveCamera(), LiveCamera())
        send(10, of: &east, from: "east", to: hub, at: 0)
        send(1, of: &west, from: "west", to: hub, at: 2 * Self.second)
        #expect(hub.feed(of: "camera") == "west")
        // Until its keyframe, the other one's pictures are shown.
        send(14, of: &east, from: "east", to: hub, at: 2_100_000_000)
        #expect(hub.feed(of: "camera") == "west")
        send(3, of: &east, from: "east", to: hub, at: 2_200_000_000)
        send(5, of: &west, from: "west", to: hub, at: 2_300_000_000)
        #expect(hub.feed(of: "camera") == "east")
        var player = LivePlayer()
        player.take(await watcher.drained())
        #expect(player.flaws.isEmpty)
    }

    @Test func `a collector that returns with old pictures does not get the source`() async throws {
        let hub = LiveHub()
        _ = watched(hub)
        var (east, west) = (LiveCamera(), LiveCamera())
        send(10, of: &east, from: "east", to: hub, at: 0)
        send(1, of: &west, from: "west", to: hub, at: 2 * Self.second)
        for index in 0..<60 {
            var message = east.next()
            message.samples.arrivedNanoseconds = 60 * Self.second
            hub.take(
                message.samples, media: message.media, from: "east",
                now: 2_100_000_000 + Int64(index))
            send(1, of: &west, from: "west", to: hub, at: 2_100_000_000 + Int64(index))
        }
        #expect(hub.feed(of: "camera") == "west")
    }

    @Test
    func `a source of two silent collectors ends, and begins with the first to return`()
        async throws
    {
        let hub = LiveHub()
        let watcher = watched(hub)
        var (east, west) = (LiveCamera(), LiveCamera())
        send(2, of: &east, from: "east", to: hub, at: 0)
        send(2, of: &west, from: "west", to: hub, at: 0)
        hub.tick(now: 4 * Self.second)
        var frames = await watcher.drained()
        #expect(frames.map(\.word).suffix(2) == ["gone camera", "beat"])
        #expect(hub.feed(of: "camera") == nil && hub.keptBytes == 0)
        send(30, of: &west, from: "west", to: hub, at: 5 * Self.second)
        frames = await watcher.drained()
        #expect(collectors(frames) == ["west"])
        #expect(frames.compactMap(\.picture) == Array(25..<32))
    }

    @Test func `after the first collector's end, the other continues without a gap`() async throws {
        let hub = LiveHub()
        let watcher = watched(hub)
        var (east, west) = (LiveCamera(), LiveCamera())
        for round in 0..<30 {
            send(1, of: &east, from: "east", to: hub, at: Int64(round) * Self.picture)
            send(1, of: &west, from: "west", to: hub, at: Int64(round) * Self.picture)
        }
        for round in 30..<80 {
            send(1, of: &west, from: "west", to: hub, at: Int64(round) * Self.picture)
        }
        let frames = await watcher.drained()
        #expect(collectors(frames) == ["east", "west"])
        #expect(Set(frames.compactMap(\.picture)) == Set(0..<80))
    }

    @Test func `a slow source does not change its feed between two pictures`() async throws {
        let hub = LiveHub()
        _ = watched(hub)
        var (east, west) = (LiveCamera(), LiveCamera())
        (east.groupPictures, west.groupPictures) = (1, 1)
        // One in 0.9 s, and then one late.
        let times = [0, 900_000_000, 1_800_000_000, 2_700_000_000, 4_600_000_000]
        for time in times {
            send(1, of: &east, from: "east", to: hub, at: Int64(time))
            send(1, of: &west, from: "west", to: hub, at: Int64(time) - 100_000_000)
            #expect(hub.feed(of: "camera") == "east")
        }
    }

    // MARK: A feed that sends too much

    @Test func `a feed that sends large groups loses its own, not those of others`() async throws {
        let hub = LiveHub(maximumGroupsBytes: 100_000)
        _ = watched(hub)
        var good = LiveCamera("good")
        good.pictureBytes = 10_000
        send(2, of: &good, from: "east", to: hub, at: 0)
        for index in 0..<40 {
            var bad = LiveCamera("bad\(index)")
            bad.pictureBytes = 20_000
            send(1, of: &bad, from: "west", to: hub, at: Int64(index) + 1)
        }
        #expect(hub.keptBytes <= 100_000)
        let late = watched(hub, ["good"])
        let frames = await late.drained()
        #expect(frames.compactMap(\.picture) == [0, 1])
    }

    @Test func `a feed's sources are limited, separately from other feeds`() async throws {
        let hub = LiveHub()
        let watcher = watched(hub)
        for index in 0..<LiveHub.maximumSourcesOfFeed + 5 {
            var camera = LiveCamera("s\(index)")
            send(1, of: &camera, from: "west", to: hub, at: 0)
            _ = await watcher.drained()
        }
        #expect(hub.feed(of: "s\(LiveHub.maximumSourcesOfFeed - 1)") == "west")
        #expect(hub.feed(of: "s\(LiveHub.maximumSourcesOfFeed)") == nil)
        var own = LiveCamera("s\(LiveHub.maximumSourcesOfFeed)")
        send(1, of: &own, from: "east", to: hub, at: 0)
        #expect(hub.feed(of: own.source) == "east")
    }

    @Test func `a message on another source's topic is left out`() throws {
        var camera = LiveCamera("door")
        let message = camera.next()
        let header = FeedMessage.samples(message.samples).encoded()
        #expect(
            try FeedSubscriber.message([FeedTopic.source("door"), header, message.media]) != nil)
        #expect(throws: WireError.self) {
            try FeedSubscriber.message([FeedTopic.source("stage"), header, message.media])
        }
        let status = FeedMessage.status([]).encoded()
        #expect(throws: WireError.self) {
            try FeedSubscriber.message([FeedTopic.source("door"), status])
        }
        #expect(try FeedSubscriber.message([FeedTopic.status, status]) != nil)
    }
}
