import Media
import Testing

@testable import Wire

struct `Credit` {
    private let batch = Fixtures.run(sizes: [4 << 20])

    @Test func `is small in the Welcome, and larger in the next Ack`() {
        var collector = CollectorHarness()
        collector.send(.hello(Fixtures.hello()))
        #expect(collector.takeState()?.creditLimitBytes == 2 << 20)
        collector.tick()
        #expect(collector.takeState()?.creditLimitBytes == 8 << 20)
    }

    @Test func `is shared among sources, and grows when some have ended`() {
        var collector = CollectorHarness()
        func hello(_ number: UInt8) -> Hello {
            var hello = Fixtures.hello()
            hello.sources[0].name = "camera\(number)"
            return hello
        }
        for number in 1...16 as ClosedRange<UInt8> {
            collector.send(.hello(hello(number)), from: number)
        }
        collector.tick()
        #expect(collector.takeState(of: 7)?.creditLimitBytes == 4 << 20)
        for number in 17...200 as ClosedRange<UInt8> {
            collector.send(.hello(hello(number)), from: number)
        }
        collector.tick()
        #expect(collector.takeState(of: 200)?.creditLimitBytes == 2 << 20)
        for number in 17...200 as ClosedRange<UInt8> {
            _ = collector.link.peerGone(
                CollectorHarness.peer(number), now: collector.now, durable: collector.durable)
        }
        collector.send(.hello(hello(17)), from: 17)
        #expect(collector.link.windowBytes == (64 << 20) / 17)
        // A second Hello over one connection is no second source.
        collector.send(.hello(hello(17)), from: 17)
        #expect(collector.link.windowBytes == (64 << 20) / 17)
    }

    private let whole = MediaAmount(sizeBytes: 4 << 20, samples: 1)

    @Test func `suffices for the largest record when no data is in flight`() {
        var collector = CollectorHarness()
        collector.send(.hello(Fixtures.hello()))
        collector.send(.samples(Fixtures.samples(first: 1, runs: [Fixtures.run(sizes: [1_000])])))
        func announced() -> UInt64? {
            collector.link.connections[CollectorHarness.peer(1)]?.accounts[0].announcedBytes
        }
        // Messages in flight will bring credit.
        collector.send(.heartbeat(Heartbeat()))
        #expect(announced() == 2 << 20)
        collector.link.released(MediaAmount(sizeBytes: 1_000, samples: 1), source: "camera1")
        collector.send(.heartbeat(Heartbeat()))
        #expect(announced() == 1_256 + (4 << 20) + 256)
    }

    @Test func `is not to be exceeded`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples(first: 1, runs: [batch])))
        #expect(collector.takeRefusal() == nil)
        // Two payloads fit in the window, but not with their records' cost.
        collector.send(.samples(Fixtures.samples(first: 2, runs: [batch])))
        #expect(collector.takeRefusal()?.reason == .limit)
    }

    @Test func `grows by the released bytes, and is sent with the next tick`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples(first: 1, runs: [batch])))
        collector.tick()
        #expect(collector.takeState() == nil)
        collector.link.released(whole, source: "camera1")
        collector.tick()
        #expect(collector.takeState()?.creditLimitBytes == (8 << 20) + (4 << 20) + 256)
    }

    @Test func `is sent between ticks if it has grown by a quarter of a window`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples(first: 1, runs: [batch])))
        collector.tick()
        collector.link.released(MediaAmount(sizeBytes: 2 << 20 - 512), source: "camera1")
        collector.perform(
            collector.link.returnCredit(now: collector.now, durable: collector.durable))
        #expect(collector.takeState() == nil)
        collector.link.released(MediaAmount(sizeBytes: 512, samples: 1), source: "camera1")
        collector.perform(
            collector.link.returnCredit(now: collector.now, durable: collector.durable))
        #expect(collector.takeState()?.creditLimitBytes == (8 << 20) + (2 << 20) + 256)
        collector.perform(
            collector.link.returnCredit(now: collector.now, durable: collector.durable))
        #expect(collector.takeState() == nil)
    }

    @Test func `is reduced for a new connection while its data waits for the disk`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples(first: 1, runs: [batch])))
        collector.send(.hello(Fixtures.hello()), from: 2)
        collector.tick()
        // A sample's memory cost is added to its bytes.
        #expect(
            collector.takeState(of: 2)?.creditLimitBytes
                == UInt64(4 << 20 - CollectorBudgets.sampleCostBytes))
        collector.link.released(whole, source: "camera1")
        collector.tick()
        #expect(collector.takeState(of: 2)?.creditLimitBytes == 8 << 20)
    }

    @Test func `is also used by records without payload`() {
        var collector = CollectorHarness.greeted()
        var refused = false
        for number in 1...40_000 as ClosedRange<UInt64> {
            collector.send(.gap(Fixtures.gap(number...number)))
            if collector.takeRefusal() != nil {
                refused = true
                #expect(number == (8 << 20) / 256 + 1)
                break
            }
        }
        #expect(refused)
    }

    @Test func `is not returned for gaps before they are durable`() {
        var collector = CollectorHarness.greeted()
        var number: UInt64 = 0
        var refusal: Refusal?
        while refusal == nil, number < 100_000 {
            number += 1
            collector.send(.gap(Fixtures.gap(number...number)))
            if number % 1_000 == 0 { collector.tick() }
            refusal = collector.takeRefusal()
        }
        // The initial credit, and no more.
        #expect(refusal?.reason == .limit)
        #expect(number <= (8 << 20) / 256 + 1)
        collector.persist("camera1", through: number)
        #expect(collector.link.sources["camera1"]?.heldBytes == 0)
    }

    @Test func `limits an agent that sends many tiny samples`() {
        var collector = CollectorHarness.greeted()
        var first: UInt64 = 1
        var refusal: Refusal?
        while refusal == nil, first < 4_000_000 {
            let run = Fixtures.run(sizes: [UInt32](repeating: 1, count: 4_096))
            collector.send(.samples(Fixtures.samples(first: first, runs: [run])))
            first += 4_096
            collector.tick()
            refusal = collector.takeRefusal()
        }
        #expect(refusal?.reason == .unknownConnection)
        let held = collector.link.sources["camera1"]?.heldBytes ?? 0
        #expect(held <= (48 << 20) + 4_096 * 200)
    }

    @Test func `is used by repeated records, and returned at once`() {
        var collector = CollectorHarness.greeted()
        collector.send(.samples(Fixtures.samples(first: 1, runs: [batch])))
        collector.link.released(whole, source: "camera1")
        collector.send(.hello(Fixtures.hello()), from: 2)
        collector.tick()
        _ = collector.takeSent(to: 2)
        collector.send(.samples(Fixtures.samples(first: 1, runs: [batch])), from: 2)
        collector.tick()
        #expect(collector.takeState(of: 2)?.creditLimitBytes == (8 << 20) + (4 << 20) + 256)
    }
}
