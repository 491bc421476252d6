import Media
import Testing

@testable import ViewerCore

/// The queue of one viewer.
@Suite(.timeLimit(.minutes(1))) struct LiveWatcherTests {
    private func watcher(_ sources: Set<String>? = ["camera"]) -> LiveWatcher {
        LiveWatcher(sources: sources) { _ in true }
    }

    /// A camera with pictures of a megabyte: a queue holds seven but not eight.
    private func largeCamera(_ source: String = "camera") -> LiveCamera {
        var camera = LiveCamera(source)
        camera.pictureBytes = 1 << 20
        camera.groupPictures = 10
        return camera
    }

    private func sizeBytes(_ frames: [LiveFrame]) -> Int {
        frames.reduce(0) { $0 + $1.bytes.count }
    }

    // MARK: Waiting

    @Test func `a waiting reader is resumed by the next frame`() async {
        let hub = LiveHub()
        let watcher = watcher()
        #expect(hub.start(watcher))
        var camera = LiveCamera()
        camera.send(1, to: hub)
        _ = await watcher.drained()
        var pictures: [Int] = []
        for number in 1..<500 {
            async let frames = watcher.next()
            // Sometimes it waits already, sometimes not yet.
            if number % 3 == 0 { await Task.yield() }
            camera.send(1, to: hub)
            let next = await frames
            pictures += next.compactMap(\.picture)
        }
        #expect(pictures == Array(1..<500))
        hub.stop(watcher)
    }

    @Test func `frames pass between two threads without loss and in order`() async {
        let hub = LiveHub()
        let watcher = watcher()
        #expect(hub.start(watcher))
        let reading = Task { () async -> [Int] in
            var pictures: [Int] = []
            while true {
                let frames = await watcher.next()
                if frames.isEmpty { return pictures }
                pictures += frames.compactMap(\.picture)
            }
        }
        var camera = LiveCamera()
        for number in 0..<3_000 {
            camera.send(1, to: hub)
            if number % 7 == 0 { await Task.yield() }
        }
        hub.stop(watcher)
        let pictures = await reading.value
        #expect(pictures == Array(0..<3_000))
    }

    @Test func `remaining frames are read after the end, and then nothing`() async {
        let hub = LiveHub()
        let watcher = watcher()
        #expect(hub.start(watcher))
        var camera = LiveCamera()
        camera.send(2, to: hub)
        hub.stop(watcher)
        camera.send(2, to: hub)
        watcher.take(LiveFrame.beat)
        let frames = await watcher.next()
        #expect(frames.map(\.word) == ["begin camera", "key camera", "media camera"])
        for _ in 0..<3 {
            let nothing = await watcher.next()
            #expect(nothing.isEmpty)
        }
    }

    @Test func `a waiting reader is resumed by the end`() async {
        for number in 0..<200 {
            let hub = LiveHub()
            let watcher = watcher()
            #expect(hub.start(watcher))
            let reading = Task { () async -> Void in
                while true {
                    let frames = await watcher.next()
                    if frames.isEmpty { return }
                }
            }
            if number % 2 == 0 { await Task.yield() }
            if number % 3 == 0 { hub.tick(now: 0) }
            hub.stop(watcher)
            await reading.value
        }
    }

    @Test func `concurrent calls end a watcher once`() async {
        let watcher = watcher()
        let reading = Task { await watcher.next() }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { watcher.end() } }
        }
        let frames = await reading.value
        #expect(frames.isEmpty)
    }

    // MARK: Slow watchers

    @Test func `a slow reader holds a limited number of bytes, and continues decodably`() async {
        let hub = LiveHub()
        var camera = largeCamera()
        // Each reads after its own number of pictures, and at the end.
        let watchers = (0..<35).map { _ in watcher() }
        for watcher in watchers { #expect(hub.start(watcher)) }
        var players: [LivePlayer] = []
        for watcher in watchers {
            camera.send(1, to: hub)
            let frames = await watcher.drained()
            #expect(sizeBytes(frames) <= LiveWatcher.capacityBytes)
            #expect(frames.first?.word == "begin camera")
            var player = LivePlayer()
            player.take(frames)
            players.append(player)
        }
        for (index, watcher) in watchers.enumerated() {
            let frames = await watcher.drained()
            #expect(sizeBytes(frames) <= LiveWatcher.capacityBytes)
            players[index].take(frames)
            #expect(players[index].flaws.isEmpty, "\(index): \(players[index].flaws)")
        }
        for watcher in watchers { hub.stop(watcher) }
    }

    @Test func `a slow reader gets a 'skipped' frame and the next keyframe`() async {
        let hub = LiveHub()
        let watcher = watcher()
        #expect(hub.start(watcher))
        var camera = largeCamera()
        camera.send(7, to: hub)
        let before = await watcher.drained()
        #expect(before.compactMap(\.picture) == Array(0..<7))
        camera.send(8, to: hub)
        // Eight pictures were too many; the next keyframe is the twentieth.
        let during = await watcher.drained()
        #expect(during.isEmpty)
        camera.send(5, to: hub)
        let still = await watcher.drained()
        #expect(still.isEmpty)
        camera.send(3, to: hub)
        let after = await watcher.drained()
        #expect(
            after.map(\.word) == [
                "skipped camera", "key camera", "media camera", "media camera",
            ])
        #expect(after.compactMap(\.picture) == [20, 21, 22])
        hub.stop(watcher)
    }

    @Test func `a change of format is kept when media are skipped`() async throws {
        let hub = LiveHub()
        let watcher = watcher()
        #expect(hub.start(watcher))
        var camera = largeCamera()
        camera.groupPictures = 5
        camera.send(5, to: hub)
        camera.formats = [LiveCamera.otherVideo]
        camera.send(6, to: hub)
        let frames = await watcher.drained()
        let word = frames.map(\.word)
        #expect(word.suffix(2) == ["skipped camera", "key camera"])
        #expect(frames.compactMap(\.picture) == [10])
        // The picture's format comes last, whether earlier ones are still queued or not.
        let read = try WireFrame.frames(frames.flatMap(\.bytes))
        let begin = try #require(read.last { $0.header.type == "begin" })
        let message = camera.next()
        let initialization = try LiveFormat(message.samples).initialization()
        #expect(begin.body == initialization)
        hub.stop(watcher)
    }

    @Test func `each skipped source continues with its own keyframe`() async {
        let hub = LiveHub()
        let watcher = watcher(nil)
        #expect(hub.start(watcher))
        var (a, b, c) = (largeCamera("a"), largeCamera("b"), LiveCamera("c"))
        b.picture = 5
        b.groupPictures = 5
        c.send(1, to: hub)
        for _ in 0..<5 {
            a.send(1, to: hub)
            b.send(1, to: hub)
        }
        var player = LivePlayer()
        let frames = await watcher.drained()
        #expect(Set(frames.map(\.word).filter { $0.hasPrefix("begin") }).count == 3)
        player.take(frames)
        // One more second: two pictures at a time, read immediately.
        for _ in 0..<12 {
            a.send(1, to: hub)
            b.send(1, to: hub)
            c.send(1, to: hub)
            let next = await watcher.drained()
            player.take(next)
        }
        #expect(player.flaws.isEmpty, "\(player.flaws)")
        #expect(player.pictures["a"]?.last == 16)
        #expect(player.pictures["b"]?.last == 21)
        hub.stop(watcher)
    }

    /// A source that changes its format with every message must not fill the memory either.
    @Test func `formats that change without end do not exceed the capacity`() async throws {
        let hub = LiveHub()
        let watcher = watcher()
        #expect(hub.start(watcher))
        var camera = LiveCamera()
        let set = [UInt8](repeating: 0x68, count: 60_000)
        for number in 0..<200 {
            camera.formats = [LiveCamera.h264(set + [UInt8(truncatingIfNeeded: number)])]
            camera.send(1, to: hub)
        }
        let frames = await watcher.drained()
        #expect(sizeBytes(frames) <= LiveWatcher.capacityBytes)
        let read = try WireFrame.frames(frames.flatMap(\.bytes))
        let begin = try #require(read.last { $0.header.type == "begin" })
        let message = camera.next()
        let initialization = try LiveFormat(message.samples).initialization()
        #expect(begin.body == initialization)
        hub.stop(watcher)
    }

    // MARK: Its topics

    @Test func `it receives the requested sources that it may read`() {
        let some = LiveWatcher(sources: ["a", "b"]) { $0 != "b" }
        #expect(some.wants("a") && !some.wants("b") && !some.wants("c"))
        let all = LiveWatcher(sources: nil) { $0 != "b" }
        #expect(all.wants("a") && !all.wants("b") && all.wants("c"))
        let none = LiveWatcher(sources: []) { _ in true }
        #expect(!none.wants("a"))
    }
}
