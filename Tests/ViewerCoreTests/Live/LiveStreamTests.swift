import HTTPTypes
import MP4
import Media
import Testing
import Wire

@testable import ViewerCore

/// Live sources as LL-HLS: pictures of 40 ms, parts of 200 ms, segments of 4 s.
@Suite(.timeLimit(.minutes(2))) struct LiveStreamTests {
    /// A stream that has begun to watch.
    private func started(_ hub: LiveHub, firstSequence: UInt64 = 100) async throws -> LiveStream {
        let stream = LiveStream("camera", hub: hub, firstSequence: firstSequence)
        Task { await stream.run() }
        try await hub.reaches(watchers: 1)
        return stream
    }

    /// The samples of an initialization section and fragments behind it.
    private func samples(
        _ kind: TrackKind = .video, _ pieces: [UInt8]...
    ) throws -> [ScannedSample] {
        var scanner = try FragmentScanner(MemorySource(Array(pieces.joined())))
        var samples: [ScannedSample] = []
        while let fragment = try scanner.next() {
            samples += fragment.runs.filter { $0.track == kind }.flatMap(\.samples)
        }
        #expect(scanner.stop == .end)
        return samples
    }

    // MARK: Playlist and parts

    @Test func `the playlist is answered when a part is there, as fragments`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        #expect(hub.topics == [FeedTopic.source("camera")])
        var camera = LiveCamera()
        camera.send(12, to: hub)
        let text = try await stream.listed(part: "100.1.mp4")
        let rules = PlaylistRules(text)
        #expect(rules.findings.isEmpty, "\(rules.findings)")
        #expect(rules.mediaSequence == 100 && rules.segments.isEmpty)
        let open = try #require(rules.open)
        #expect(open.map == "init.1.mp4" && rules.hint == "100.2.mp4")
        #expect(open.parts.map(\.uri) == ["100.0.mp4", "100.1.mp4"])
        #expect(open.parts.map(\.microseconds) == [200_000, 200_000])
        #expect(open.parts.map(\.isIndependent) == [true, false])
        #expect(open.dateNanoseconds == LiveCamera.zeroNanoseconds)
        let initialization = try await stream.present(.initialization(1))
        let one = try await stream.present(100, 0)
        let two = try await stream.present(100, 1)
        let times = try samples(.video, initialization, one, two).map(\.dts)
        #expect(times == (0..<10).map { $0 * 3_600 })
    }

    @Test func `a request for a part is answered when the part is complete`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(10, to: hub)
        _ = try await stream.listed(part: "100.1.mp4")
        let answered = LiveEvent()
        let request = Task {
            let text = try await stream.listed(LiveRequest(sequence: 100, part: 2))
            answered.happens()
            return text
        }
        camera.send(4, to: hub)
        for _ in 0..<100 { await Task.yield() }
        // The part has five pictures.
        #expect(!answered.hasHappened)
        camera.send(1, to: hub)
        let text = try await request.value
        #expect(text.hasPart("100.2.mp4"))
    }

    @Test func `a request for a segment is answered when it is complete`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(95, to: hub)
        _ = try await stream.listed(part: "100.18.mp4")
        let answered = LiveEvent()
        let request = Task {
            let text = try await stream.listed(LiveRequest(sequence: 100))
            answered.happens()
            return text
        }
        camera.send(5, to: hub)
        _ = try await stream.listed(part: "100.19.mp4")
        #expect(!answered.hasHappened)
        // The next segment begins: its first part was hinted as one of the segment before.
        camera.send(5, to: hub)
        let text = try await request.value
        let rules = PlaylistRules(text)
        #expect(rules.segments.map(\.uri) == ["100.mp4"])
        #expect(text.hasPart("100.20.mp4"))
    }

    @Test func `only the hinted part is waited for`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(10, to: hub)
        let text = try await stream.listed(part: "100.1.mp4")
        #expect(PlaylistRules(text).hint == "100.2.mp4")
        let answered = LiveEvent()
        let request = Task {
            let bytes = await stream.part(100, 2)
            answered.happens()
            return bytes
        }
        for resource in [
            LiveResource.part(PartAddress(sequence: 100, part: 3)),
            .part(PartAddress(sequence: 101, part: 0)), .part(PartAddress(sequence: 99, part: 0)),
            .part(PartAddress(sequence: 100, part: -1)), .segment(99), .segment(101),
            .initialization(0), .initialization(2), .initialization(-1),
            .initialization(Int.min + 8),
        ] {
            let bytes = await stream.bytes(resource)
            #expect(bytes == nil, "\(resource)")
        }
        #expect(!answered.hasHappened)
        camera.send(5, to: hub)
        let found = await request.value
        let bytes = try #require(found)
        let initialization = try await stream.present(.initialization(1))
        let times = try samples(.video, initialization, bytes).map(\.dts)
        #expect(times == (10..<15).map { $0 * 3_600 })
    }

    @Test func `all listed segments and parts are available, and old ones are not`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        // A minute: fifteen segments of twenty parts.
        camera.send(1_500, to: hub)
        let text = try await stream.listed(part: "114.19.mp4")
        let rules = PlaylistRules(text)
        #expect(rules.findings.isEmpty, "\(rules.findings)")
        #expect(rules.mediaSequence > 102 && rules.mediaSequence < 110)
        let initialization = try await stream.present(.initialization(1))
        for segment in rules.segments {
            let resource = try #require(LiveResource(segment.uri))
            let bytes = try await stream.present(resource)
            let times = try samples(.video, initialization, bytes).map(\.dts)
            let first = Int64(segment.sequence - 100) * 100
            #expect(times == (first..<first + 100).map { $0 * 3_600 }, "\(segment.uri)")
            var joined: [UInt8] = []
            for part in segment.parts {
                let resource = try #require(LiveResource(part.uri))
                let piece = try await stream.present(resource)
                joined += piece
            }
            #expect(segment.parts.isEmpty || joined == bytes)
        }
        for part in rules.open?.parts ?? [] {
            let resource = try #require(LiveResource(part.uri))
            let bytes = await stream.bytes(resource)
            #expect(bytes != nil)
        }
        for part in [0, 1, 19] {
            let bytes = await stream.part(100, part)
            #expect(bytes == nil)
        }
        let old = await stream.bytes(.segment(100))
        #expect(old == nil)
        // A segment that has just left the list is still available.
        let departed = await stream.bytes(.segment(rules.mediaSequence - 1))
        #expect(departed != nil)
    }

    /// A client would cache a partial segment under the segment's name.
    @Test func `an incomplete segment is not found`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(10, to: hub)
        _ = try await stream.listed(part: "100.1.mp4")
        let bytes = await stream.bytes(.segment(100))
        #expect(bytes == nil)
    }

    /// Agents send sound and pictures in messages of their own when they wait for nothing.
    @Test func `audio in separate messages is in the parts`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.formats = [LiveCamera.video, LiveCamera.audio]
        for _ in 0..<15 {
            camera.send(1, to: hub)
            let sound = camera.sound()
            hub.take(sound)
        }
        _ = try await stream.listed(part: "100.2.mp4")
        let initialization = try await stream.present(.initialization(1))
        var parts: [UInt8] = []
        for part in 0..<3 {
            let piece = try await stream.present(100, part)
            parts += piece
        }
        let pictures = try samples(.video, initialization, parts)
        #expect(pictures.map(\.dts) == (0..<15).map { $0 * 3_600 })
        let packets = try samples(.audio, initialization, parts).map(\.dts)
        // Sound behind the last picture belongs to the next part.
        #expect(packets.starts(with: (2..<30).map { Int64($0) * 960 }), "\(packets)")
    }

    // MARK: Changes

    @Test func `sound of one session is not in the next one's parts`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.formats = [LiveCamera.video, LiveCamera.audio]
        camera.send(10, to: hub)
        let sound = camera.sound()
        hub.take(sound)
        _ = try await stream.listed(part: "100.1.mp4")
        camera.session = LiveCamera.otherSession
        camera.zeroUTCNanoseconds += 1_200_000_000_000
        camera.picture = 0
        camera.send(10, to: hub)
        _ = try await stream.listed(part: "101.1.mp4")
        let initialization = try await stream.present(.initialization(2))
        let part = try await stream.present(101, 0)
        #expect(try samples(.video, initialization, part).first?.dts == 0)
        #expect(try samples(.audio, initialization, part).isEmpty)
    }

    @Test func `a new session has a new playlist with continuous numbers`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(10, to: hub)
        _ = try await stream.listed(part: "100.1.mp4")
        camera.session = LiveCamera.otherSession
        camera.zeroUTCNanoseconds += 1_200_000_000_000
        camera.picture = 0
        camera.send(10, to: hub)
        let text = try await stream.listed(part: "101.1.mp4")
        let rules = PlaylistRules(text)
        #expect(rules.findings.isEmpty, "\(rules.findings)")
        #expect(rules.mediaSequence == 101 && !text.contains("\"100."))
        let open = try #require(rules.open)
        #expect(open.map == "init.2.mp4")
        #expect(open.dateNanoseconds == LiveCamera.zeroNanoseconds + 1_200_000_000_000)
        let old = await stream.part(100, 0)
        #expect(old == nil)
        let initialization = try await stream.present(.initialization(2))
        let part = try await stream.present(101, 0)
        let times = try samples(.video, initialization, part).map(\.dts)
        #expect(times == (0..<5).map { $0 * 3_600 })
        // A request with old numbers gets the new playlist.
        let next = try await stream.listed(LiveRequest(sequence: 100, part: 1))
        #expect(next == text)
    }

    @Test func `a new format begins a segment after a discontinuity`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(25, to: hub)
        camera.formats = [LiveCamera.otherVideo]
        camera.send(10, to: hub)
        let text = try await stream.listed(part: "101.1.mp4")
        let rules = PlaylistRules(text)
        #expect(rules.findings.isEmpty, "\(rules.findings)")
        #expect(rules.segments.map(\.map) == ["init.1.mp4"])
        #expect(rules.open?.map == "init.2.mp4" && rules.open?.isDiscontinuous == true)
        let one = await stream.bytes(.initialization(1))
        let two = await stream.bytes(.initialization(2))
        #expect(one != nil && two != nil && one != two)
    }

    @Test func `a source that was silent continues after a discontinuity`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        // A part, and two pictures more.
        camera.send(7, to: hub)
        hub.tick(now: 3_000_000_001)
        let text = try await stream.listed(part: "100.1.mp4")
        let short = PlaylistRules(text).open?.parts.last
        #expect(short?.microseconds == 80_000)
        camera.picture = 250
        camera.send(10, to: hub, now: 3_000_000_002)
        let next = try await stream.listed(part: "101.1.mp4")
        let rules = PlaylistRules(next)
        #expect(rules.findings.isEmpty, "\(rules.findings)")
        #expect(rules.segments.count == 1 && rules.open?.isDiscontinuous == true)
        #expect(rules.open?.dateNanoseconds == LiveCamera.zeroNanoseconds + 10_000_000_000)
    }

    @Test func `a lost message is a discontinuity`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(30, to: hub)
        camera.lose(1)
        camera.send(29, to: hub)
        let text = try await stream.listed(part: "101.1.mp4")
        let rules = PlaylistRules(text)
        #expect(rules.findings.isEmpty, "\(rules.findings)")
        #expect(rules.segments.count == 1 && rules.open?.isDiscontinuous == true)
        #expect(rules.open?.dateNanoseconds == LiveCamera.zeroNanoseconds + 2_000_000_000)
    }

    // MARK: Refusals

    @Test func `a request too far ahead is refused`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(10, to: hub)
        _ = try await stream.listed(part: "100.1.mp4")
        for request in [
            LiveRequest(sequence: 102), LiveRequest(sequence: 102, part: 0),
            LiveRequest(sequence: .max, part: .max), LiveRequest(sequence: 100, part: 1_000),
            LiveRequest(sequence: 101, part: .max), LiveRequest(part: 0),
        ] {
            let status = try await stream.refusal(request)
            #expect(status == 400, "\(request)")
        }
        for request in [
            LiveRequest(sequence: 0), LiveRequest(sequence: 99, part: 7),
            LiveRequest(sequence: 100, part: 0), LiveRequest(sequence: 100, part: 1),
        ] {
            let status = try await stream.refusal(request)
            #expect(status == nil, "\(request)")
        }
        // A request that names no segment is answered when there is a whole one.
        camera.send(115, to: hub)
        _ = try await stream.listed(part: "101.1.mp4")
        for request in [LiveRequest(), LiveRequest(skipsOldSegments: true)] {
            let status = try await stream.refusal(request)
            #expect(status == nil, "\(request)")
        }
    }

    @Test func `the playlist of a silent source is 503 after a timeout`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        let clock = HandClock()
        let answered = LiveEvent()
        let request = Task { () async throws -> String in
            defer { answered.happens() }
            return try await stream.text(LiveRequest(), now: { clock.now })
        }
        for _ in 0..<20 {
            hub.tick(now: 0)
            await Task.yield()
        }
        #expect(!answered.hasHappened)
        // If it asks only now, its time begins now.
        while !answered.hasHappened {
            clock.goOn(seconds: 60)
            hub.tick(now: 0)
            try await Task.sleep(for: .milliseconds(1))
        }
        do {
            _ = try await request.value
            Issue.record("a playlist without a part")
        } catch let problem as Problem {
            #expect(problem.status.code == 503)
        }
    }

    @Test func `a hinted part that does not come is not found after a timeout`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        defer { stream.stop() }
        var camera = LiveCamera()
        camera.send(10, to: hub)
        _ = try await stream.listed(part: "100.1.mp4")
        let clock = HandClock()
        let answered = LiveEvent()
        let request = Task { () async -> Bool in
            defer { answered.happens() }
            let name = PartAddress(sequence: 100, part: 2)
            if case .gone = await stream.media(.part(name), now: { clock.now }) { return true }
            return false
        }
        while !answered.hasHappened {
            clock.goOn(seconds: 60)
            hub.tick(now: 0)
            try await Task.sleep(for: .milliseconds(1))
        }
        let isGone = await request.value
        #expect(isGone)
    }

    @Test func `waiting requests are answered when the stream is stopped`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        let requests = (0..<10).map { _ in Task { try await stream.listed() } }
        await Task.yield()
        stream.stop()
        for request in requests {
            await #expect(throws: Problem.self) { try await request.value }
        }
        let status = try await stream.refusal(LiveRequest())
        #expect(status == 503 && hub.topics.isEmpty)
    }

    /// Its creator may stop it before its task runs.
    @Test func `a stream that is stopped before it begins subscribes to nothing`() async throws {
        let hub = LiveHub()
        let stream = LiveStream("camera", hub: hub, firstSequence: 100)
        stream.stop()
        await stream.run()
        #expect(hub.topics.isEmpty && hub.watcherCount == 0)
        let status = try await stream.refusal(LiveRequest())
        #expect(status == 503)
    }

    @Test func `listed parts are available after the stream was stopped`() async throws {
        let hub = LiveHub()
        let stream = try await started(hub)
        var camera = LiveCamera()
        camera.send(10, to: hub)
        let text = try await stream.listed(part: "100.1.mp4")
        stream.stop()
        let again = try await stream.listed(LiveRequest(sequence: 100, part: 0))
        #expect(again == text)
        let part = await stream.part(100, 0)
        #expect(part != nil)
    }
}
