import Media
import Testing

@testable import Wire

/// Messages between agents with several collectors and these collectors.
@Suite struct HandoverTests {
    private static let clock = SessionClock(
        session: "2026-11-20T22-40-00.000Z", zeroUTCNanoseconds: 9, zeroNanoseconds: -8,
        zeroErrorNanoseconds: 7, segmentNanoseconds: 6)

    private func hello(term: UInt64 = 3, hasOthers: Bool = true, spool: UInt8 = 1) -> Hello {
        var hello = Fixtures.hello(spool: spool)
        hello.statement.term = term
        hello.statement.hasOthers = hasOthers
        return hello
    }

    @Test func `a greeting carries term, held records and session`() throws {
        var hello = hello()
        hello.sources[0].firstSequence = 30
        hello.sources[0].held = [
            HeldRange(collector: "west", sequences: 1...9),
            HeldRange(collector: "tcp://b:5550", sequences: 12...29),
        ]
        hello.statement.session = SessionOffer(
            clock: Self.clock, collector: "west", exchange: Fixtures.exchange(1))
        #expect(try WireMessage(decoding: WireMessage.hello(hello).encoded()) == .hello(hello))
        var welcome = Welcome(
            software: "c", session: "s", heartbeatMilliseconds: 1_000, sources: [])
        welcome.collector = "west"
        welcome.clock = Self.clock
        #expect(
            try WireMessage(decoding: WireMessage.welcome(welcome).encoded()) == .welcome(welcome))
        let refusal = Refusal(reason: .term, text: "no", term: 9)
        #expect(
            try WireMessage(decoding: WireMessage.refusal(refusal).encoded()) == .refusal(refusal))
        hello.sources[0].held.reverse()
        #expect(throws: WireError.self) {
            try WireMessage(decoding: WireMessage.hello(hello).encoded())
        }
    }

    @Test func `a Hello with a lower term is refused with the known term`() {
        var collector = CollectorHarness(
            archived: ArchivedRecords(persisted: 5, term: 4))
        collector.send(.hello(hello(term: 3)))
        let refusal = collector.takeRefusal()
        #expect(refusal?.reason == .term && refusal?.term == 4)
        #expect(collector.takeEvents().isEmpty)
        // The same term and a higher one are welcome, and an agent that knows no terms.
        for term: UInt64 in [4, 5, 0] {
            var collector = CollectorHarness(archived: ArchivedRecords(persisted: 5, term: 4))
            collector.send(.hello(hello(term: term)))
            #expect(collector.takeRefusal() == nil, "\(term)")
            guard case .opened(let source)? = collector.takeEvents().first else {
                Issue.record("not opened")
                continue
            }
            #expect(source.statement.term == term)
        }
    }

    @Test func `the session clock is cleared on disconnect`() {
        var agent = AgentHarness()
        agent.connect()
        var welcome = Welcome(
            software: "c", session: "s", heartbeatMilliseconds: 1_000,
            sources: [
                SourceState(source: 0, received: 0, persisted: 0, creditLimitBytes: 1 << 20)
            ])
        welcome.clock = Self.clock
        agent.perform(agent.link.received(.welcome(welcome), now: agent.now))
        agent.perform(agent.link.disconnected(now: agent.now))
        #expect(agent.link.sessionClock == Self.clock)
        // The next one does not answer.
        agent.connect()
        #expect(agent.link.sessionClock == nil)
    }

    @Test func `a message that another collector has in part is accepted whole`() {
        var collector = CollectorHarness()
        var hello = hello()
        hello.sources[0].firstSequence = 20
        hello.sources[0].held = [HeldRange(collector: "west", sequences: 1...19)]
        collector.send(.hello(hello))
        _ = collector.takeEvents()
        // Three records; another collector holds the first.
        collector.send(.samples(Fixtures.samples(first: 19)))
        #expect(collector.takeRefusal() == nil)
        guard case .samples(_, let samples)? = collector.takeEvents().first else {
            Issue.record("not accepted")
            return
        }
        #expect(samples.lastSequence == 21)
        // Later messages follow exactly.
        collector.send(.samples(Fixtures.samples(first: 21)))
        #expect(collector.takeRefusal()?.reason == .sequence)
    }

    @Test func `only agents with another collector are sent elsewhere`() {
        var collector = CollectorHarness()
        collector.send(.hello(hello()), from: 1)
        collector.send(.hello(Fixtures.hello(spool: 2, sources: ["other"])), from: 2)
        _ = collector.takeEvents()
        #expect(collector.link.movablePeers == [CollectorHarness.peer(1)])
        #expect(collector.link.immovableSources == ["other"])
        collector.link.elsewhere = "no room"
        collector.perform(
            collector.link.sendElsewhere(
                because: "no room", now: collector.now, durable: collector.durable))
        #expect(collector.takeRefusal(of: 1)?.reason == .elsewhere)
        #expect(collector.takeRefusal(of: 2) == nil)
        #expect(collector.takeEvents() == [.closed(source: "camera1", .moved)])
        // It does not come back while that lasts.
        collector.send(.hello(hello()), from: 3)
        #expect(collector.takeRefusal(of: 3)?.reason == .elsewhere)
        #expect(collector.takeEvents() == [.turnedAway(sources: ["camera1"])])
        // A second connection is tried again and again, wherever the first one is.
        var second = hello()
        second.statement.isMirror = true
        collector.send(.hello(second), from: 5)
        #expect(collector.takeRefusal(of: 5)?.reason == .elsewhere)
        #expect(collector.takeEvents() == [])
        collector.link.elsewhere = nil
        collector.send(.hello(hello()), from: 4)
        #expect(collector.takeRefusal(of: 4) == nil)
    }

    @Test func `unwritten media counts only for agents that leave or have left`() {
        var collector = CollectorHarness()
        collector.send(.hello(hello()), from: 1)
        collector.send(.hello(Fixtures.hello(spool: 2, sources: ["other"])), from: 2)
        #expect(collector.link.unwrittenSources == 0)
        collector.send(.samples(Fixtures.samples()), from: 2)
        #expect(collector.link.unwrittenSources == 0)
        collector.send(.samples(Fixtures.samples()), from: 1)
        #expect(collector.link.unwrittenSources == 1)
        collector.perform(
            collector.link.sendElsewhere(
                because: "drained", now: collector.now, durable: collector.durable))
        #expect(collector.link.unwrittenSources == 1)
        collector.link.released(Fixtures.samples().amount, source: "camera1")
        #expect(collector.link.unwrittenSources == 0)
    }

    @Test func `an agent without another usable collector is accepted while drained`() {
        for (mirrored, collectors, isReturned) in [
            (false, 2, true), (false, 1, false), (true, 2, false), (true, 3, true),
        ] as [(Bool, UInt32, Bool)] {
            var settings = CollectorLinkSettings(software: "collector")
            settings.mirrored = mirrored
            var collector = CollectorHarness(settings: settings)
            collector.link.elsewhere = "drained"
            var hello = hello(hasOthers: false)
            hello.statement.collectors = collectors
            collector.send(.hello(hello))
            #expect(collector.takeRefusal(of: 1) == nil)
            #expect(collector.link.returnedSources == (isReturned ? ["camera1"] : []))
            #expect(collector.link.immovableSources == (isReturned ? [] : ["camera1"]))
            #expect(collector.link.movablePeers == [])
        }
    }

    @Test func `a repeated Hello is sent elsewhere, and its source has not returned`() {
        var collector = CollectorHarness()
        collector.send(.hello(hello()))
        _ = collector.takeEvents()
        collector.link.elsewhere = "drained"
        collector.send(.hello(hello()))
        #expect(collector.takeEvents() == [.closed(source: "camera1", .moved)])
    }

    @Test func `the session's zero is sent only to agents with another collector, once`() {
        for (hasOthers, expected) in [(true, 1), (false, 0)] {
            var collector = CollectorHarness()
            collector.send(.hello(hello(hasOthers: hasOthers)))
            collector.link.sessionBegan(Self.clock.session)
            collector.link.setSessionClock(Self.clock)
            for _ in 0..<4 { collector.tick(milliseconds: 1_000) }
            let told = collector.takeSent().filter {
                if case .acknowledgement(let ack) = $0 { ack.clock == Self.clock } else { false }
            }
            #expect(told.count == expected)
        }
    }

    @Test func `an agent leaves a collector if another one may accept it`() {
        let reasons: [(RefusalReason, Bool)] = [
            (.elsewhere, true), (.version, true), (.unauthorized, true), (.stopping, false),
            (.unknownConnection, false),
        ]
        for (reason, leaves) in reasons {
            var agent = AgentHarness()
            agent.link.route.statement.hasOthers = true
            agent.connect()
            agent.receive(.refusal(Refusal(reason: reason, text: "full")))
            #expect(agent.failure == nil)
            #expect((agent.link.takeDeparture() != nil) == leaves, "\(reason)")
            #expect(agent.link.takeDeparture() == nil)
        }
        // One that says that it has none has others nevertheless.
        var last = AgentHarness()
        last.link.route.statement.hasOthers = true
        last.link.route.isLastResort = true
        last.connect()
        let isSaid = last.takeSent().contains {
            if case .hello(let hello) = $0 { hello.statement.hasOthers } else { false }
        }
        #expect(!isSaid)
        last.receive(.refusal(Refusal(reason: .version, text: "other")))
        #expect(last.failure == nil && last.link.takeDeparture() != nil)
        var agent = AgentHarness()
        agent.connect()
        agent.receive(.refusal(Refusal(reason: .term, text: "older", term: 12)))
        #expect(agent.link.takeSeenTerm() == 12)
        #expect(agent.logs.last?.text.contains("older") == true)
    }
}
