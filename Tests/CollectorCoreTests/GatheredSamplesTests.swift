import Archive
import Messaging
import Media
import Testing
import Wire

@testable import CollectorCore

/// Records sent together are recorded as if each had arrived alone.
@Suite struct GatheredSamplesTests {
    private static let batch: Int64 = 100_000_000

    /// Records a camera for twelve seconds.
    /// - Parameters:
    ///   - batchTicks: how many ticks apart received records are processed.
    ///   - arrival: the arrival time of a record that is complete at a given time.
    /// - Returns: the sequences of each fragment's records.
    private func record(every batchTicks: Int = 0, arrival: (Int64) -> Int64) -> [[UInt64]] {
        var harness = SessionHarness(
            idleFragmentNanoseconds: CollectorLoop.idleFragmentNanoseconds)
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        var now: Int64 = 0
        var queued: [(samples: Samples, arrived: Int64)] = []
        func process() {
            for (samples, arrived) in queued {
                harness.apply(
                    harness.recorder.samples(
                        samples, payload: TestPayload(count: 10), of: "camera",
                        at: SessionHarness.instant(arrived)))
            }
            queued.removeAll()
        }
        var ticks = 0
        for index in 0..<120 as Range<Int64> {
            let arrives = arrival((index + 1) * Self.batch)
            // The receiving thread's ticks until then.
            while now + Self.batch <= arrives {
                now += Self.batch
                ticks += 1
                if batchTicks > 0, ticks % batchTicks == 0 { process() }
                harness.tick(now, heardUntil: queued.first?.arrived)
            }
            queued.append(
                (camera.picture(at: index * Self.batch, isKeyframe: index % 40 == 0), arrives))
            if batchTicks == 0 || now < 2_000_000_000 { process() }
        }
        process()
        harness.goodbye(&camera, at: 20_000_000_000)
        return harness.fragments("camera").map { $0.pieces.flatMap(\.runs).map(\.firstSequence) }
    }

    @Test func `a fragment does not depend on when its last record arrives`() {
        let prompt = record { $0 }
        #expect(prompt.count >= 6 && prompt.joined().elementsEqual(1...120))
        // Every half second, from when the session has begun.
        let gathered = record { complete in
            complete < 1_000_000_000
                ? complete : (complete + 499_999_999) / 500_000_000 * 500_000_000
        }
        #expect(gathered == prompt)
        // The worst case: a fragment's first record is sent immediately, after many bytes, and the record that ends it
        // half a second and the network's delay later.
        let worst = record { complete in
            switch complete {
            case 2_200_000_000...3_000_000_000: complete + 50_000_000
            case 3_100_000_000...3_600_000_000: 3_630_000_000
            default: complete
            }
        }
        #expect(worst == prompt)
    }

    /// A batch is due after 450 ms and a tick; a machine that is busy may take longer.
    @Test(arguments: [6, 25])
    func `a fragment does not depend on when its records are processed`(ticks: Int) {
        let prompt = record { $0 }
        for shift in 0..<6 as Range<Int64> {
            let waiting = record(every: ticks) { complete in
                complete < 1_000_000_000
                    ? complete
                    : (complete + 499_999_999) / 500_000_000 * 500_000_000 + shift * 70_000_000
            }
            #expect(waiting == prompt, "\(shift)")
        }
    }

    /// A message as a ROUTER delivers it.
    private func received(_ parts: [[UInt8]]) throws -> ReceivedMessage {
        let context = try Context()
        let router = try Socket(.router, in: context)
        let dealer = try Socket(.dealer, in: context)
        try router.bind("inproc://records")
        try dealer.connect("inproc://records")
        _ = try dealer.send(parts.map { OutgoingPart.bytes($0) })
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if let message = try router.receive(
                maximumParts: 1 + 2 * WireLimits.recordsPerMessage)
            {
                return message
            }
        }
        throw MessagingError.notASocket(endpoint: "no message came")
    }

    private var header: [UInt8] {
        WireMessage.samples(
            Samples(
                source: 0, firstSequence: 1, epoch: 1,
                payloadDigest: [UInt8](repeating: 0, count: 32),
                runs: [
                    SampleRun(
                        track: .video, sizes: [3], dtsNanoseconds: [0], ptsOffsetsNanoseconds: [],
                        durationsNanoseconds: [1], flags: [.keyframe])
                ])
        ).encoded()
    }

    @Test func `a message of several records is headers of samples, each with its payload`() throws
    {
        let payload: [UInt8] = [1, 2, 3]
        #expect(try received([header, payload, header, payload]).hasSeveralRecords)
        let most = Array(repeating: [header, payload], count: WireLimits.recordsPerMessage)
        #expect(try received(most.flatMap(\.self)).hasSeveralRecords)
        // One record is an ordinary message.
        #expect(try !received([header, payload]).hasSeveralRecords)
        #expect(try !received([header]).hasSeveralRecords)
    }

    @Test func `other messages with several parts do not have several records`() throws {
        let payload: [UInt8] = [1, 2, 3]
        let heartbeat = WireMessage.heartbeat(Heartbeat()).encoded()
        let probe = WireMessage.clockProbe(ClockProbe(t1: 1)).encoded()
        for parts in [
            [header, payload, header], [header, payload, heartbeat, payload],
            [heartbeat, payload, header, payload], [probe, payload, probe, payload],
            [header, payload, [], payload],
            Array(repeating: [header, payload], count: WireLimits.recordsPerMessage + 1)
                .flatMap(\.self),
        ] {
            #expect(try !received(parts).hasSeveralRecords, "\(parts.count)")
        }
    }
}
