import Media

/// Where the offset is for certain, by the skew limit alone: every exchange gives a range, and a range grows by
/// the limit as time goes on.
struct OffsetRange: Hashable, Sendable {
    /// Agent's clock where the range holds.
    private(set) var agentNanoseconds: Int64
    private(set) var lowestNanoseconds: Int64
    private(set) var highestNanoseconds: Int64

    /// The range that an exchange by itself leaves at its end.
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

    /// What both leave possible, where `newer` holds; nil when they contradict each other.
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

    /// The most by which the offset may have changed; two nanoseconds are the clocks' granularity.
    private static func growth(over nanoseconds: Int64) -> Int64 {
        drift(over: nanoseconds, ppb: ClockLimits.skewPPB) + 2
    }
}
