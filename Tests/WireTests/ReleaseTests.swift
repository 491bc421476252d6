import Media
import Testing

@testable import Wire

/// The second watermark: what an agent keeps although it is on the collector's disk.
@Suite struct ReleaseTests {
    private func hello(of agent: inout AgentHarness) throws -> Hello {
        for case .hello(let hello) in agent.takeSent() { return hello }
        throw NoHello()
    }

    private struct NoHello: Error {}

    // MARK: The agent's end

    @Test func `an agent keeps persisted records until they are released`() throws {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome(released: 0)
        for _ in 0..<4 { agent.add(isKeyframe: true) }
        agent.acknowledge(received: 4, persisted: 4, released: 1)
        #expect(agent.link.keptSamples == 0)
        #expect(agent.link.keptBytes == 0)
        #expect(agent.link.unreleasedRecords == 3)
        #expect(agent.link.cursors[0].released == 1)
        agent.acknowledge(received: 4, persisted: 4, released: 4)
        #expect(agent.link.cursors[0].released == 4)
    }

    @Test func `without releases, persisted records are released`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.add(isKeyframe: true)
        agent.acknowledge(received: 1, persisted: 1)
        #expect(agent.link.memoryBytes == 0 && agent.link.unreleasedRecords == 0)
    }

    @Test func `records are sent again only to a collector that lacks them`() throws {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome(released: 0)
        for _ in 0..<6 { agent.add(isKeyframe: true) }
        agent.acknowledge(received: 6, persisted: 5, released: 2)
        _ = agent.takeSent()
        // The same collector.
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.connect()
        let back = try hello(of: &agent)
        #expect(back.sources.map(\.firstSequence) == [3])
        agent.welcome(received: 6, persisted: 5, released: 2)
        #expect(agent.takeSequences() == [6...6])
        // Another one, with the stored records.
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.connect()
        agent.welcome(received: 3, persisted: 3, released: 2)
        #expect(agent.takeSequences() == [4...4, 5...5, 6...6])
        #expect(agent.link.keptSamples == 3)
        agent.acknowledge(received: 6, persisted: 6, released: 6)
        #expect(agent.link.memoryBytes == 0)
    }

    @Test
    func `records before a change of format are sent with their own format`() throws {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome(released: 0)
        agent.add(isKeyframe: true)
        agent.perform(agent.link.setFormat(Fixtures.otherAudio, of: 0, now: agent.now))
        agent.add(.audio)
        agent.acknowledge(received: 3, persisted: 3, released: 0)
        agent.perform(agent.link.disconnected(now: agent.now))
        _ = agent.takeSent()
        agent.connect()
        let later = try hello(of: &agent).sources[0]
        #expect(later.tracks.contains(Fixtures.otherAudio) && later.firstSequence == 1)
        agent.welcome(received: 0, persisted: 0, released: 0)
        // It repeats Hello: its first record has another format than announced.
        let earlier = try hello(of: &agent).sources[0]
        #expect(earlier.tracks.contains(Fixtures.audio) && earlier.firstSequence == 1)
        agent.welcome(received: 0, persisted: 0, released: 0)
        #expect(agent.takeSequences() == [1...1, 2...2, 3...3])
    }

    @Test func `held records are stated up to the oldest kept one`() {
        var cursor = Cursor<[UInt8]>(
            name: "camera1", formats: [Fixtures.video], window: RecordWindow(),
            kept: (8..<11, [Fixtures.video]))
        cursor.held = [
            HeldRange(collector: "west", sequences: 1...4),
            HeldRange(collector: "east", sequences: 5...9),
            HeldRange(collector: "north", sequences: 10...10),
        ]
        #expect(
            cursor.heldElsewhere == [
                HeldRange(collector: "west", sequences: 1...4),
                HeldRange(collector: "east", sequences: 5...7),
            ])
    }

    /// Records that cannot be read from the disk are a gap. What a collector has received of them needs none, until it is lost.
    @Test func `a gap that was shortened for one collector is whole for another that has less`() {
        var cursor = Cursor<[UInt8]>(
            name: "camera1", formats: [Fixtures.video], window: RecordWindow(),
            kept: (1..<172, [Fixtures.video]))
        func state(received: UInt64, persisted: UInt64) -> SourceState {
            SourceState(
                source: 0, received: received, persisted: persisted, creditLimitBytes: 1 << 20)
        }
        func damaged(from first: UInt64) -> KeptRecord<[UInt8]> {
            KeptRecord(
                GapRecord(
                    source: 0, sequences: first...171, track: nil, cause: .corruptRecord, epoch: 1,
                    startNanoseconds: 0, durationNanoseconds: 1, samples: 172 - first, text: "torn")
            )
        }
        cursor.resume(state(received: 137, persisted: 103))
        #expect(cursor.wanted == 104)
        cursor.load([damaged(from: 104)], formats: [Fixtures.video])
        #expect(cursor.records.map(\.sequences) == [138...171])
        // The same collector needs no further records.
        cursor.resume(state(received: 137, persisted: 103))
        #expect(cursor.records.map(\.sequences) == [138...171])
        // After a power cut, it does.
        cursor.resume(state(received: 103, persisted: 103))
        #expect(cursor.wanted == 104)
        cursor.load([damaged(from: 104)], formats: [Fixtures.video])
        #expect(cursor.records.map(\.sequences) == [104...171])
    }

    @Test func `an agent is done when its goodbye is released`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome(released: 0)
        agent.add(isKeyframe: true)
        agent.perform(agent.link.sayGoodbye("end", of: 0, now: agent.now))
        agent.acknowledge(received: 2, persisted: 2, released: 1)
        #expect(!agent.isFinished && agent.link.isPersisted)
        agent.acknowledge(received: 2, persisted: 2, released: 2)
        #expect(agent.isFinished)
    }

    @Test func `an agent that sends copies ends when they are persisted`() throws {
        var agent = AgentHarness(forgetsAtPersisted: true)
        agent.connect()
        let greeting = try hello(of: &agent)
        #expect(greeting.forgetsAtPersisted)
        agent.welcome(released: 0)
        agent.add(isKeyframe: true)
        agent.perform(agent.link.sayGoodbye("end", of: 0, now: agent.now))
        agent.acknowledge(received: 2, persisted: 2, released: 0)
        #expect(agent.isFinished)
    }

    // MARK: The collector's end

    @Test func `a collector states the release watermark if it is below the persisted one`()
        throws
    {
        var collector = CollectorHarness()
        collector.durable.stored = 0
        collector.send(.hello(Fixtures.hello()))
        #expect(collector.takeState()?.released == 0)
        collector.send(.samples(Fixtures.samples()))
        collector.persist("camera1", through: 3)
        collector.tick(milliseconds: 100)
        var state = collector.takeState()
        #expect(state?.persisted == 3 && state?.released == 0)
        collector.durable.stored = 2
        collector.link.becameReleased(source: "camera1", spool: Fixtures.identity(1))
        collector.tick(milliseconds: 100)
        state = collector.takeState()
        #expect(state?.persisted == 3 && state?.released == 2)
        // Never beyond the durable records.
        collector.durable.stored = 9
        collector.link.becameReleased(source: "camera1", spool: Fixtures.identity(1))
        collector.tick(milliseconds: 100)
        #expect(collector.takeState()?.released == 3)
    }

    @Test func `a source is complete when its goodbye is released`() {
        var collector = CollectorHarness.greeted()
        collector.durable.stored = 0
        collector.send(.samples(Fixtures.samples()))
        collector.send(.goodbye(Goodbye(source: 0, sequence: 4, text: "end")))
        collector.persist("camera1", through: 4)
        collector.tick(milliseconds: 100)
        #expect(!collector.takeEvents().contains(.closed(source: "camera1", .complete)))
        collector.durable.stored = 4
        collector.link.becameReleased(source: "camera1", spool: Fixtures.identity(1))
        collector.tick(milliseconds: 100)
        #expect(collector.takeEvents().contains(.closed(source: "camera1", .complete)))
    }

    @Test
    func `agents without releases, and those that send copies, get no watermark of them`() {
        for change in [{ $0.minor = 5 }, { $0.forgetsAtPersisted = true }]
            as [(inout Hello) -> Void]
        {
            var hello = Fixtures.hello()
            change(&hello)
            var collector = CollectorHarness()
            collector.durable.stored = 0
            collector.send(.hello(hello))
            collector.send(.samples(Fixtures.samples()))
            collector.persist("camera1", through: 3)
            collector.tick(milliseconds: 100)
            let state = collector.takeState()
            #expect(state?.persisted == 3 && state?.released == nil)
        }
    }

    @Test func `the answer to a clock probe states how long the box must keep its samples`() throws
    {
        let probe = WireMessage.clockProbe(ClockProbe(t1: -42)).encoded()
        for seconds in [0, 1, 127, 128, 70_000, .max] as [UInt32] {
            let bytes = probe.withUnsafeBytes {
                ClockReply.bytes(answering: $0, receivedAt: 5, releaseSeconds: seconds) { 6 }
            }
            let wanted = WireMessage.clockReply(
                ClockReply(t1: -42, t2: 5, t3: 6, releaseSeconds: seconds))
            #expect(bytes == wanted.encoded())
            #expect(try WireMessage(decoding: #require(bytes)) == wanted)
        }
    }

    @Test func `the answer to a clock probe states the clock's epoch`() throws {
        let probe = WireMessage.clockProbe(ClockProbe(t1: 42)).encoded()
        let clock = EpochID(high: 0x8182_8384_8586_8788, low: 1)
        for seconds in [0, 300] as [UInt32] {
            let bytes = probe.withUnsafeBytes {
                ClockReply.bytes(
                    answering: $0, receivedAt: .max, releaseSeconds: seconds, clock: clock
                ) { .min }
            }
            let wanted = WireMessage.clockReply(
                ClockReply(t1: 42, t2: .max, t3: .min, releaseSeconds: seconds, clock: clock))
            #expect(bytes == wanted.encoded())
            #expect(try WireMessage(decoding: #require(bytes)) == wanted)
        }
    }

    @Test func `a watermark above the one before it is refused`() throws {
        let state = SourceState(
            source: 0, received: 3, persisted: 2, creditLimitBytes: 0, released: 3)
        let bytes = WireMessage.acknowledgement(Acknowledgement(sources: [state], session: ""))
            .encoded()
        #expect(throws: WireError.self) { try WireMessage(decoding: bytes) }
    }
}
