/// Converts the clock that a source's pictures are coded with to the reference clock of the comparison.
package struct ReferenceClock: Hashable, Sendable {
    /// One, in parts per billion.
    private static let whole: Int128 = 1_000_000_000
    /// Maximum plausible skew, parts per billion: 10 %.
    package static let maximumSkewPPB: Int64 = 100_000_000

    /// The reference's time at zero of the source's clock, nanoseconds.
    package let offsetNanoseconds: Int64
    /// Skew of the source's clock against the reference, parts per billion; positive: faster.
    package let skewPPB: Int64

    /// - Precondition: the skew is at most ``maximumSkewPPB`` either way.
    package init(offsetNanoseconds: Int64, skewPPB: Int64 = 0) {
        precondition(skewPPB.magnitude <= Self.maximumSkewPPB.magnitude, "no clock runs like that")
        self.offsetNanoseconds = offsetNanoseconds
        self.skewPPB = skewPPB
    }

    /// The source's own clock is the reference.
    package static let itself = ReferenceClock(offsetNanoseconds: 0)

    /// The reference's time at `coded` of the source's clock, nanoseconds; exact.
    package func nanoseconds(at coded: Int64) -> Int64 {
        let divisor = Self.whole + Int128(skewPPB)
        let product = Int128(coded) * Self.whole
        let half = product < 0 ? -divisor / 2 : divisor / 2
        return Int64(clamping: (product + half) / divisor + Int128(offsetNanoseconds))
    }
}
