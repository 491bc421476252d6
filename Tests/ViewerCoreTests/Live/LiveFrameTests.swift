import MP4
import Media
import Testing
import Wire

@testable import ViewerCore

/// Frames of the live stream, as clients read them.
@Suite struct LiveFrameTests {
    @Test func `consecutive frames are parsed`() throws {
        var camera = LiveCamera("stage")
        camera.formats = [LiveCamera.video, LiveCamera.audio]
        let key = camera.next()
        let other = camera.next()
        let format = LiveFormat(key.samples)
        let one = try LiveFragment(key.samples, media: key.media, number: 1)
        let two = try LiveFragment(other.samples, media: other.media, number: 2)
        let frames = [
            try LiveFrame(format, of: "stage"), LiveFrame(one), LiveFrame.skipped("stage"),
            LiveFrame(two), LiveFrame.gone("stage"), LiveFrame.beat,
        ]
        let read = try WireFrame.frames(frames.flatMap(\.bytes))
        #expect(
            read.map(\.header.type) == ["begin", "media", "skipped", "media", "gone", "beat"])
        #expect(read.map(\.header.source) == ["stage", "stage", "stage", "stage", "stage", nil])
        let initialization = try format.initialization()
        #expect(read[0].body == initialization)
        #expect(read[1].body == one.bytes && read[3].body == two.bytes)
        #expect([2, 4, 5].allSatisfy { read[$0].body.isEmpty })
    }

    @Test func `a begin frame has session, zero and codecs`() throws {
        var camera = LiveCamera()
        camera.formats = [LiveCamera.video, LiveCamera.audio]
        let message = camera.next()
        let frame = try LiveFrame(LiveFormat(message.samples), of: "camera")
        #expect(!frame.isMedia && !frame.beginsDecodable && frame.source == "camera")
        let header = try #require(try WireFrame.frames(frame.bytes).first?.header)
        var wanted = WireFrame.Header(type: "begin", source: "camera")
        wanted.session = LiveCamera.session
        wanted.zero = "2026-11-20T22:40:00.000Z"
        wanted.codecs = "avc1.42c00a,mp4a.40.2"
        #expect(header == wanted)
    }

    @Test func `a media frame has its time, bound and lag`() throws {
        var camera = LiveCamera()
        camera.lose(25)
        let message = camera.next()
        let fragment = try LiveFragment(message.samples, media: message.media, number: 1)
        let frame = LiveFrame(fragment)
        #expect(frame.isMedia && frame.beginsDecodable && frame.picture == 25)
        let header = try #require(try WireFrame.frames(frame.bytes).first?.header)
        var wanted = WireFrame.Header(type: "media", source: "camera")
        wanted.atSeconds = 1
        wanted.durationSeconds = 0.04
        wanted.boundSeconds = 0.002
        wanted.lagSeconds = 0.5 - 1.04
        wanted.isKeyframe = true
        #expect(header.lagSeconds.map { abs($0 + 0.54) < 1e-9 } == true)
        wanted.lagSeconds = header.lagSeconds
        #expect(header == wanted)
    }

    @Test func `the concatenated bodies are a growing file`() async throws {
        let hub = LiveHub()
        let watcher = LiveWatcher(sources: ["camera"]) { _ in true }
        #expect(hub.start(watcher))
        var camera = LiveCamera()
        camera.send(50, to: hub)
        let bytes = await watcher.drained().flatMap(\.bytes)
        hub.stop(watcher)
        let file = try WireFrame.frames(bytes).flatMap(\.body)
        var scanner = try FragmentScanner(MemorySource(file))
        var times: [Int64] = []
        while let fragment = try scanner.next() {
            times += fragment.runs.flatMap(\.samples).map(\.dts)
        }
        #expect(times == (0..<50).map { $0 * 3_600 })
        #expect(scanner.stop == .end)
    }

    @Test func `numbers of any size are written`() throws {
        var camera = LiveCamera()
        var message = camera.next()
        message.samples.boundNanoseconds = .max
        message.samples.arrivedNanoseconds = .min
        let fragment = try LiveFragment(message.samples, media: message.media, number: .max)
        let read = try WireFrame.frames(LiveFrame(fragment).bytes)
        #expect(read.count == 1 && read[0].header.lagSeconds.map { $0 < -9e9 } == true)
        #expect(read[0].header.boundSeconds.map { $0 > 1.8e10 } == true)
    }
}
