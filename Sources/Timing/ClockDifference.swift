import Media

/// The difference of two clocks over time, when all exchanges between them are known: those in which the first one asks, and
/// those in which the second one asks. A reader of two collectors' archives computes with it.
///
/// Each direction alone gives a range that contains the difference at every moment, for any delays
/// (``RetroTimeline``). Both ranges contain it, so their intersection does.
package struct ClockDifference: Sendable {
    /// From exchanges that the first clock starts: offsets (second − first) at moments of the first clock.
    private var forth: RetroTimeline?
    /// The second clock asks: offsets first − second, at moments of the second.
    private var back: RetroTimeline?
    /// A moment of the second clock, from which ``back`` is entered.
    private var backMoment: Int64 = 0
    /// The first clock at the first and the last exchange.
    package private(set) var extent: ClosedRange<Int64>

    /// Rounds of ``backEstimate(at:)``: each divides the remaining distance by two thousand (``ClockLimits/skewPPB``).
    private static let rounds = 5

    /// Nil: no exchange is accepted.
    /// - Parameters:
    ///   - forth: those in which the first clock asks.
    ///   - back: those in which the second clock asks.
    package init?(forth: some Sequence<ClockExchange>, back: some Sequence<ClockExchange>) {
        let (first, second) = (ClockHistory(forth), ClockHistory(back))
        self.forth = first.map { RetroTimeline(sessionZeroNanoseconds: 0, history: $0) }
        self.back = second.map { RetroTimeline(sessionZeroNanoseconds: 0, history: $0) }
        var extents = first.map { [$0.extent] } ?? []
        if var back = self.back, let second {
            backMoment = Self.limited(second.extent.lowerBound)
            let ends = [second.extent.lowerBound, second.extent.upperBound].map {
                $0.clampedAdding(back.estimate(at: $0).offsetNanoseconds)
            }
            extents.append(min(ends[0], ends[1])...max(ends[0], ends[1]))
            self.back = back
        }
        guard let from = extents.map(\.lowerBound).min(),
            let to = extents.map(\.upperBound).max()
        else { return nil }
        extent = from...to
    }

    /// The difference second − first at a moment of the first clock, and its maximum error under ``ClockLimits``.
    package mutating func estimate(at moment: Int64) -> RetroTimeline.Estimate {
        let moment = Self.limited(moment)
        let own = forth?.estimate(at: moment)
        guard let other = backEstimate(at: moment) else {
            return own ?? RetroTimeline.Estimate(offsetNanoseconds: 0, boundNanoseconds: .max)
        }
        guard let own else { return other }
        let low = max(own.lowest, other.lowest)
        let high = min(own.highest, other.highest)
        guard low <= high else {
            // One of the ranges is about a clock that has jumped, or that does not keep the limits.
            let better = own.boundNanoseconds <= other.boundNanoseconds ? own : other
            return RetroTimeline.Estimate(
                offsetNanoseconds: better.offsetNanoseconds,
                boundNanoseconds: max(own.boundNanoseconds, other.boundNanoseconds).clampedAdding(
                    distance(from: own.offsetNanoseconds, to: other.offsetNanoseconds)))
        }
        let width = high.clampedSubtracting(low)
        return RetroTimeline.Estimate(
            offsetNanoseconds: low.clampedAdding(width / 2),
            boundNanoseconds: (width / 2).clampedAdding(1))
    }

    /// A moment within 146 years of a clock's zero, so that the ones around it fit in 64 bits.
    private static func limited(_ moment: Int64) -> Int64 {
        max(
            -2 * ClockLimits.timestampNanoseconds, min(2 * ClockLimits.timestampNanoseconds, moment)
        )
    }

    /// Estimates the difference from the exchanges that the second clock starts; nil if there are none.
    private mutating func backEstimate(at moment: Int64) -> RetroTimeline.Estimate? {
        guard var back else { return nil }
        defer { self.back = back }
        var second = backMoment
        var estimate = back.estimate(at: second)
        for _ in 0..<Self.rounds {
            second = Self.limited(moment.clampedSubtracting(estimate.offsetNanoseconds))
            estimate = back.estimate(at: second)
        }
        // The moment of the second clock has the same error, over which the difference changes by half a thousandth.
        let bound = estimate.boundNanoseconds
        return RetroTimeline.Estimate(
            offsetNanoseconds: second.clampedSubtracting(moment),
            boundNanoseconds: bound.clampedAdding(bound / 1_000).clampedAdding(2))
    }

    /// Maximum distance of linear interpolation between two moments from the true difference, in addition to the bounds at both:
    /// between them the skew may change within its limits.
    package static func interpolationSlack(over nanoseconds: Int64) -> Int64 {
        let change = ClockLimits.skewStepPPB.clampedAdding(
            drift(over: nanoseconds, ppb: ClockLimits.wanderPPBPerSecond))
        return (drift(over: nanoseconds, ppb: change) / 4).clampedAdding(2)
    }
}

extension RetroTimeline.Estimate {
    fileprivate var lowest: Int64 { offsetNanoseconds.clampedSubtracting(boundNanoseconds) }
    fileprivate var highest: Int64 { offsetNanoseconds.clampedAdding(boundNanoseconds) }
}
