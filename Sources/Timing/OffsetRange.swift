import Media

/// The certain range of the offset, by the skew limit alone: every exchange gives a range, and a range grows by the limit over
/// time.
struct OffsetRange: Hashable, Sendable {
    /// Agent's clock at which the range applies.
    private(set) var agentNanoseconds: Int64
    private(set) var lowestNanoseconds: Int64
    private(set) var highestNanoseconds: Int64

    /// The range at the end of a single exchange.
    init(_ exchange: ClockExchange) {
        let elapsed = exchange.t4Nanoseconds - exchange.t1Nanoseconds
        agentNanoseconds = exchange.t4Nanoseconds
        lowestNanoseconds = exchange.lowestOffsetNanoseconds
        highestNanoseconds = exchange.highestOffsetNanoseconds.clampedAdding(
            Self.growth(over: elapsed))
    }

    var middleNanoseconds: Int64 {
        lowestNanoseconds + (highestNanoseconds - lowestNanoseconds) / 2
    }

    /// The intersection of both, at the time of `newer`; nil when they contradict each other.
    func intersected(with newer: OffsetRange) -> OffsetRange? {
        let growth = Self.growth(
            over: distance(from: agentNanoseconds, to: newer.agentNanoseconds))
        var both = newer
        both.lowestNanoseconds = max(
            newer.lowestNanoseconds, lowestNanoseconds.clampedSubtracting(growth))
        both.highestNanoseconds = min(
            newer.highestNanoseconds, highestNanoseconds.clampedAdding(growth))
        return both.lowestNanoseconds <= both.highestNanoseconds ? both : nil
    }

    /// Maximum change of the offset in an interval: the maximum drift, and 2 ns for the granularity of the clocks.
    private static func growth(over nanoseconds: Int64) -> Int64 {
        drift(over: nanoseconds, ppb: ClockLimits.skewPPB) + 2
    }
}
