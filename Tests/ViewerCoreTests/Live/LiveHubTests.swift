import Media
import Synchronization
import Testing
import Wire

@testable import Accounts
@testable import ViewerCore

/// Distribution of a feed's messages to viewers.
@Suite struct LiveHubTests {
    /// Nanoseconds without a message after which a source is removed.
    private static let silence: Int64 = 3_000_000_000

    private func watcher(_ sources: Set<String>? = ["camera"]) -> LiveWatcher {
        LiveWatcher(sources: sources) { _ in true }
    }

    private func words(_ watcher: LiveWatcher) async -> [String] {
        await watcher.drained().map(\.word)
    }

    @Test func `an account has at most a hundred watchers, separately from others`() {
        let hub = LiveHub()
        func starts(_ owner: Identity) -> Bool {
            hub.start(LiveWatcher(sources: ["camera"], for: owner) { _ in true })
        }
        let own = (0..<100).map { _ in starts(.user("anna")) }
        #expect(own.allSatisfy { $0 })
        #expect(!starts(.user("anna")) && !hub.hasRoom(for: .user("anna")))
        #expect(starts(.user("ben")))
        // Without accounts there is only the limit of all.
        let others = (0..<399).map { _ in starts(.anonymous) }
        #expect(others.allSatisfy { $0 })
        #expect(!starts(.anonymous) && hub.watcherCount == 500)
    }

    // MARK: Topics

    @Test func `topics are those of all watchers, and none after the last has left`() {
        let hub = LiveHub()
        #expect(hub.topics.isEmpty)
        let one = watcher(["a", "b"])
        let two = watcher(["b", "c"])
        let all = watcher(nil)
        #expect(hub.start(one))
        #expect(hub.topics == [FeedTopic.source("a"), FeedTopic.source("b")])
        #expect(hub.start(two))
        #expect(
            hub.topics == [
                FeedTopic.source("a"), FeedTopic.source("b"), FeedTopic.source("c"),
            ])
        #expect(hub.start(all))
        // Whatever a topic begins with.
        #expect(hub.topics == [[]])
        hub.stop(all)
        hub.stop(one)
        #expect(hub.topics == [FeedTopic.source("b"), FeedTopic.source("c")])
        hub.stop(two)
        #expect(hub.topics.isEmpty && hub.watcherCount == 0)
        hub.stop(two)
        #expect(hub.topics.isEmpty)
    }

    @Test func `a change of the topics is notified`() {
        let hub = LiveHub()
        let count = Counter()
        hub.onChange { count.add() }
        let one = watcher()
        #expect(hub.start(one))
        #expect(count.value == 1)
        hub.stop(one)
        #expect(count.value == 2)
    }

    @Test func `a watcher with short batches adds a delay request for each source`() {
        let hub = LiveHub()
        let count = Counter()
        let one = LiveWatcher(sources: ["a", "b"], batchMilliseconds: 1) { $0 != "b" }
        #expect(hub.start(one))
        // Forbidden sources are not subscribed to for it.
        #expect(
            hub.topics == [
                FeedTopic.source("a"), FeedTopic.source("b"), FeedTopic.delayRequest(1, for: "a"),
            ])
        hub.stop(one)
        #expect(hub.topics.isEmpty)
        let all = LiveWatcher(sources: nil, batchMilliseconds: 33) { _ in true }
        #expect(hub.start(all))
        #expect(hub.topics == [[]])
        hub.onChange { count.add() }
        var camera = LiveCamera("stage")
        camera.send(2, to: hub)
        #expect(hub.topics == [[], FeedTopic.delayRequest(33, for: "stage")])
        // Sent once, with its first message.
        #expect(count.value == 1)
        hub.stop(all)
        #expect(hub.topics.isEmpty)
    }

    private final class Counter: Sendable {
        private let state = Mutex(0)

        var value: Int { state.withLock { $0 } }

        func add() { state.withLock { $0 += 1 } }
    }

    @Test func `the number of watchers is limited`() {
        let hub = LiveHub()
        let watchers = (0..<LiveHub.maximumWatchers).map { _ in watcher() }
        for watcher in watchers { #expect(hub.start(watcher)) }
        let late = watcher()
        #expect(!hub.start(late))
        #expect(hub.watcherCount == LiveHub.maximumWatchers)
        hub.stop(watchers[0])
        let next = watcher()
        #expect(hub.start(next))
        for watcher in watchers.dropFirst() + [next] { hub.stop(watcher) }
        #expect(hub.watcherCount == 0 && hub.topics.isEmpty)
    }

    // MARK: Beginning

    @Test func `a source begins with its format and the next keyframe`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 4
        camera.lose(2)
        camera.send(4, to: hub)
        let first = await words(one)
        #expect(first == ["begin camera", "key camera", "media camera"])
    }

    @Test func `a late watcher gets the format and the current group of pictures`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 4
        camera.send(7, to: hub)
        let two = watcher(nil)
        #expect(hub.start(two))
        camera.send(2, to: hub)
        let late = await two.drained()
        #expect(
            late.map(\.word) == [
                "begin camera", "key camera", "media camera", "media camera", "media camera",
                "key camera",
            ])
        #expect(late.compactMap(\.picture) == [4, 5, 6, 7, 8])
        let early = await one.drained()
        #expect(early.compactMap(\.picture) == Array(0...8))
        #expect(early.map(\.word).filter { $0 == "begin camera" }.count == 1)
    }

    @Test func `no media are kept of sources without watchers`() async {
        let hub = LiveHub()
        var camera = LiveCamera()
        camera.send(10, to: hub)
        let one = watcher()
        #expect(hub.start(one))
        let first = await words(one)
        #expect(first.isEmpty)
        camera.send(30, to: hub)
        hub.stop(one)
        let two = watcher()
        #expect(hub.start(two))
        let second = await words(two)
        #expect(second.isEmpty)
        // The next pictures do not follow any that it has.
        camera.send(5, to: hub)
        let third = await words(two)
        #expect(third == ["begin camera"])
    }

    @Test func `a watcher that returns soon gets a picture at once`() async {
        let hub = LiveHub(lingeringNanoseconds: 100)
        let count = Counter()
        hub.onChange { count.add() }
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 4
        camera.send(3, to: hub)
        hub.stop(one, now: 1_000)
        #expect(hub.topics == [FeedTopic.source("camera")])
        camera.send(3, to: hub)
        hub.tick(now: 1_099)
        let two = watcher(nil)
        #expect(hub.start(two))
        #expect(hub.topics == [[]])
        let found = await two.drained()
        #expect(found.compactMap(\.picture) == [4, 5])
        hub.stop(two, now: 2_000)
        hub.tick(now: 2_099)
        #expect(hub.topics == [FeedTopic.source("camera")] && hub.keptBytes > 0)
        let before = count.value
        hub.tick(now: 2_100)
        #expect(hub.topics.isEmpty && hub.keptBytes == 0 && count.value == before + 1)
        camera.send(4, to: hub)
        #expect(hub.keptBytes == 0)
    }

    @Test func `a source without watchers that sends too much is unsubscribed early`() {
        let hub = LiveHub(lingeringNanoseconds: 1_000)
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.pictureBytes = 1 << 20
        camera.send(1, to: hub)
        hub.stop(one, now: 0)
        let limit = LiveHub.lingeringBytesPerSecond / camera.pictureBytes
        camera.send(limit, to: hub)
        hub.tick(now: 1)
        #expect(hub.topics == [FeedTopic.source("camera")])
        camera.send(limit + 1, to: hub)
        hub.tick(now: 2)
        #expect(hub.topics.isEmpty && hub.keptBytes == 0)
    }

    @Test func `when a watcher ends, the sources of the others are kept`() async {
        let hub = LiveHub()
        let (one, two) = (watcher(["a"]), watcher(["b"]))
        #expect(hub.start(one) && hub.start(two))
        var (a, b) = (LiveCamera("a"), LiveCamera("b"))
        a.send(3, to: hub)
        b.send(3, to: hub)
        hub.stop(one)
        let late = watcher(nil)
        #expect(hub.start(late))
        let found = await words(late)
        #expect(found == ["begin b", "key b", "media b", "media b"])
    }

    /// The group kept for late viewers is limited; the rest must not be sent without its keyframe.
    @Test func `a late watcher gets nothing of a group of pictures that is too long`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 40
        camera.pictureBytes = 1 << 20
        for _ in 0..<20 {
            camera.send(1, to: hub)
            _ = await one.drained()
        }
        let late = watcher()
        #expect(hub.start(late))
        camera.send(1, to: hub)
        let found = await late.drained()
        var player = LivePlayer()
        player.take(found)
        #expect(player.flaws.isEmpty)
        camera.picture = 40
        camera.send(1, to: hub)
        let next = await late.drained()
        player.take(next)
        #expect(player.flaws.isEmpty && player.pictures["camera"] == [40])
    }

    // MARK: Losses

    @Test func `after a lost message, media are sent from the next keyframe on`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 5
        camera.send(2, to: hub)
        camera.lose(1)
        camera.send(2, to: hub)
        let late = watcher()
        #expect(hub.start(late))
        let broken = await words(late)
        #expect(broken == ["begin camera"])
        camera.send(3, to: hub)
        let frames = await one.drained()
        #expect(frames.compactMap(\.picture) == [0, 1, 5, 6, 7])
        var player = LivePlayer()
        player.take(frames)
        #expect(player.flaws.isEmpty)
        let rest = await late.drained()
        #expect(rest.compactMap(\.picture) == [5, 6, 7])
    }

    /// The API promises that `skipped` also reports losses of the feed.
    @Test func `watchers get a 'skipped' frame after a loss in the feed`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 5
        camera.send(2, to: hub)
        camera.lose(1)
        camera.send(4, to: hub)
        let found = await words(one)
        #expect(
            found == [
                "begin camera", "key camera", "media camera", "skipped camera", "key camera",
                "media camera",
            ])
    }

    @Test func `a lost keyframe leaves out its whole group`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 5
        camera.send(5, to: hub)
        camera.lose(1)
        camera.send(6, to: hub)
        let frames = await one.drained()
        #expect(frames.compactMap(\.picture) == [0, 1, 2, 3, 4, 10, 11])
    }

    @Test func `numbers that begin again are a loss`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 5
        camera.send(2, to: hub)
        // The collector was started again.
        camera.number = 0
        camera.send(4, to: hub)
        // The greatest number is followed by the least.
        camera.number = .max - 1
        camera.send(5, to: hub)
        let frames = await one.drained()
        #expect(frames.compactMap(\.picture) == [0, 1, 5, 10])
        var player = LivePlayer()
        player.take(frames)
        #expect(player.flaws.isEmpty)
    }

    @Test func `a message that cannot be shown is a loss`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 5
        camera.send(2, to: hub)
        var short = camera.next()
        short.media.removeLast()
        hub.take(short)
        camera.send(3, to: hub)
        var early = camera.next()
        early.samples.runs[0].samples[0].dts = -1
        hub.take(early)
        camera.send(5, to: hub)
        let frames = await one.drained()
        #expect(frames.compactMap(\.picture) == [0, 1, 5, 10, 11])
        var player = LivePlayer()
        player.take(frames)
        #expect(player.flaws.isEmpty)
    }

    @Test func `the groups of all sources are limited, and the oldest is dropped first`() async {
        let hub = LiveHub(maximumGroupsBytes: 80_000)
        let one = watcher(nil)
        #expect(hub.start(one))
        var cameras = ["a", "b", "c"].map { LiveCamera($0) }
        for index in cameras.indices {
            cameras[index].pictureBytes = 20_000
            cameras[index].send(1, to: hub, now: Int64(index))
        }
        #expect((60_000...80_000).contains(hub.keptBytes))
        cameras[1].send(1, to: hub, now: 3)
        #expect(hub.keptBytes <= 70_000)
        let late = watcher(nil)
        #expect(hub.start(late))
        let found = await late.drained().map(\.word).sorted()
        #expect(
            found == ["begin a", "begin b", "begin c", "key b", "key c", "media b"])
        // An earlier viewer already has everything.
        let early = await one.drained().compactMap(\.picture)
        #expect(early == [0, 0, 0, 1])
        for watcher in [one, late] { hub.stop(watcher) }
        #expect(hub.keptBytes == 0)
    }

    // MARK: Changes

    @Test func `a new format begins the source again, also for late watchers`() async throws {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.groupPictures = 5
        camera.send(3, to: hub)
        camera.formats = [LiveCamera.otherVideo]
        camera.send(4, to: hub)
        let frames = await one.drained()
        #expect(
            frames.map(\.word) == [
                "begin camera", "key camera", "media camera", "media camera", "begin camera",
                "key camera", "media camera",
            ])
        #expect(frames.compactMap(\.picture) == [0, 1, 2, 5, 6])
        let headers = try WireFrame.frames(frames.flatMap(\.bytes))
        #expect(headers[0].body != headers[4].body)
        let late = watcher()
        #expect(hub.start(late))
        let found = await late.drained()
        #expect(found.map(\.word) == ["begin camera", "key camera", "media camera"])
        let read = try WireFrame.frames(found.flatMap(\.bytes))
        #expect(read[0].body == headers[4].body)
    }

    @Test func `a new session begins the source again`() async throws {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.send(2, to: hub)
        camera.session = LiveCamera.otherSession
        camera.zeroUTCNanoseconds += 1_200_000_000_000
        camera.picture = 0
        camera.send(2, to: hub)
        let frames = await one.drained()
        #expect(
            frames.map(\.word) == [
                "begin camera", "key camera", "media camera", "begin camera", "key camera",
                "media camera",
            ])
        let headers = try WireFrame.frames(frames.flatMap(\.bytes)).map(\.header)
        #expect(headers[0].session == LiveCamera.session)
        #expect(headers[3].session == LiveCamera.otherSession)
        #expect(headers[3].zero == "2026-11-20T23:00:00.000Z")
    }

    @Test func `a format that players do not support is left out until it changes`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        let format = camera.formats
        camera.formats = [
            .video(
                .h264(
                    sequenceParameterSets: [], pictureParameterSets: [], width: 16, height: 16))
        ]
        camera.send(3, to: hub)
        camera.formats = format
        camera.picture = 25
        camera.send(2, to: hub)
        let found = await words(one)
        #expect(found == ["begin camera", "key camera", "media camera"])
    }

    // MARK: Silence

    @Test func `a silent source is reported as gone, and begins again`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.send(2, to: hub, now: 1_000)
        hub.tick(now: 1_000 + Self.silence)
        let alive = await words(one)
        #expect(alive == ["begin camera", "key camera", "media camera", "beat"])
        hub.tick(now: 1_001 + Self.silence)
        hub.tick(now: 1_002 + Self.silence)
        let gone = await words(one)
        #expect(gone == ["gone camera", "beat", "beat"])
        let late = watcher()
        #expect(hub.start(late))
        let nothing = await words(late)
        #expect(nothing.isEmpty)
        camera.send(2, to: hub, now: 2_000 + Self.silence)
        camera.picture = 25
        camera.send(2, to: hub, now: 2_000 + Self.silence)
        for each in [one, late] {
            let again = await words(each)
            #expect(again == ["begin camera", "key camera", "media camera"])
        }
    }

    @Test func `a message without media also keeps a source alive`() async {
        let hub = LiveHub()
        let one = watcher()
        #expect(hub.start(one))
        var camera = LiveCamera()
        camera.send(1, to: hub, now: 0)
        // A message without pictures counts as a sign of life too.
        var short = camera.next()
        short.media = []
        hub.take(short, now: Self.silence)
        hub.tick(now: 2 * Self.silence)
        let found = await words(one)
        #expect(!found.contains("gone camera"))
    }

    @Test func `every watcher gets a heartbeat`() async {
        let hub = LiveHub()
        let watchers = [watcher(), watcher(nil), watcher([])]
        for watcher in watchers { #expect(hub.start(watcher)) }
        hub.tick(now: 0)
        for watcher in watchers {
            let found = await words(watcher)
            #expect(found == ["beat"])
        }
    }

    // MARK: Rights

    @Test func `a watcher receives only the requested sources that it may read`() async {
        let hub = LiveHub()
        let onlyA: @Sendable (String) -> Bool = { $0 == "a" }
        let makers: [@Sendable () -> LiveWatcher] = [
            { LiveWatcher(sources: nil, mayRead: onlyA) },
            { LiveWatcher(sources: ["a"]) { _ in true } },
            { LiveWatcher(sources: ["a", "b"], mayRead: onlyA) },
        ]
        let nothing = LiveWatcher(sources: ["b"], mayRead: onlyA)
        let everything = watcher(nil)
        let early = makers.map { $0() }
        for watcher in early + [nothing, everything] { #expect(hub.start(watcher)) }
        var (a, b) = (LiveCamera("a"), LiveCamera("b"))
        for _ in 0..<3 {
            a.send(1, to: hub)
            b.send(1, to: hub)
        }
        let late = makers.map { $0() }
        for watcher in late { #expect(hub.start(watcher)) }
        b.formats = [LiveCamera.otherVideo]
        b.lose(1)
        a.send(2, to: hub)
        b.send(2, to: hub)
        hub.tick(now: Self.silence + 1)
        b.send(2, to: hub, now: Self.silence + 1)
        for watcher in early + late {
            let frames = await watcher.drained()
            #expect(Set(frames.compactMap(\.source)) == ["a"])
            #expect(frames.compactMap(\.picture) == Array(0..<5))
        }
        let refused = await words(nothing)
        #expect(refused == ["beat"])
        let all = await everything.drained()
        #expect(Set(all.compactMap(\.source)) == ["a", "b"])
    }

    @Test func `a watcher gets no 'skipped' or 'gone' for sources that it may not read`() async {
        let hub = LiveHub()
        let one = LiveWatcher(sources: nil) { $0 == "a" }
        let two = watcher(nil)
        #expect(hub.start(one) && hub.start(two))
        var b = LiveCamera("b")
        b.pictureBytes = 1 << 20
        b.groupPictures = 5
        b.send(12, to: hub)
        hub.tick(now: Self.silence + 1)
        let found = await words(one)
        #expect(found == ["beat"])
        let other = await words(two)
        #expect(other.contains("skipped b") && other.contains("gone b"))
    }
}
