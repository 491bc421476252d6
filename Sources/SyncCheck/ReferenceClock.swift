/// How the clock that a source's pictures are coded with is turned into the one that sources are compared on.
package struct ReferenceClock: Hashable, Sendable {
    /// Billionths.
    private static let whole: Int128 = 1_000_000_000
    /// The most that clocks are believed to run apart, parts per billion: 10 %.
    package static let maximumSkewPPB: Int64 = 100_000_000

    /// What the reference shows when the source's clock shows zero, nanoseconds.
    package let offsetNanoseconds: Int64
    /// How much faster the source's clock runs than the reference, parts per billion.
    package let skewPPB: Int64

    /// - Precondition: the skew is at most ``maximumSkewPPB`` either way.
    package init(offsetNanoseconds: Int64, skewPPB: Int64 = 0) {
        precondition(skewPPB.magnitude <= Self.maximumSkewPPB.magnitude, "no clock runs like that")
        self.offsetNanoseconds = offsetNanoseconds
        self.skewPPB = skewPPB
    }

    /// The source's own clock is the reference.
    package static let itself = ReferenceClock(offsetNanoseconds: 0)

    /// What the reference shows when the source's clock shows `coded`, nanoseconds; exact to the nanosecond.
    package func nanoseconds(at coded: Int64) -> Int64 {
        let divisor = Self.whole + Int128(skewPPB)
        let product = Int128(coded) * Self.whole
        let half = product < 0 ? -divisor / 2 : divisor / 2
        return Int64(clamping: (product + half) / divisor + Int128(offsetNanoseconds))
    }
}
