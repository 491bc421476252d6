import Testing

@testable import Wire

struct `A connection with a key` {
    private func right(_ patterns: String...) -> WritingRight {
        WritingRight(name: "box7", sources: patterns.compactMap(SourcePattern.init))
    }

    @Test func `may write the sources of the key`() {
        var collector = CollectorHarness()
        collector.send(
            .hello(Fixtures.hello(sources: ["camera1", "door-2"])),
            right: right("camera1", "door-*"))
        #expect(collector.takeRefusal() == nil)
        #expect(collector.link.connections.count == 1)
    }

    @Test func `may write previews of the key's sources, and no other ones`() {
        var collector = CollectorHarness()
        collector.send(
            .hello(Fixtures.hello(sources: ["camera1.preview"])), right: right("camera1"))
        #expect(collector.takeRefusal() == nil)
        for name in ["camera2.preview", "camera1.preview.preview", "camera1.other"] {
            #expect(!right("camera1").covers(name), "\(name)")
        }
        // The key of a preview is not valid for its source.
        #expect(!right("camera1.preview").covers("camera1"))
        #expect(right("camera1.preview").covers("camera1.preview"))
    }

    @Test func `is refused for a source of another key, at any agent name`() {
        var collector = CollectorHarness()
        collector.send(
            .hello(Fixtures.hello(agent: "camera2", sources: ["camera1", "camera2"])),
            right: right("camera1"))
        let refusal = collector.takeRefusal()
        #expect(refusal?.reason == .unauthorized)
        #expect(refusal?.text.contains("the key box7 may write camera1, not camera2") == true)
        #expect(collector.link.connections.isEmpty)
        #expect(collector.takeEvents().isEmpty)
        #expect(collector.dismissed == [CollectorHarness.peer(1)])
    }

    /// `--sources` replaces the list: a command with the new source only would remove the others.
    @Test func `is refused with the command that adds the source to those of the key`() {
        #expect(
            right("camera1", "door-*").flaw(in: ["yard", "hall.preview", "door-1"])?
                .hasSuffix(
                    "'tributary keys authorize box7 --sources \"camera1,door-*,yard,hall\"' permits it"
                )
                == true)
        #expect(
            right("camera1").flaw(in: ["yard"])?.contains("--sources camera1,yard'") == true)
        let many = WritingRight(
            name: "box7", sources: (0..<60).compactMap { SourcePattern("camera-\($0)") })
        let flaw = many.flaw(in: ["yard"])
        #expect(flaw?.utf8.count ?? .max <= WireLimits.textBytes)
        #expect(flaw?.contains("--sources LIST'") == true)
    }

    @Test func `cannot take a source from its holder by claiming it`() {
        var collector = CollectorHarness()
        collector.send(.hello(Fixtures.hello()), right: right("camera1"))
        collector.send(.hello(Fixtures.hello(spool: 2)), from: 2, right: right("camera2"))
        #expect(collector.takeRefusal(of: 2)?.reason == .unauthorized)
        // The holder is not pinged.
        let toHolder = collector.takeSent(to: 1)
        #expect(!toHolder.contains(.ping))
        #expect(collector.link.claims.isEmpty)
    }

    @Test func `loses its sources when the key does`() {
        var collector = CollectorHarness()
        collector.send(.hello(Fixtures.hello()), right: right("camera1"))
        _ = collector.takeEvents()
        let peer = CollectorHarness.peer(1)
        collector.perform(
            collector.link.rightChanged(
                of: peer, to: right("*"), else: "", now: collector.now, durable: collector.durable))
        #expect(collector.takeRefusal() == nil)
        collector.perform(
            collector.link.rightChanged(
                of: peer, to: right("camera2"), else: "", now: collector.now,
                durable: collector.durable))
        #expect(collector.takeRefusal()?.reason == .unauthorized)
        #expect(
            collector.takeEvents() == [.closed(source: "camera1", .refused(.unauthorized))])
    }

    @Test func `is refused with the reason when the key is not admitted any more`() {
        var collector = CollectorHarness()
        collector.send(.hello(Fixtures.hello()), right: right("camera1"))
        collector.perform(
            collector.link.rightChanged(
                of: CollectorHarness.peer(1), to: nil, else: "the key box7 is revoked",
                now: collector.now, durable: collector.durable))
        let refusal = collector.takeRefusal()
        #expect(refusal == Refusal(reason: .unauthorized, text: "the key box7 is revoked"))
        // A peer without a Hello is unaffected.
        collector.perform(
            collector.link.rightChanged(
                of: CollectorHarness.peer(2), to: nil, else: "revoked", now: collector.now,
                durable: collector.durable))
        #expect(collector.takeRefusal(of: 2) == nil)
    }

    @Test func `is also refused while it waits for a source's holder`() {
        var collector = CollectorHarness()
        collector.send(.hello(Fixtures.hello()), right: right("camera1"))
        collector.send(.hello(Fixtures.hello(spool: 2)), from: 2, right: right("camera1"))
        #expect(collector.link.claims.count == 1)
        collector.perform(
            collector.link.rightChanged(
                of: CollectorHarness.peer(2), to: nil, else: "revoked", now: collector.now,
                durable: collector.durable))
        #expect(collector.takeRefusal(of: 2)?.reason == .unauthorized)
        #expect(collector.link.claims.isEmpty)
    }

    @Test func `is dismissed even if refusals exceed their rate`() {
        var collector = CollectorHarness()
        for number in 0..<2_000 {
            collector.perform(
                collector.link.received(
                    IncomingMessage(
                        peer: PeerID([1, UInt8(number >> 8), UInt8(number & 255)]),
                        address: "10.0.0.9", header: [0xFF]), now: collector.now,
                    durable: collector.durable))
        }
        #expect(collector.sent.count < 2_000)
        #expect(collector.dismissed.count == 2_000)
    }
}
