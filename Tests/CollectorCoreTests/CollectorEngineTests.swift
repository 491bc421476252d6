import Archive
import Media
import Operations
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

@Suite struct CollectorEngineTests {
    private let peer = PeerID([0, 1])
    private let now = SessionHarness.instant(second)

    /// An engine with one connected source, `camera`.
    private func engine() -> CollectorEngine {
        var engine = CollectorEngine(
            settings: SessionSettings(
                layout: ArchiveLayout(root: "/archive"), startAt: .firstSample,
                segmentNanoseconds: 600 * second, idleTimeoutNanoseconds: 0, software: "test"),
            recovered: RecoveredArchive(), host: HostClock(boot: "this"), at: now)
        let hello = Hello(
            software: "agent", agent: "box", spool: .random(),
            epochs: [Epoch(number: 1, identity: .random())],
            sources: [SourceOffer(name: "camera", tracks: [DiskScene.format], firstSequence: 1)])
        engine.receive(message(.hello(hello)), payload: nil, at: now)
        return engine
    }

    private func message(_ message: WireMessage, payloadBytes: Int? = nil) -> IncomingMessage {
        IncomingMessage(
            peer: peer, address: "10.0.0.1", header: message.encoded(),
            payloadSizeBytes: payloadBytes)
    }

    /// What is answered to whoever asked.
    private func reports(
        _ engine: inout CollectorEngine
    ) -> [(reply: CommandReply, payload: [UInt8])] {
        engine.takeNotices().compactMap {
            if case .report(_, let reply, let payload) = $0 { (reply, payload) } else { nil }
        }
    }

    @Test func `a command's failure brings nothing of the message that its agent was refused for`()
    {
        var engine = engine()
        engine.command(.keyframe, to: "camera", ticket: 1, at: now)
        #expect(reports(&engine).isEmpty)
        var camera = SteadyCamera("camera")
        // Of another size than its samples have together.
        engine.receive(
            message(.samples(camera.picture(at: second)), payloadBytes: 1_000),
            payload: TestPayload(count: 1_000), at: now)
        let reports = reports(&engine)
        #expect(reports.count == 1)
        guard case .failure(.notConnected, _) = reports.first?.reply else {
            Issue.record("\(reports)")
            return
        }
        #expect(reports.first?.payload.isEmpty == true)
    }

    @Test func `what was stuck and is free again keeps nobody from recording`() {
        var engine = engine()
        let errors: [ArchiveError] = [
            .system(operation: "write", path: "/archive/a", errno: 5),
            .noRoom(path: "/archive/a", freeBytes: 0, reserveBytes: 1),
        ]
        for error in errors {
            engine.follow(.stuck(path: "/archive/a", error), at: now)
            #expect(engine.trouble != nil)
            engine.follow(.unstuck(path: "/archive/a"), at: now)
            #expect(engine.trouble == nil)
        }
    }

    @Test func `how long samples took from their capture until they are durable is counted`() {
        var engine = engine()
        func persist(_ capturedNanoseconds: Int64?, at time: Int64) {
            engine.follow(
                .persisted(
                    PersistedRecords(
                        source: "camera", spool: DiskScene.spool, sequences: [1...1],
                        capturedNanoseconds: capturedNanoseconds)),
                at: SessionHarness.instant(time))
        }
        persist(2 * second, at: 3 * second + second / 4)
        persist(2 * second, at: 4 * second)
        // A line of a ledger has no capture time, and no clock is exact.
        persist(nil, at: 9 * second)
        persist(10 * second, at: 9 * second)
        let found = engine.captureToDurable
        #expect(found.count == 3)
        #expect(found.sumSeconds == 3.25)
        let classes = Dictionary(uniqueKeysWithValues: zip(found.bounds, found.counts))
        #expect(classes[0.25] == 1 && classes[1.5] == 1 && classes[2] == 1)
    }

    @Test func `a subscription reaches the agent with the next tick, and so does its end`() throws {
        var engine = engine()
        engine.tick(at: now)
        _ = engine.takeOutgoing()
        func wishes() throws -> [UInt32] {
            engine.tick(at: now)
            return try engine.takeOutgoing().compactMap {
                guard case .acknowledgement(let ack) = try WireMessage(decoding: $0.header) else {
                    return nil
                }
                return ack.sources.first?.watchMilliseconds
            }
        }
        var watched = WatchedSources()
        _ = watched.take([1] + FeedTopic.source("camera"))
        engine.watched = watched
        #expect(try wishes() == [100])
        _ = watched.take([1] + FeedTopic.wish(40, for: "camera"))
        engine.watched = watched
        #expect(try wishes() == [40])
        // Who watches something else changes nothing.
        _ = watched.take([1] + FeedTopic.source("other"))
        engine.watched = watched
        #expect(try wishes() == [])
        engine.watched = WatchedSources()
        #expect(try wishes() == [0])
    }
}
