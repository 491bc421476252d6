import Media
import Testing

@testable import Wire

/// A feed's messages on the wire, and arbitrary bytes.
@Suite struct FeedCodingTests {
    private static let samples = FeedSamples(
        session: "2026-11-20T22-40-00.000Z", zeroUTCNanoseconds: 1_790_000_000_000_000_000,
        source: "stage", number: 7, formats: [Fixtures.video, Fixtures.audio],
        boundNanoseconds: 250_000, arrivedNanoseconds: 83_000_000_000,
        runs: [
            FeedSamples.Run(
                track: .video, firstSequence: 11,
                samples: [
                    .init(sizeBytes: 90, dts: -3, pts: 6_000, duration: 3_000, flags: .keyframe),
                    .init(sizeBytes: 7, dts: 2_997, pts: 3_000, duration: 3_001, flags: []),
                ]),
            FeedSamples.Run(
                track: .audio, firstSequence: 13,
                samples: [
                    .init(sizeBytes: 4, dts: 96_000, pts: 96_000, duration: 1_024, flags: .priming)
                ]),
        ])

    @Test(
        arguments: [
            .samples(samples), .status(Array("{}".utf8)), .event([7]), .unknown,
        ] as [FeedMessage])
    func `a message is the same after encoding and decoding`(message: FeedMessage) throws {
        #expect(try FeedMessage(decoding: message.encoded()) == message)
    }

    @Test func `invalid feed messages are refused, and no bytes trap`() throws {
        #expect(throws: WireError.self) { try FeedMessage(decoding: []) }
        #expect(throws: WireError.self) { try FeedMessage(decoding: [1, 2, 3]) }
        func refused(_ change: (inout FeedSamples) -> Void) -> Bool {
            var samples = Self.samples
            change(&samples)
            do {
                _ = try FeedMessage(decoding: FeedMessage.samples(samples).encoded())
                return false
            } catch {
                return true
            }
        }
        #expect(!refused { _ in })
        #expect(refused { $0.source = "../etc" })
        #expect(refused { $0.session = "" })
        #expect(refused { $0.formats = [] })
        #expect(refused { $0.formats = [Fixtures.video, Fixtures.video] })
        #expect(refused { $0.formats = [Fixtures.video] })
        #expect(refused { $0.runs = [] })
        #expect(refused { $0.runs[1].track = .video })
        #expect(refused { $0.runs[0].samples[0].dts = .max })
        #expect(refused { $0.runs[0].samples[1].pts = .min })
        #expect(refused { $0.runs[0].samples[0].sizeBytes = 0 })
        #expect(refused { $0.runs[0].samples[0].sizeBytes = .max })
        #expect(refused { $0.runs[0].samples[0].duration = .max })
        // Flipped bits give an error or a message, never a trap.
        let bytes = FeedMessage.samples(Self.samples).encoded()
        for index in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[index] ^= 1 << bit
                _ = try? FeedMessage(decoding: damaged)
            }
            _ = try? FeedMessage(decoding: Array(bytes.prefix(index)))
        }
    }
}
