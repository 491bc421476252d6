import Testing

@testable import ViewerCore

/// The memory limit of all live streams.
@Suite(.timeLimit(.minutes(1))) struct LiveStreamMemoryTests {
    @Test func `above the limit, the stream with the oldest request is dropped`() {
        let memory = LiveStreamMemory(maximumBytes: 100)
        let (old, new) = (memory.place(), memory.place())
        func keeps(_ place: LiveStreamMemory.Share, _ bytes: Int, asked: Int64) -> Bool {
            place.keeps(bytes, asked: asked)
        }
        #expect(keeps(old, 50, asked: 1))
        #expect(keeps(new, 50, asked: 2))
        #expect(memory.keptBytes == 100 && !memory.hasRoom)
        // It is not the one removed.
        #expect(keeps(new, 60, asked: 3))
        #expect(!keeps(old, 50, asked: 1))
        #expect(memory.keptBytes == 60 && memory.hasRoom)
        #expect(keeps(old, 40, asked: 4))
        // The other one was requested since.
        #expect(!keeps(new, 70, asked: 3))
        withExtendedLifetime((old, new)) {}
    }

    @Test func `the bytes of a stream that has ended are not counted`() {
        let memory = LiveStreamMemory(maximumBytes: 100)
        do {
            let place = memory.place()
            let isKept = place.keeps(90, asked: 0)
            #expect(isKept && memory.keptBytes == 90)
        }
        #expect(memory.keptBytes == 0)
    }

    @Test func `a stream without memory releases its media and ends`() async throws {
        let hub = LiveHub()
        let stream = LiveStream(
            "camera", hub: hub, firstSequence: 100, memory: LiveStreamMemory(maximumBytes: 5_000))
        let running = Task { await stream.run() }
        try await hub.reaches(watchers: 1)
        var camera = LiveCamera()
        camera.pictureBytes = 1_000
        camera.send(40, to: hub)
        await running.value
        let isOver = await stream.isOver
        let part = await stream.part(100, 0)
        #expect(isOver && part == nil && hub.watcherCount == 0)
    }

    @Test func `no stream begins without room`() async throws {
        let hub = LiveHub()
        let memory = LiveStreamMemory(maximumBytes: 100)
        let place = memory.place()
        let isKept = place.keeps(90, asked: .max)
        #expect(isKept)
        let streams = LiveStreams(hub: hub, memory: memory, nowUTC: { 0 })
        await #expect(throws: Problem.self) { try await streams.stream("camera", now: 0) }
        withExtendedLifetime(place) {}
    }
}
