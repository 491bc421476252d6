import HTTPTypes
import Synchronization
import Testing
import Wire

@testable import ViewerCore

/// The live sources that players ask for.
@Suite(.timeLimit(.minutes(1))) struct LiveStreamsTests {
    @Test func `a source has one stream while it is requested`() async throws {
        let hub = LiveHub()
        let streams = LiveStreams(hub: hub, nowUTC: { 1_000_000_000_000 })
        let a = try await streams.stream("a", now: 0)
        let b = try await streams.stream("b", now: 0)
        try await hub.reaches(watchers: 2)
        #expect(a !== b)
        let again = try await streams.stream("a", now: LiveStream.idleNanoseconds)
        #expect(again === a)
        // The other one has not been requested since.
        let still = try await streams.stream("a", now: LiveStream.idleNanoseconds + 1)
        #expect(still === a)
        #expect(hub.topics == [FeedTopic.source("a")] && hub.watcherCount == 1)
        let other = try await streams.stream("b", now: LiveStream.idleNanoseconds + 2)
        #expect(other !== b)
        for stream in [a, other] { stream.stop() }
    }

    @Test func `streams are limited, and those without a source are replaced`() async throws {
        let hub = LiveHub()
        let streams = LiveStreams(hub: hub, nowUTC: { 0 })
        var made: [LiveStream] = []
        for number in 0..<256 {
            made.append(try await streams.stream("camera\(number)", now: Int64(number)))
        }
        try await hub.reaches(watchers: 256)
        // The oldest one is a real source.
        var camera = LiveCamera("camera0")
        camera.send(25, to: hub)
        while !made[0].hasBegun { try await Task.sleep(for: .milliseconds(1)) }
        made.append(try await streams.stream("one more", now: 300))
        let count = await streams.count
        #expect(count == 256)
        let first = try await streams.stream("camera0", now: 301)
        let second = try await streams.stream("camera1", now: 301)
        #expect(first === made[0] && second !== made[1])
        for stream in made + [second] { stream.stop() }
        #expect(hub.watcherCount == 0)
    }

    /// A player that was paused meanwhile must not see numbers again that had other media.
    @Test func `a source that is asked for again has greater numbers than before`() async throws {
        let hub = LiveHub()
        let utc = Atomic<Int64>(1_000_000_000_000)
        let streams = LiveStreams(hub: hub) { utc.load(ordering: .relaxed) }
        let first = try await streams.stream("camera", now: 0)
        try await hub.reaches(watchers: 1)
        var camera = LiveCamera()
        camera.send(125, to: hub)
        _ = try await first.listed(part: "1001.1.mp4")
        let later: Int64 = 100_000_000_000
        utc.store(1_000_000_000_000 + later, ordering: .relaxed)
        let other = try await streams.stream("other", now: later)
        while !hub.topics.contains(FeedTopic.source("other")) {
            try await Task.sleep(for: .milliseconds(1))
        }
        let second = try await streams.stream("camera", now: later)
        defer { for stream in [other, second] { stream.stop() } }
        #expect(second !== first)
        try await hub.reaches(watchers: 2)
        // A playlist is answered when it has a whole segment.
        camera.send(135, to: hub)
        let text = try await second.listed()
        #expect(PlaylistRules(text).mediaSequence > 1_001)
    }

    /// The most of watchers may have been there when it was asked for first.
    @Test func `a source that could not be watched can be asked for again`() async throws {
        let hub = LiveHub()
        let watchers = (0..<LiveHub.maximumWatchers).map { _ in
            LiveWatcher(sources: ["other"]) { _ in true }
        }
        for watcher in watchers { #expect(hub.start(watcher)) }
        let streams = LiveStreams(hub: hub, nowUTC: { 1_000_000_000_000 })
        let first = try await streams.stream("camera", now: 0)
        let status = try await first.refusal(LiveRequest())
        #expect(status == 503)
        for watcher in watchers { hub.stop(watcher) }
        let second = try await streams.stream("camera", now: 1)
        #expect(second !== first)
        guard second !== first else { return }
        defer { second.stop() }
        try await hub.reaches(watchers: 1)
        var camera = LiveCamera()
        camera.send(135, to: hub)
        let text = try await second.listed()
        #expect(PlaylistRules(text).findings.isEmpty)
    }
}
