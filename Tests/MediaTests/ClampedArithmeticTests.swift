import Media
import Testing

@Suite struct ClampedArithmeticTests {
    @Test func `sums and differences end at the type's limits`() {
        #expect(UInt64.max.clampedAdding(1) == .max)
        #expect(UInt64(1).clampedSubtracting(2) == 0)
        #expect(Int64.max.clampedAdding(1) == .max)
        #expect(Int64.min.clampedAdding(-1) == .min)
        #expect(Int64.min.clampedSubtracting(1) == .min)
        #expect(Int64.max.clampedSubtracting(-1) == .max)
        #expect([UInt64.max, 5].clampedSum == .max)
        #expect([UInt64(2), 5].clampedSum == 7)
    }
}
