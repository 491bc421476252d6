import Testing

@testable import Timing

@Suite("The envelope of offset readings")
struct OffsetEnvelopeTests {
    private func point(_ seconds: Int64, _ nanoseconds: Int64) -> OffsetEnvelope.Point {
        OffsetEnvelope.Point(
            agentNanoseconds: seconds * 1_000_000_000, offsetNanoseconds: nanoseconds)
    }

    @Test(arguments: [OffsetEnvelope.Side.above, .below])
    func `a slow message between fast ones is left out`(side: OffsetEnvelope.Side) {
        var envelope = OffsetEnvelope(side)
        let sign: Int64 = side == .above ? 1 : -1
        envelope.append(point(0, sign * 1_000))
        envelope.append(point(1, sign * 90_000))
        envelope.append(point(2, sign * 1_000))
        #expect(envelope.points.map(\.agentNanoseconds) == [0, 2_000_000_000])
    }

    @Test func `it holds 64 readings of 15 minutes at most`() {
        var random = SeededGenerator(seed: 3)
        var envelope = OffsetEnvelope(.above)
        for second in 0..<5_000 as Range<Int64> {
            envelope.append(point(second, Int64.random(in: 0..<3_000, using: &random)))
            #expect(envelope.points.count <= 64)
        }
        #expect(envelope.points.count > 16)
        #expect(envelope.points.last?.agentNanoseconds == 4_999_000_000_000)
        #expect((envelope.points.first?.agentNanoseconds ?? 0) >= 4_099_000_000_000)
    }
}

@Suite("The lines that readings leave possible")
struct FeasibleLinesTests {
    @Test func `the true line remains feasible after any possible readings`() throws {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<200 {
            let offset = (random.unit() * 2 - 1) * 1e6
            let skew = (random.unit() * 2 - 1) * 5e5
            var lines = FeasibleLines(offsets: (offset - 1e6)...(offset + 2e6), skewLimit: 5.5e5)
            for _ in 0..<100 {
                let seconds = -900 * random.unit()
                let truth = offset + skew * seconds
                lines.cut(.above, offset: truth + random.unit() * 1e5, seconds: seconds)
                lines.cut(.below, offset: truth - random.unit() * 1e5, seconds: seconds)
            }
            let centre = try #require(lines.centre)
            let reach = lines.furthest(from: centre)
            #expect(abs(centre.offset - offset) <= reach.offset)
            #expect(abs(centre.skew - skew) <= reach.skew)
            #expect(reach.offset < 2e5)
        }
    }

    @Test func `contradictory readings leave no line`() {
        var lines = FeasibleLines(offsets: -100...100, skewLimit: 10)
        lines.cut(.above, offset: -50, seconds: 0)
        #expect(!lines.isEmpty)
        lines.cut(.below, offset: -40, seconds: 0)
        #expect(lines.isEmpty)
        #expect(lines.centre == nil)
    }

    @Test func `the centre of a box is its middle`() throws {
        let lines = FeasibleLines(offsets: 100...300, skewLimit: 10)
        let centre = try #require(lines.centre)
        #expect(abs(centre.offset - 200) < 1e-9)
        #expect(abs(centre.skew) < 1e-9)
    }
}
