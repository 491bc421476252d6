import Media
import Testing

@Suite struct RescalingTests {
    /// The definition, in arithmetic that cannot overflow.
    private func reference(
        _ value: Int64, _ from: Timescale, _ to: Timescale, _ rounding: Rounding
    ) -> Int64? {
        let divisor = Int128(from.ticksPerSecond)
        var (quotient, remainder) = (Int128(value) * Int128(to.ticksPerSecond))
            .quotientAndRemainder(dividingBy: divisor)
        switch rounding {
        case .nearest:
            if 2 * remainder.magnitude >= divisor.magnitude { quotient += value < 0 ? -1 : 1 }
        case .down: if remainder < 0 { quotient -= 1 }
        case .up: if remainder > 0 { quotient += 1 }
        }
        remainder = 0
        return Int64(exactly: quotient)
    }

    @Test(arguments: [Rounding.nearest, .down, .up])
    func `every value equals exact arithmetic`(rounding: Rounding) {
        var generator = SystemRandomNumberGenerator()
        let scales: [UInt32] = [1, 2, 3, 1_000, 44_100, 48_000, 90_000, 1_000_000_000, .max]
        for _ in 0..<20_000 {
            let bits = Int64.random(in: 0..<63, using: &generator)
            let value = Int64.random(in: .min ... .max, using: &generator) >> bits
            let from = Timescale(scales.randomElement(using: &generator) ?? 1)
            let to = Timescale(scales.randomElement(using: &generator) ?? 1)
            let expected = reference(value, from, to, rounding)
            let result = try? rescale(value, from: from, to: to, rounding: rounding)
            #expect(result == expected, "\(value) from \(from) to \(to)")
        }
    }

    @Test func `a half is rounded away from zero`() throws {
        let half = Timescale(2)
        #expect(try rescale(1, from: half, to: Timescale(1)) == 1)
        #expect(try rescale(-1, from: half, to: Timescale(1)) == -1)
        #expect(try rescale(-1, from: half, to: Timescale(1), rounding: .down) == -1)
        #expect(try rescale(-1, from: half, to: Timescale(1), rounding: .up) == 0)
    }

    @Test func `a value out of range is an error, not a trap`() {
        #expect(throws: RescaleOverflow.self) {
            try rescale(.max, from: Timescale(1), to: .nanoseconds)
        }
        #expect(throws: RescaleOverflow.self) {
            try rescale(.min, from: Timescale(1), to: .video)
        }
    }
}
