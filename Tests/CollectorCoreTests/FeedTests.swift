import Archive
import Foundation
import Logging
import Media
import Messaging
import Operations
import Testing
import Wire

@testable import CollectorCore

/// The messages that live viewers receive.
@Suite struct FeedTests {
    @Test func `a subscription is for a source, or for a prefix of topics`() {
        var watched = WatchedSources()
        #expect(!watched.includes("stage"))
        func take(_ message: [UInt8]) -> Bool { watched.take(message) }
        #expect(take([1] + FeedTopic.source("stage")))
        #expect(watched.includes("stage") && !watched.includes("stage2"))
        #expect(!watched.wants(FeedTopic.status))
        #expect(take([1]))
        #expect(watched.includes("stage2") && watched.wants(FeedTopic.status))
        #expect(take([0]))
        #expect(take([0] + FeedTopic.source("stage")))
        #expect(watched == WatchedSources())
        #expect(!take([]))
        #expect(!take([7, 1]))
    }

    @Test func `invalid subscriptions of one viewer do not block those of others`() {
        var watched = WatchedSources()
        for number in 0..<1_200 { _ = watched.take([1] + Array("junk\(number)".utf8)) }
        #expect(!watched.includes("stage"))
        _ = watched.take([1] + FeedTopic.source("stage"))
        _ = watched.take([1] + Array("sta".utf8))
        #expect(watched.includes("stage") && watched.includes("stairs"))
        #expect(!watched.includes("st"))
    }

    @Test func `the shortest of several delay requests for a source applies`() {
        var watched = WatchedSources()
        func take(_ message: [UInt8]) { _ = watched.take(message) }
        #expect(watched.requestedMilliseconds(of: "stage") == 0)
        // A requested length applies only with a subscription to the source.
        take([1] + FeedTopic.delayRequest(33, for: "stage"))
        #expect(watched.requestedMilliseconds(of: "stage") == 0 && !watched.wantsMedia)
        take([1] + FeedTopic.source("stage"))
        #expect(watched.requestedMilliseconds(of: "stage") == 33)
        take([1] + FeedTopic.delayRequest(50, for: "stage"))
        take([1] + FeedTopic.delayRequest(33, for: "stage"))
        #expect(watched.requestedMilliseconds(of: "stage") == 33)
        take([0] + FeedTopic.delayRequest(33, for: "stage"))
        #expect(watched.requestedMilliseconds(of: "stage") == 50)
        take([0] + FeedTopic.delayRequest(50, for: "stage"))
        #expect(watched.requestedMilliseconds(of: "stage") == 100)
        #expect(watched.requestedMilliseconds(of: "other") == 0)
        take([0] + FeedTopic.source("stage"))
        #expect(watched == WatchedSources())
    }

    @Test func `a delay request out of range is limited`() {
        var watched = WatchedSources()
        _ = watched.take([1])
        // Two topics with one length: it applies until both have ended.
        for wish in [0, 1] as [UInt32] {
            _ = watched.take([1] + FeedTopic.delayRequest(wish, for: "stage"))
        }
        #expect(watched.requestedMilliseconds(of: "stage") == 1)
        _ = watched.take([0] + FeedTopic.delayRequest(0, for: "stage"))
        #expect(watched.requestedMilliseconds(of: "stage") == 1)
        _ = watched.take([1] + FeedTopic.delayRequest(.max, for: "other"))
        #expect(watched.requestedMilliseconds(of: "other") == 100)
        for odd in ["@batch/33/../x\0", "@batch/33/stage", "@batch//stage\0", "@batch/-1/stage\0"] {
            #expect(FeedTopic.delayRequest(of: Array(odd.utf8)) == nil)
        }
        #expect(FeedTopic.delayRequest(of: Array("@batch/99999999999/stage\0".utf8)) == nil)
    }

    @Test func `subscriptions at two places are joined`() {
        var here = WatchedSources()
        var elsewhere = WatchedSources()
        #expect(here.union(elsewhere) == WatchedSources())
        for topic in [FeedTopic.source("stage"), FeedTopic.delayRequest(50, for: "stage")] {
            _ = here.take([1] + topic)
        }
        #expect(elsewhere.union(here) == here && here.union(elsewhere) == here)
        let others = [
            FeedTopic.source("door"), FeedTopic.delayRequest(33, for: "stage"),
            FeedTopic.delayRequest(50, for: "stage"),
        ]
        for topic in others { _ = elsewhere.take([1] + topic) }
        let both = here.union(elsewhere)
        #expect(both.includes("stage") && both.includes("door"))
        #expect(both.requestedMilliseconds(of: "stage") == 33)
        _ = elsewhere.take([0] + FeedTopic.delayRequest(33, for: "stage"))
        #expect(here.union(elsewhere).requestedMilliseconds(of: "stage") == 50)
    }

    @Test func `a connection over TCP that sends something else is closed, and others are not`()
        throws
    {
        let context = try Context()
        let counters = RefusalCounters()
        let publisher = try FeedPublisher(
            endpoint: "tcp://127.0.0.1:*", security: .plain, authenticator: nil, in: context,
            counters: counters, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let endpoint = try publisher.endpoint()
        let viewer = try Socket(.subscriber, in: context)
        try viewer.subscribe(FeedTopic.source("camera"))
        try viewer.connect(endpoint)
        let deadline = ContinuousClock.now + .seconds(30)
        while try !publisher.followSubscriptions(), ContinuousClock.now < deadline {}
        #expect(publisher.watched.includes("camera"))
        // No source has a name of that length.
        let hostile = try Socket(.subscriber, in: context)
        try hostile.subscribe(Array(repeating: 65, count: 500))
        try hostile.connect(endpoint)
        while counters.counts[.flood] == nil, ContinuousClock.now < deadline {
            _ = try publisher.followSubscriptions()
        }
        #expect(counters.counts == [.flood: 1])
        #expect(publisher.watched.topics == [FeedTopic.source("camera")])
        try publisher.publish(placed("camera", try received([1, 2, 3]), 0..<3, pts: 1))
        var message: ReceivedMessage?
        while message == nil, ContinuousClock.now < deadline {
            message = try viewer.receive(maximumParts: 3)
        }
        #expect(message?.parts.last?.bytes == [1, 2, 3])
    }

    @Test func `samples are published only while their source is subscribed to`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        var other = SteadyCamera("other")
        for source in [camera, other] { harness.open(source, at: 0) }
        harness.picture(&camera, capturedAt: 0, arriving: 50_000_000)
        harness.picture(&other, capturedAt: 0, arriving: 50_000_000)
        harness.tick(1_000_000_000)
        #expect(harness.placed.isEmpty)
        var watched = WatchedSources()
        _ = watched.take([1] + FeedTopic.source("camera"))
        harness.recorder.watched = watched
        harness.picture(&camera, capturedAt: 1_000_000_000, arriving: 1_050_000_000)
        harness.picture(&other, capturedAt: 1_000_000_000, arriving: 1_050_000_000)
        let placed = try #require(harness.placed.first)
        #expect(harness.placed.count == 1)
        #expect(placed.source.source == "camera")
        #expect(placed.source.session == harness.started.first)
        #expect(placed.formats == [SteadyCamera.format])
        // The feed carries the recorded samples.
        harness.goodbye(&camera, at: 2_000_000_000)
        let recorded = harness.fragments("camera").flatMap(\.pieces).flatMap(\.runs)
            .flatMap(\.samples)
        #expect(placed.piece.runs.flatMap(\.samples) == Array(recorded.suffix(1)))
        #expect(abs(placed.arrivedNanoseconds - 1_050_000_000) < 1_000_000)
    }

    @Test func `a subscriber receives a source's media as they were sent, and no other`() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "feed-\(UUID().uuidString.prefix(8))").path
        let context = try Context()
        let publisher = try FeedPublisher(path: path, in: context)
        defer { unlink(path) }
        #expect(!publisher.isWatched)
        let subscriber = try Socket(.subscriber, in: context)
        try subscriber.subscribe(FeedTopic.source("camera"))
        try subscriber.connect("ipc://\(path)")
        let deadline = ContinuousClock.now + .seconds(30)
        while try !publisher.followSubscriptions(), ContinuousClock.now < deadline {}
        #expect(publisher.watched.includes("camera") && !publisher.watched.includes("other"))
        let media = try received(Array(0..<200))
        for (source, pts) in [("other", 1), ("camera", 2), ("camera", 3)] as [(String, Int64)] {
            try publisher.publish(placed(source, media, 100..<150, pts: pts))
        }
        var messages: [ReceivedMessage] = []
        while messages.count < 2, ContinuousClock.now < deadline {
            if let message = try subscriber.receive(maximumParts: 3) { messages.append(message) }
        }
        #expect(
            messages.map { $0.parts[0].bytes } == [
                FeedTopic.source("camera"), FeedTopic.source("camera"),
            ])
        for (index, message) in messages.enumerated() {
            guard case .samples(let samples) = try FeedMessage(decoding: message.parts[1].bytes)
            else {
                Issue.record("no samples")
                continue
            }
            #expect(samples.source == "camera" && samples.number == UInt64(index + 1))
            #expect(samples.runs.first?.samples.first?.pts == Int64(index + 2))
            #expect(samples.boundNanoseconds == 5)
            #expect(message.parts[2].bytes == Array(100..<150))
        }
        #expect(publisher.sentMessages == 3)
    }

    @Test func `samples that find no room are left out up to the next keyframe`() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "feed-\(UUID().uuidString.prefix(8))").path
        let context = try Context()
        let publisher = try FeedPublisher(
            path: path, in: context, budget: FeedBudget(maximumBytes: 2_000))
        defer { unlink(path) }
        let subscriber = try Socket(.subscriber, in: context)
        try subscriber.subscribe([])
        try subscriber.connect("ipc://\(path)")
        let deadline = ContinuousClock.now + .seconds(30)
        while try !publisher.followSubscriptions(), ContinuousClock.now < deadline {}
        let media = try received(Array(repeating: 7, count: 3_000))
        func publish(_ count: Int, _ flags: SampleFlags = []) throws {
            // Earlier messages have been sent, so only this one counts.
            while publisher.heldBytes > 0, ContinuousClock.now < deadline {}
            try publisher.publish(placed("camera", media, 0..<count, pts: 1, flags: flags))
        }
        var numbers: [UInt64] = []
        func receive(upTo number: UInt64) throws {
            while numbers.last != number, ContinuousClock.now < deadline {
                guard let message = try subscriber.receive(maximumParts: 3),
                    case .samples(let samples) = try FeedMessage(
                        decoding: message.parts[1].bytes)
                else { continue }
                numbers.append(samples.number)
            }
        }
        try publish(100, .keyframe)
        try publish(100)
        try receive(upTo: 2)
        // Too many bytes; the following pictures could not be decoded.
        try publish(3_000)
        try publish(100)
        try publish(100, .keyframe)
        try publish(100)
        try receive(upTo: 6)
        #expect(numbers == [1, 2, 5, 6])
    }

    @Test func `a skipped source does not delay the others`() {
        var budget = FeedBudget(maximumBytes: 100)
        func admits(
            _ source: String, _ size: Int, key: Bool = false, besides held: Int = 0
        ) -> Bool {
            budget.admits(source, sizeBytes: size, beginsDecodable: key, besides: held)
        }
        #expect(admits("a", 50))
        #expect(!admits("a", 51, besides: 50))
        #expect(!admits("a", 1))
        #expect(admits("b", 1))
        #expect(!admits("a", 60, key: true, besides: 50))
        #expect(admits("a", 50, key: true, besides: 50))
        #expect(admits("a", 1))
    }

    /// A part received over a socket.
    private func received(_ bytes: [UInt8]) throws -> ReceivedPart {
        let context = try Context()
        let one = try Socket(.pair, in: context)
        let other = try Socket(.pair, in: context)
        try one.bind("inproc://media")
        try other.connect("inproc://media")
        _ = try one.send(.bytes(bytes))
        return try #require(try other.receive(maximumParts: 1)?.parts.first)
    }

    private func placed(
        _ source: String, _ media: ReceivedPart, _ range: Range<Int>, pts: Int64,
        flags: SampleFlags = .keyframe
    ) -> PlacedSamples {
        PlacedSamples(
            source: SourceKey(session: "2026-11-20T22-40-00.000Z", source: source),
            sessionZero: DiskScene.zero, formats: [DiskScene.format],
            piece: PlannedPiece(
                payload: media, range: range, digest: nil,
                runs: [
                    PlannedRun(
                        track: .video, firstSequence: 1,
                        samples: [
                            PlannedSample(
                                sizeBytes: UInt32(range.count), dts: pts, pts: pts, duration: 1,
                                flags: flags, agentDTSNanoseconds: 0,
                                appliedOffsetNanoseconds: 0)
                        ])
                ]), boundNanoseconds: 5, arrivedNanoseconds: 9)
    }
}
