import Accounts
import Dispatch
import Glibc
import Media
import RTSPServer
import Synchronization
import Testing
import Wire

@testable import ViewerCore

/// Remembers what it gets.
private final class CountingReader: LiveReader {
    private let state = Mutex<(batches: [SharedBatch], reason: String?, goodbye: SharedBatch?)>(
        ([], nil, nil))

    func take(_ batch: SharedBatch) { state.withLock { $0.batches.append(batch) } }
    func end(_ reason: String, goodbye: SharedBatch) {
        state.withLock { ($0.reason, $0.goodbye) = (reason, goodbye) }
    }

    /// Number of tracks with a BYE.
    var goodbyes: Int {
        let goodbye = state.withLock(\.goodbye)
        return goodbye?.batch.packets.count { packet in
            // After a report of 28 bytes or without report blocks (RFC 3550 §6.6).
            Array(goodbye?.batch.bytes[packet.range] ?? [])[9...].starts(with: [203])
        } ?? 0
    }

    var reason: String? { state.withLock(\.reason) }
    var batches: [SharedBatch] { state.withLock(\.batches) }

    /// Packets of media, or reports: bytes of each.
    func packets(control: Bool = false) -> [[UInt8]] {
        batches.flatMap { batch in
            batch.batch.packets.filter { $0.isControl == control }
                .map { Array(batch.batch.bytes[$0.range]) }
        }
    }

    var timestamps: [UInt32] { packets().map { number($0, at: 4) } }
    var sequences: [UInt16] { packets().map { UInt16($0[2]) << 8 | UInt16($0[3]) } }

    private func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// A camera whose pictures are NAL units.
private struct Stage {
    var camera = LiveCamera("stage")
    let source: LiveSource
    private var format: LiveFormat?

    init(hub: LiveHub = LiveHub()) {
        source = LiveSource("stage", hub: hub, now: 0) { (0x0000_0001_0000_0007, 100) }
    }

    /// Pictures that arrive.
    mutating func send(_ count: Int) throws {
        for _ in 0..<count {
            var message = camera.next()
            message.media = [0, 0, 0, 96, 0x41, 0x9A] + [UInt8](repeating: 7, count: 94)
            let new = LiveFormat(message.samples)
            if new != format { source.take(try LiveFrame(new, of: "stage"), now: 0) }
            format = new
            let fragment = try LiveFragment(message.samples, media: message.media, number: 1)
            source.take(LiveFrame(fragment), now: 0)
        }
    }

    /// The collector is restarted, and receives a picture and those after it again.
    /// - Parameter hasGone: after the time in which the feed is silent.
    mutating func restart(at picture: Int, hasGone: Bool) throws {
        source.take(hasGone ? .gone("stage") : .skipped("stage"), now: 0)
        if hasGone { format = nil }
        camera.picture = picture
    }

    /// A picture with sound in one message: two packets, from half a picture before it.
    mutating func sendWithSound() throws {
        var picture = camera.next()
        picture.media = [0, 0, 0, 96, 0x41, 0x9A] + [UInt8](repeating: 7, count: 94)
        let start = Int64(camera.picture - 1) * 1_920 - 960
        let packets = [start, start + 960].map { ticks in
            FeedSamples.Sample(
                sizeBytes: 3, dts: ticks, pts: ticks, duration: 960, flags: .keyframe)
        }
        let sound = FeedSamples.Run(track: .audio, firstSequence: 1, samples: packets)
        let message = camera.message(
            picture.samples.runs + [sound], picture.media + [1, 2, 3, 4, 5, 6])
        let fragment = try LiveFragment(message.samples, media: message.media, number: 1)
        source.take(LiveFrame(fragment), now: 0)
    }

    func read(_ reader: CountingReader, catchesUp: Bool = true) async throws
        -> ServerSession.Beginning?
    {
        let description = try #require(await source.description(now: 0))
        return source.add(reader, with: description.presentation, catchesUp: catchesUp)
    }
}

@Suite struct LiveSourceTests {
    @Test func `a later reader starts with the last keyframe, and all get the same packets`()
        async throws
    {
        var stage = Stage()
        try stage.send(27)
        let (early, late) = (CountingReader(), CountingReader())
        let beginning = try #require(try await stage.read(early))
        try stage.send(3)
        _ = try await stage.read(late)
        try stage.send(1)
        // The second keyframe is picture 25, and has its parameter sets in a packet in front.
        let pictures: [UInt32] = [25, 25, 26, 27, 28, 29, 30]
        let expected = pictures.map { $0 * 3_600 + 100 }
        #expect(early.timestamps == expected)
        #expect(late.packets() == early.packets())
        let first = ServerSession.Beginning.Track(
            sequence: early.sequences[0], timestamp: early.timestamps[0])
        #expect(beginning.tracks == [0: first])
        let steps = zip(early.sequences, early.sequences.dropFirst()).map { $1 &- $0 }
        #expect(Set(steps) == [1])
        // One second after the session's zero.
        let report = try #require(early.packets(control: true).first)
        let time: [UInt8] = [0xEE, 0xAB, 0x4A, 0xC1, 0, 0, 0, 0]
        #expect(Array(report[8..<16]) == time)
    }

    @Test func `a UDP reader starts with the next keyframe`() async throws {
        var stage = Stage()
        try stage.send(2)
        let reader = CountingReader()
        let beginning = try await stage.read(reader, catchesUp: false)
        #expect(beginning?.tracks.isEmpty == true && reader.batches.isEmpty)
        try stage.send(24)
        #expect(reader.batches.filter(\.batch.beginsDecodable).count == 1)
    }

    @Test func `playback begins with the picture, also where its message has earlier sound`()
        async throws
    {
        var stage = Stage()
        stage.camera.formats = [LiveCamera.video, LiveCamera.audio]
        try stage.send(25)
        try stage.sendWithSound()
        let reader = CountingReader()
        let beginning = try #require(try await stage.read(reader))
        // Picture 25 is shown at 1 s: in ticks of 90 kHz, and of 48 kHz.
        #expect(
            beginning.tracks == [
                0: .init(sequence: reader.sequences[0], timestamp: 90_100),
                1: .init(sequence: 1, timestamp: 48_100),
            ])
        #expect(reader.timestamps == [90_100, 90_100, 47_140, 48_100])
        // Reports come first, and state the same instant.
        let batch = try #require(reader.batches.first?.batch)
        #expect(batch.packets.prefix(3).map(\.isControl) == [true, true, false])
        let reported = reader.packets(control: true).map { packet in
            packet[16..<20].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        #expect(reported == [90_100, 48_100])
    }

    @Test func `a loss in the feed skips a sequence number`() async throws {
        var stage = Stage()
        try stage.send(3)
        let reader = CountingReader()
        _ = try await stage.read(reader)
        stage.source.take(.skipped("stage"), now: 0)
        stage.camera.lose(22)
        try stage.send(1)
        let steps = zip(reader.sequences, reader.sequences.dropFirst()).map { $1 &- $0 }
        #expect(steps == [1, 1, 1, 2, 1])
    }

    @Test func `timestamps continue in the next session, and never decrease`() async throws {
        var stage = Stage()
        try stage.send(2)
        let reader = CountingReader()
        _ = try await stage.read(reader)
        stage.camera.session = LiveCamera.otherSession
        stage.camera.zeroUTCNanoseconds += 10_000_000_000
        stage.camera.picture = 0
        try stage.send(1)
        #expect(reader.timestamps.last == 900_100)
        #expect(reader.reason == nil)
        stage.camera.session = LiveCamera.session
        stage.camera.zeroUTCNanoseconds -= 10_000_000_000
        stage.camera.picture = 0
        try stage.send(1)
        #expect(
            reader.reason == "the clock was set back, timestamps would repeat: connect again")
        #expect(reader.goodbyes == 1)
    }

    @Test func `a session that begins before the end of the previous one continues it`()
        async throws
    {
        var stage = Stage()
        try stage.send(26)
        let reader = CountingReader()
        _ = try await stage.read(reader)
        // The last picture is at 1 s, and ends at 1.04 s.
        stage.camera.session = LiveCamera.otherSession
        stage.camera.zeroUTCNanoseconds += 1_020_000_000
        stage.camera.picture = 0
        try stage.send(3)
        #expect(reader.reason == nil)
        #expect(reader.timestamps.suffix(3) == [91_900, 95_500, 99_100])
        // The next one has a keyframe before the last picture, and one after it.
        stage.camera.session = LiveCamera.session
        stage.camera.zeroUTCNanoseconds -= 500_000_000
        stage.camera.picture = 0
        try stage.send(26)
        #expect(reader.reason == nil)
        #expect(reader.timestamps.last == 136_900)
        let times = reader.timestamps
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 }, "\(times)")
    }

    /// Up to a second of media was sent twice, with the same timestamps.
    @Test(arguments: [true, false])
    func `pictures that a restarted collector receives again are not sent again`(hasGone: Bool)
        async throws
    {
        var stage = Stage()
        try stage.send(28)
        let (reader, late) = (CountingReader(), CountingReader())
        _ = try await stage.read(reader)
        try stage.restart(at: 0, hasGone: hasGone)
        try stage.send(25)
        // Its clock is estimated again.
        stage.camera.zeroUTCNanoseconds += 5_000_000
        try stage.send(5)
        // It starts with the next keyframe: this one was not sent again.
        #expect(try await stage.read(late)?.tracks.isEmpty == true)
        try stage.send(21)
        #expect(reader.reason == nil)
        let times = reader.timestamps.map { $0 - 100 }
        let early: [UInt32] = [25, 25, 26, 27]
        #expect(times.prefix(4) == early.map { $0 * 3_600 }[...])
        let others: [UInt32] = Array(28...49) + [50, 50]
        #expect(times.dropFirst(4) == others.map { $0 * 3_600 + 450 }[...])
        #expect(late.batches.filter(\.batch.beginsDecodable).count == 1)
    }

    @Test func `sound that a restarted collector receives again is not sent again`() async throws {
        var stage = Stage()
        stage.camera.formats = [LiveCamera.video, LiveCamera.audio]
        try stage.send(25)
        try stage.sendWithSound()
        let reader = CountingReader()
        _ = try await stage.read(reader)
        try stage.restart(at: 25, hasGone: false)
        try stage.sendWithSound()
        try stage.sendWithSound()
        #expect(reader.timestamps == [90_100, 90_100, 47_140, 48_100, 93_700, 49_060, 50_020])
    }

    @Test func `sound of the next session does not repeat times`() async throws {
        var stage = Stage()
        stage.camera.formats = [LiveCamera.video, LiveCamera.audio]
        try stage.send(25)
        try stage.sendWithSound()
        let reader = CountingReader()
        _ = try await stage.read(reader)
        // The last sound is at 1 s. The next picture is at 1.01 s, and has sound from 0.99 s on.
        stage.camera.session = LiveCamera.otherSession
        stage.camera.zeroUTCNanoseconds += 10_000_000
        stage.source.take(
            try LiveFrame(LiveFormat(stage.camera.next().samples), of: "stage"), now: 0)
        stage.camera.picture = 25
        try stage.sendWithSound()
        #expect(reader.reason == nil)
        #expect(reader.timestamps.suffix(3) == [91_000, 91_000, 48_580])
    }

    @Test func `readers continue with other parameter sets, and end with other tracks`()
        async throws
    {
        var stage = Stage()
        try stage.send(1)
        let (reader, next) = (CountingReader(), CountingReader())
        let old = try #require(await stage.source.description(now: 0))
        _ = try await stage.read(reader)
        stage.camera.formats = [LiveCamera.otherVideo]
        stage.camera.picture = 25
        try stage.send(1)
        #expect(reader.reason == nil)
        let sets = reader.packets().last { $0[12] & 0x1F == 24 }
        #expect(sets?.last == 0xE3)
        // A client that has the old ones gets the new ones before it plays.
        let refused = stage.source.add(next, with: old.presentation, catchesUp: true)
        #expect(refused == nil)
        stage.camera.formats = [LiveCamera.otherVideo, LiveCamera.audio]
        stage.camera.picture = 50
        try stage.send(1)
        #expect(
            reader.reason
                == "the source has other tracks from now on (video 16×16 H.264, audio 48000 Hz stereo AAC): connect again"
        )
        #expect(reader.goodbyes == 1)
        let described = await stage.source.description(now: 0)
        #expect(described?.presentation.tracks.count == 2)
    }

    @Test func `a source without readers, or without samples, ends`() async throws {
        var stage = Stage()
        try stage.send(1)
        let reader = CountingReader()
        _ = try await stage.read(reader)
        stage.source.take(.beat, now: 60_000_000_000)
        #expect(!stage.source.isOver)
        stage.source.take(.gone("stage"), now: 60_000_000_000)
        stage.source.take(.beat, now: 90_000_000_000)
        #expect(!stage.source.isOver)
        stage.source.take(.beat, now: 90_000_000_001)
        #expect(stage.source.isOver && reader.reason == "the source sends nothing")
        var other = Stage()
        try other.send(1)
        other.source.take(.beat, now: 10_000_000_000)
        #expect(!other.source.isOver)
        other.source.take(.beat, now: 10_000_000_001)
        #expect(other.source.isOver)
        #expect(await other.source.description(now: 0) == nil)
    }

    /// The ways in which a source without clients is closed: room for another one, time, and the end of its last use.
    enum Closing: CaseIterable {
        case room
        case time
        case lastUse

        /// - Parameter now: later with each call.
        func act(on source: LiveSource, now: Int64) {
            switch self {
            case .room: source.closeIfIdle()
            case .time: source.take(.beat, now: now)
            case .lastUse: _ = source.use()
            }
        }
    }

    @Test(arguments: Closing.allCases)
    func `a source is not closed as idle once a client uses it`(closing: Closing) throws {
        let hub = LiveHub()
        let closedInUse = Atomic(0)
        for _ in 0..<100 {
            var stage = Stage(hub: hub)
            // Otherwise the end of any use closes it.
            if closing != .lastUse { try stage.send(1) }
            let source = stage.source
            let begun = Atomic(0)
            DispatchQueue.concurrentPerform(iterations: 2) { index in
                begun.add(1, ordering: .relaxed)
                // On one thread, the other one begins after this one.
                for _ in 0..<1_000 where begun.load(ordering: .relaxed) < 2 { sched_yield() }
                for number in 0..<1_000 {
                    if index == 0 {
                        closing.act(on: source, now: (1 << 61) + Int64(number) * 60_000_000_000)
                        if source.isOver { return }
                    } else {
                        guard let use = source.use() else { return }
                        for _ in 0..<20 where source.isOver {
                            closedInUse.add(1, ordering: .relaxed)
                            break
                        }
                        withExtendedLifetime(use) {}
                    }
                }
            }
        }
        #expect(closedInUse.load(ordering: .relaxed) == 0)
    }
}

/// The sources of all clients.
@Suite(.timeLimit(.minutes(1))) struct LiveSourcesTests {
    private let hub = LiveHub()
    private let sources: LiveSources

    init() { sources = LiveSources(hub: hub) }

    /// A source that sends pictures, and is looked up.
    private func lookUp(_ name: String) async throws -> LiveSource.Use {
        let lookup = Task { [sources] in await sources.lookUp(name) }
        while !hub.topics.contains(FeedTopic.source(name)) { await Task.yield() }
        var camera = LiveCamera(name)
        camera.send(1, to: hub)
        guard case .described(let use, _) = await lookup.value else {
            throw LiveError.malformed
        }
        return use
    }

    @Test func `many readers of a source share one subscription`() async throws {
        let one = try #require(sources.use("stage"))
        let other = try #require(sources.use("stage"))
        #expect(other.source === one.source)
        while hub.watcherCount == 0 { await Task.yield() }
        #expect(hub.watcherCount == 1)
        sources.stop()
        while !one.source.isOver { await Task.yield() }
        #expect(hub.watcherCount == 0)
    }

    @Test func `a source without media is removed when its clients have ended`() async throws {
        let lookups = (0..<600).map { number in
            Task { [sources] in await sources.lookUp("x\(number)") }
        }
        while hub.watcherCount < LiveSources.maximumSources { await Task.yield() }
        // Others have places.
        #expect(hub.hasRoom(for: .user("anna")))
        for lookup in lookups { lookup.cancel() }
        var full = 0
        for lookup in lookups {
            if case .full = await lookup.value { full += 1 }
        }
        #expect(full == 200)
        while hub.watcherCount > 0 { await Task.yield() }
        #expect(sources.count == 0)
    }

    @Test func `a client that gives up does not end the wait of another one`() async throws {
        let first = Task { [sources] in await sources.lookUp("stage") }
        while hub.watcherCount == 0 { await Task.yield() }
        let second = Task { [sources] in await sources.lookUp("stage") }
        first.cancel()
        guard case .silent = await first.value else {
            Issue.record("it was cancelled")
            return
        }
        #expect(hub.watcherCount == 1)
        var camera = LiveCamera("stage")
        camera.send(1, to: hub)
        // It may begin to wait after the picture has come.
        guard case .described = await second.value else {
            Issue.record("it got no description")
            return
        }
    }

    @Test func `subscriptions without clients are limited, and the oldest end first`() async throws
    {
        let used = try await lookUp("used")
        for number in 0..<40 { _ = try await lookUp("a\(number)") }
        #expect(sources.count <= LiveSources.maximumIdleSources + 2)
        #expect(!used.source.isOver)
        let last = try #require(sources.use("a39"))
        #expect(await last.source.description() != nil)
    }
}
