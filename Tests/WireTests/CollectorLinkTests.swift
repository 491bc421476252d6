import Media
import Testing

@testable import Wire

struct `A greeting` {
    @Test func `opens the sources and grants a window`() throws {
        var collector = CollectorHarness()
        var hello = Fixtures.hello()
        hello.clockExchanges = [Fixtures.exchange()]
        collector.send(.hello(hello))
        let events = collector.takeEvents()
        guard events.count == 2, case .opened(let source) = events[1] else {
            Issue.record("\(events)")
            return
        }
        #expect(
            events[0]
                == .clockExchanges(
                    Fixtures.clockOwner, epoch: Fixtures.epoch.identity, [Fixtures.exchange()]))
        #expect(source.name == "camera1")
        #expect(source.agent == "box7")
        #expect(source.address == "10.0.0.1")
        #expect(source.tracks == [Fixtures.video, Fixtures.audio])
        #expect(source.missing == nil)
        guard case .welcome(let welcome)? = collector.takeSent().first else {
            Issue.record("no Welcome")
            return
        }
        #expect(
            welcome.sources == [
                SourceState(source: 0, received: 0, persisted: 0, creditLimitBytes: 2 << 20)
            ])
    }

    @Test func `resumes after the archive's last record`() {
        var collector = CollectorHarness(archived: ArchivedRecords(persisted: 41))
        collector.send(.hello(Fixtures.hello(firstSequence: 30)))
        let state = collector.takeState()
        #expect(state?.received == 41)
        #expect(state?.persisted == 41)
        collector.send(.samples(Fixtures.samples(first: 42)))
        #expect(collector.takeRefusal() == nil)
    }

    @Test func `states the records that the agent does not have any more`() {
        var collector = CollectorHarness(archived: ArchivedRecords(persisted: 9))
        collector.send(.hello(Fixtures.hello(firstSequence: 20)))
        guard case .opened(let source)? = collector.takeEvents().first else {
            Issue.record("not opened")
            return
        }
        #expect(source.missing == 10...19)
        collector.send(.samples(Fixtures.samples(first: 20)))
        #expect(collector.takeRefusal() == nil)
    }

    @Test func `by the same agent replaces its earlier connection at once`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        _ = collector.takeEvents()
        collector.send(.hello(Fixtures.hello()), from: 2)
        let events = collector.takeEvents()
        #expect(events.first == .closed(source: "camera1", .replaced))
        #expect(collector.takeState(of: 2)?.received == 3)
        // Messages over the old connection are refused as unknown.
        collector.send(.samples(Fixtures.samples(first: 4)))
        #expect(collector.takeRefusal()?.reason == .unknownConnection)
    }

    @Test func `with a new spool restarts the numbering`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        collector.perform(
            collector.link.peerGone(
                CollectorHarness.peer(1), now: collector.now, durable: collector.durable))
        collector.send(.hello(Fixtures.hello(spool: 2)), from: 2)
        #expect(collector.takeState(of: 2)?.received == 0)
        collector.send(.samples(Fixtures.samples()), from: 2)
        #expect(collector.takeRefusal(of: 2) == nil)
    }

    @Test func `keeps the formats that updates have brought`() {
        var collector = CollectorHarness.greeted()
        collector.send(
            .trackUpdate(TrackUpdate(source: 0, sequence: 1, format: Fixtures.otherAudio)))
        _ = collector.takeEvents()
        // Announced from record 1, with the formats of that time.
        collector.send(.hello(Fixtures.hello()), from: 2)
        guard case .opened(let source)? = collector.takeEvents().last else {
            Issue.record("not opened")
            return
        }
        #expect(source.tracks.contains(Fixtures.otherAudio))
        #expect(!source.tracks.contains(Fixtures.audio))
    }

    @Test func `is refused for now if there are too many agents`() {
        var settings = CollectorLinkSettings(software: "")
        settings.maximumAgents = 1
        var collector = CollectorHarness(settings: settings)
        collector.send(.hello(Fixtures.hello()))
        collector.send(.hello(Fixtures.hello(spool: 2, sources: ["b"])), from: 2)
        // It keeps its samples and reconnects.
        #expect(collector.takeRefusal(of: 2)?.reason == .unknownConnection)
        collector.perform(
            collector.link.peerGone(
                CollectorHarness.peer(1), now: collector.now, durable: collector.durable))
        collector.send(.hello(Fixtures.hello(spool: 2, sources: ["b"])), from: 2)
        #expect(collector.takeRefusal(of: 2) == nil)
    }

    @Test func `is refused for now if there are too many sources, unless one can be forgotten`() {
        var settings = CollectorLinkSettings(software: "")
        settings.maximumSources = 1
        var collector = CollectorHarness(settings: settings)
        collector.send(.hello(Fixtures.hello()))
        collector.send(.hello(Fixtures.hello(spool: 2, sources: ["b"])), from: 2)
        #expect(collector.takeRefusal(of: 2)?.reason == .unknownConnection)
        collector.perform(
            collector.link.peerGone(
                CollectorHarness.peer(1), now: collector.now, durable: collector.durable))
        collector.send(.hello(Fixtures.hello(spool: 2, sources: ["b"])), from: 2)
        #expect(collector.takeRefusal(of: 2) == nil)
    }
}

struct `A source that another agent holds` {
    private func contested() -> CollectorHarness {
        var collector = CollectorHarness.greeted()
        collector.send(.hello(Fixtures.hello(spool: 2, agent: "box8")), from: 2)
        return collector
    }

    @Test func `stays with it when it answers`() {
        var collector = contested()
        #expect(collector.takeSent(to: 1) == [.ping])
        #expect(collector.takeSent(to: 2) == [])
        collector.send(.heartbeat(Heartbeat()))
        let refusal = collector.takeRefusal(of: 2)
        #expect(refusal?.reason == .sourceInUse)
        #expect(refusal?.text.contains("camera1") == true)
        #expect(refusal?.text.contains("box7 at 10.0.0.1") == true)
        #expect(collector.takeRefusal(of: 1) == nil)
    }

    @Test func `stays with it when a replay sends it too, whose names are recorded`() {
        var collector = CollectorHarness.greeted()
        var hello = Fixtures.hello(spool: 2, agent: "box8")
        hello.forgetsAtPersisted = true
        collector.send(.hello(hello), from: 2)
        collector.send(.heartbeat(Heartbeat()))
        let text = collector.takeRefusal(of: 2)?.text ?? ""
        #expect(text.hasSuffix("stop that agent, or replay into another collector"))
    }

    @Test func `stays with it when its samples keep coming`() {
        var collector = contested()
        collector.send(.samples(Fixtures.samples()))
        // It may have been sent before the ping.
        #expect(collector.takeRefusal(of: 2) == nil)
        collector.tick(milliseconds: 600)
        collector.send(.samples(Fixtures.samples(first: 4)))
        #expect(collector.takeRefusal(of: 2)?.reason == .sourceInUse)
    }

    @Test func `is given to the new agent after two seconds of silence`() {
        var collector = contested()
        collector.tick(milliseconds: 1_900)
        #expect(collector.takeEvents() == [])
        collector.tick(milliseconds: 200)
        let events = collector.takeEvents()
        #expect(events.first == .closed(source: "camera1", .silent))
        guard case .opened(let source)? = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(source.agent == "box8")
        #expect(collector.takeState(of: 2) != nil)
        collector.send(.heartbeat(Heartbeat()))
        #expect(collector.takeRefusal(of: 1)?.reason == .unknownConnection)
    }

    @Test func `is given to the new agent at once when its connection is gone`() {
        var collector = contested()
        collector.perform(
            collector.link.peerGone(
                CollectorHarness.peer(1), now: collector.now, durable: collector.durable))
        #expect(collector.takeState(of: 2) != nil)
    }

    @Test func `is given to the first of two new agents`() {
        var collector = contested()
        collector.tick(milliseconds: 10)
        collector.send(.hello(Fixtures.hello(spool: 3, agent: "box9")), from: 3)
        collector.perform(
            collector.link.peerGone(
                CollectorHarness.peer(1), now: collector.now, durable: collector.durable))
        #expect(collector.takeState(of: 2) != nil)
        #expect(collector.takeRefusal(of: 3)?.reason == .sourceInUse)
    }

    @Test func `causes one ping per new agent`() {
        var collector = contested()
        collector.send(.hello(Fixtures.hello(spool: 2, agent: "box8")), from: 2)
        #expect(collector.takeSent(to: 1) == [.ping])
    }
}

struct `A record` {
    @Test func `is handed on with its source's name`() {
        var collector = CollectorHarness.greeted()
        let samples = Fixtures.samples()
        let update = TrackUpdate(source: 0, sequence: 7, format: Fixtures.otherAudio)
        let goodbye = Goodbye(source: 0, sequence: 8, text: "stopped")
        collector.send(.samples(samples))
        collector.send(.gap(Fixtures.gap(4...6)))
        collector.send(.trackUpdate(update))
        collector.send(.goodbye(goodbye))
        #expect(
            collector.takeEvents() == [
                .samples(source: "camera1", samples),
                .gap(source: "camera1", Fixtures.gap(4...6)),
                .trackUpdate(source: "camera1", update),
                .goodbye(source: "camera1", goodbye),
            ])
    }

    @Test func `that is repeated is dropped and counted`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        _ = collector.takeEvents()
        collector.send(.samples(Fixtures.samples()))
        #expect(collector.takeEvents() == [])
        #expect(collector.takeRefusal() == nil)
        #expect(collector.link.duplicateRecords == 3)
    }

    @Test(arguments: [3...5, 5...5, 2...9] as [ClosedRange<UInt64>])
    func `out of sequence is refused`(sequences: ClosedRange<UInt64>) {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        _ = collector.takeEvents()
        collector.send(.gap(Fixtures.gap(sequences)))
        #expect(collector.takeRefusal()?.reason == .sequence)
        #expect(collector.takeEvents() == [.closed(source: "camera1", .refused(.sequence))])
    }

    @Test func `after a goodbye is refused`() {
        var collector = CollectorHarness.greeted()
        collector.send(.goodbye(Goodbye(source: 0, sequence: 1, text: "")))
        collector.send(.samples(Fixtures.samples(first: 2)))
        #expect(collector.takeRefusal()?.reason == .sequence)
    }

    @Test func `of an unknown connection is refused`() {
        var collector = CollectorHarness()
        collector.send(.samples(Fixtures.samples()))
        #expect(collector.takeRefusal()?.reason == .unknownConnection)
        collector.send(.heartbeat(Heartbeat()))
        #expect(collector.takeRefusal()?.reason == .unknownConnection)
    }

    @Test func `of an unknown source, epoch or track is refused`() {
        for (index, message) in [
            WireMessage.samples(Fixtures.samples(source: 1)),
            .samples(
                Samples(
                    source: 0, firstSequence: 1, epoch: 9,
                    payloadDigest: [UInt8](repeating: 0, count: 32), runs: [Fixtures.run()])),
            .samples(Fixtures.samples(runs: [Fixtures.run(.audio)])),
        ].enumerated() {
            var collector = CollectorHarness.greeted(
                hello: Fixtures.hello(tracks: [Fixtures.video]))
            collector.send(message)
            #expect(collector.takeRefusal()?.reason == .malformed, "message \(index)")
            #expect(collector.takeEvents() == [.closed(source: "camera1", .refused(.malformed))])
        }
    }

    @Test func `in the wrong number of parts is refused`() {
        var collector = CollectorHarness.greeted()
        collector.send(bytes: WireMessage.samples(Fixtures.samples()).encoded())
        #expect(collector.takeRefusal()?.reason == .malformed)
        collector = .greeted()
        collector.send(.samples(Fixtures.samples()), extraParts: 1)
        #expect(collector.takeRefusal()?.reason == .malformed)
        collector = .greeted()
        collector.send(.gap(Fixtures.gap(1...1)), payload: 3)
        #expect(collector.takeRefusal()?.reason == .malformed)
    }

    @Test func `whose payload has another size is refused`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()), payload: 6_499)
        let refusal = collector.takeRefusal()
        #expect(refusal?.reason == .malformed)
        #expect(refusal?.text == "the payload has 6499 bytes, its samples 6500 together")
    }

    @Test func `that ends after the archive's goodbye is refused whole`() {
        var collector = CollectorHarness(archived: ArchivedRecords(persisted: 100, goodbye: 100))
        collector.send(.hello(Fixtures.hello()))
        _ = collector.takeEvents()
        // The source was not announced, so its samples would belong to no source.
        collector.send(
            .samples(
                Fixtures.samples(
                    first: 95, runs: [Fixtures.run(sizes: [1, 1, 1, 1, 1, 1, 1, 1, 1])])))
        #expect(collector.takeRefusal()?.reason == .sequence)
        #expect(!collector.takeEvents().contains { if case .samples = $0 { true } else { false } })
    }

    @Test func `of a gap with the largest range can be repeated without a trap`() {
        var collector = CollectorHarness.greeted()
        let whole = 1...WireLimits.sequence as ClosedRange<UInt64>
        for _ in 0..<6 {
            collector.send(.gap(Fixtures.gap(whole)))
            collector.send(.hello(Fixtures.hello()))
        }
        #expect(collector.link.duplicateRecords >= WireLimits.sequence)
    }

    @Test func `is not accepted from a source that repeats Hello too often`() {
        var collector = CollectorHarness()
        var refusal: Refusal?
        for _ in 0..<40 where refusal == nil {
            collector.send(.hello(Fixtures.hello()))
            refusal = collector.takeRefusal()
        }
        #expect(refusal?.reason == .unknownConnection)
        collector.now += 1_000_000_000
        collector.send(.hello(Fixtures.hello()), from: 2)
        #expect(collector.takeRefusal() == nil)
    }

    @Test func `can be revoked after its payload was checked`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        collector.perform(
            collector.link.refuse(
                CollectorHarness.peer(1), .malformed, "NAL length", takingBack: Fixtures.samples(),
                now: collector.now, durable: collector.durable))
        #expect(collector.takeRefusal()?.text == "NAL length")
        collector.send(.hello(Fixtures.hello()), from: 2)
        #expect(collector.takeState(of: 2)?.received == 0)
        #expect(collector.link.sources["camera1"]?.heldBytes == 0)
    }
}

struct `An Ack` {
    @Test func `has everything that was persisted since the last Ack`() {
        var collector = CollectorHarness.greeted(hello: Fixtures.hello(sources: ["a", "b"]))
        collector.send(.samples(Fixtures.samples(source: 0)))
        collector.send(.samples(Fixtures.samples(source: 1)))
        collector.persist("a", through: 2)
        collector.persist("b", through: 3)
        // The call is about an earlier spool, so it is ignored.
        collector.persist("a", through: 3, spool: 9)
        collector.tick()
        let messages = collector.takeSent()
        guard messages.count == 1, case .acknowledgement(let ack) = messages[0] else {
            Issue.record("\(messages)")
            return
        }
        #expect(ack.sources.map(\.persisted) == [2, 3])
        #expect(ack.sources.map(\.received) == [3, 3])
    }

    @Test func `is sent every heartbeat interval, and not more often without changes`() {
        var collector = CollectorHarness.greeted()
        var count = 0
        for _ in 0..<100 {
            collector.tick(milliseconds: 100)
            collector.send(.heartbeat(Heartbeat()))
            count += collector.takeSent().count
        }
        #expect((9...10).contains(count))
    }

    @Test func `has the session's name`() {
        var collector = CollectorHarness.greeted()
        collector.link.sessionBegan("2026-11-20")
        collector.tick()
        guard case .acknowledgement(let ack)? = collector.takeSent().first else {
            Issue.record("no Ack")
            return
        }
        #expect(ack.session == "2026-11-20")
    }

    @Test func `of everything through the goodbye completes the connection`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        collector.send(.goodbye(Goodbye(source: 0, sequence: 4, text: "")))
        collector.persist("camera1", through: 3)
        collector.tick()
        #expect(!collector.takeEvents().contains(.closed(source: "camera1", .complete)))
        collector.persist("camera1", through: 4)
        collector.tick()
        #expect(collector.takeState()?.persisted == 4)
        #expect(collector.takeEvents() == [.closed(source: "camera1", .complete)])
        // The last Ack may have been lost: the agent asks again, and no source is opened.
        collector.send(.hello(Fixtures.hello(firstSequence: 4)), from: 2)
        #expect(collector.takeState(of: 2)?.persisted == 4)
        #expect(collector.takeEvents() == [])
    }
}

struct `A connection` {
    @Test func `that is silent for five intervals is closed`() {
        var collector = CollectorHarness.greeted()
        collector.tick(milliseconds: 4_900)
        #expect(collector.takeEvents() == [])
        collector.tick(milliseconds: 200)
        #expect(collector.takeEvents() == [.closed(source: "camera1", .silent)])
    }

    @Test func `is not silent while a message waits that may be its`() {
        var collector = CollectorHarness.greeted()
        collector.tick(milliseconds: 5_100, unheard: 500)
        #expect(collector.takeEvents() == [])
        // It was another peer's.
        collector.tick(milliseconds: 100)
        #expect(collector.takeEvents() == [.closed(source: "camera1", .silent)])
    }

    @Test func `states the remaining credit of its source with the least`() throws {
        var collector = CollectorHarness.greeted()
        let before = try #require(collector.link.credit(of: CollectorHarness.peer(1)))
        #expect(before.windowBytes == WireLimits.creditWindowBytes)
        let samples = Fixtures.samples()
        collector.send(.samples(samples))
        let after = try #require(collector.link.credit(of: CollectorHarness.peer(1)))
        let cost = UInt64(samples.payloadSizeBytes) + WireLimits.recordCostBytes
        #expect(after.leftBytes == before.leftBytes - cost)
        #expect(collector.link.credit(of: CollectorHarness.peer(2)) == nil)
    }

    @Test func `that sends too many messages is refused`() {
        var collector = CollectorHarness.greeted()
        for _ in 0..<120 { collector.send(.heartbeat(Heartbeat())) }
        #expect(collector.takeRefusal() == nil)
        collector.send(.heartbeat(Heartbeat()))
        #expect(collector.takeRefusal()?.reason == .limit)
    }

    @Test func `reports health and exchanges`() {
        var collector = CollectorHarness.greeted()
        let health = SourceHealth(source: 0, keptBytes: 5, newestSequence: 9, lostSamples: 1)
        collector.send(
            .heartbeat(Heartbeat(clockExchanges: [Fixtures.exchange()], health: [health])))
        #expect(
            collector.takeEvents() == [
                .clockExchanges(
                    Fixtures.clockOwner, epoch: Fixtures.epoch.identity, [Fixtures.exchange()]),
                .health(source: "camera1", health),
            ])
    }

    @Test func `whose numbers went back is refused`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples()))
        let health = SourceHealth(source: 0, keptBytes: 0, newestSequence: 2, lostSamples: 0)
        collector.send(.heartbeat(Heartbeat(health: [health])))
        #expect(collector.takeRefusal()?.reason == .sequence)
    }

    @Test func `that reports on an unknown source or epoch is refused`() {
        var collector = CollectorHarness.greeted()
        let health = SourceHealth(source: 1, keptBytes: 0, newestSequence: 0, lostSamples: 0)
        collector.send(.heartbeat(Heartbeat(health: [health])))
        #expect(collector.takeRefusal()?.reason == .malformed)
        collector = .greeted()
        let exchange = ReportedExchange(t1: 0, t2: 0, t3: 0, t4: 0, epoch: 7)
        collector.send(.heartbeat(Heartbeat(clockExchanges: [exchange])))
        #expect(collector.takeRefusal()?.reason == .malformed)
    }

    @Test func `that sends a collector's message is refused`() {
        var collector = CollectorHarness.greeted()
        collector.send(.ping)
        #expect(collector.takeRefusal()?.reason == .malformed)
    }

    @Test func `is refused with a reason while the collector stops`() {
        var collector = CollectorHarness.greeted()
        collector.perform(collector.link.stop(now: collector.now, durable: collector.durable))
        #expect(collector.takeEvents() == [.closed(source: "camera1", .stopping)])
        #expect(collector.takeRefusal()?.reason == .stopping)
        collector.send(.hello(Fixtures.hello()), from: 2)
        #expect(collector.takeRefusal(of: 2)?.reason == .stopping)
    }
}

struct `Unknown peers` {
    @Test func `with wrong magic are refused and logged with their address, once`() {
        var collector = CollectorHarness()
        for _ in 0..<50 {
            collector.send(bytes: [0x0A, 5, 0x0D, 1, 2, 3, 4], address: "192.0.2.9")
        }
        #expect(collector.takeRefusal()?.reason == .malformed)
        #expect(collector.logs.count == 1)
        #expect(collector.logs.first?.metadata["address"] == "192.0.2.9")
        collector.now += 11 * Fixtures.second
        collector.send(bytes: [1, 2, 3], address: "192.0.2.9")
        #expect(collector.logs.count == 2)
        #expect(collector.logs.last?.text.contains("49 earlier refusals") == true)
        #expect(collector.link.refusals == [.reason(.malformed): 51])
    }

    @Test func `are counted by the reason, also those that get no answer`() {
        var collector = CollectorHarness()
        // A Hello whose major version is 2.
        for _ in 0..<1_500 {
            collector.send(
                bytes: [0x0A, 7, 0x0D] + Array("BIRT".utf8) + [0x10, 2], address: "192.0.2.9")
        }
        #expect(collector.takeSent().count == 1_000)
        #expect(collector.link.refusals == [.reason(.version): 1_500])
    }

    @Test func `are answered at a limited rate`() {
        var collector = CollectorHarness()
        for _ in 0..<5_000 { collector.send(.heartbeat(Heartbeat())) }
        #expect(collector.takeSent().count == 1_000)
        collector.now += Fixtures.second
        for _ in 0..<5_000 { collector.send(.heartbeat(Heartbeat())) }
        #expect(collector.takeSent().count == 100)
    }

    @Test func `cannot fill the memory with addresses`() {
        var gate = LogRateLimit()
        // Far enough apart to stay below the line limit, close enough that the last one is delayed.
        let step = LogRateLimit.pauseNanoseconds / Int64(LogRateLimit.linesPerPause) + 1
        for number in 0..<5_000 { _ = gate.pass("\(number)", now: Int64(number) * step) }
        #expect(gate.pass("0", now: 5_000 * step) == 0)
        #expect(gate.pass("4999", now: 5_000 * step) == nil)
    }

    @Test
    func `share a limit of log lines at all addresses, and the others are counted`() {
        var gate = LogRateLimit()
        let passed = (0..<5_000).count { gate.pass("2001:db8::\($0)", now: 0) != nil }
        #expect(passed == LogRateLimit.linesPerPause)
        #expect(gate.pass("192.0.2.1", now: LogRateLimit.pauseNanoseconds - 1) == nil)
        #expect(gate.pass("192.0.2.1", now: LogRateLimit.pauseNanoseconds) == 5_001 - passed)
        #expect(gate.pass("192.0.2.2", now: LogRateLimit.pauseNanoseconds) == 0)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `that send anything in any order never trap the collector`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var collector = CollectorHarness()
        let messages: [WireMessage] = [
            .hello(Fixtures.hello()), .hello(Fixtures.hello(spool: 2)),
            .hello(Fixtures.hello(sources: ["a", "camera1"], firstSequence: 4)),
            .samples(Fixtures.samples()), .samples(Fixtures.samples(first: 4)),
            .samples(Fixtures.samples(first: 7, source: 1)), .gap(Fixtures.gap()),
            .trackUpdate(TrackUpdate(source: 0, sequence: 4, format: Fixtures.otherAudio)),
            .goodbye(Goodbye(source: 0, sequence: 7, text: "")), .heartbeat(Heartbeat()),
            .clockProbe(ClockProbe(t1: 0)), .ping,
        ]
        for _ in 0..<2_000 {
            let peer = UInt8.random(in: 1...4, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                collector.perform(
                    collector.link.peerGone(
                        CollectorHarness.peer(peer), now: collector.now, durable: collector.durable)
                )
            case 1...3:
                collector.tick(milliseconds: .random(in: 0...3_000, using: &random))
            default:
                let message = messages.randomElement(using: &random) ?? .ping
                collector.send(message, from: peer)
            }
            for (name, entry) in collector.link.sources {
                guard let holder = entry.holder else { continue }
                #expect(collector.link.connections[holder] != nil, "\(name), seed \(seed)")
            }
        }
    }
}
