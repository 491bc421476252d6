import Media

/// Maps moments of one epoch of an agent's clock, computed when all exchanges are known.
///
/// The offset is computed at whole multiples of ``spacingNanoseconds`` of the agent's clock (``SmoothedMoment``) and interpolated
/// linearly in between; so consecutive files, which share the moment between them, agree. The bound is explicit: at every moment
/// the true offset is within it, under ``ClockLimits``. Nothing is slewed, because no earlier output has to be continued.
package struct RetroTimeline: Sendable {
    /// Distance of computed moments: over this length, a clock at its limits deviates from a straight line by less than the bound
    /// grows in any case.
    package static let spacingNanoseconds: Int64 = 1_000_000_000

    /// The session's zero, nanoseconds of the collector's clock.
    package let sessionZeroNanoseconds: Int64
    private let history: ClockHistory
    /// Maximum common error of all offsets.
    private let commonErrorNanoseconds: Int64
    /// Computed moments, by multiple of the spacing and by stretch.
    private var moments: [MomentKey: SmoothedMoment] = [:]

    private struct MomentKey: Hashable {
        var multiple: Int64
        var stretch: Int
    }

    /// Maximum number of cached moments: an hour. Requests are in the order of time.
    private static let maximumMoments = 4_096

    /// - Parameter commonErrorNanoseconds: maximum common error of all offsets of the history.
    package init(
        sessionZeroNanoseconds: Int64, history: ClockHistory, commonErrorNanoseconds: Int64 = 0
    ) {
        self.sessionZeroNanoseconds = sessionZeroNanoseconds
        self.history = history
        self.commonErrorNanoseconds = commonErrorNanoseconds
    }

    /// An offset and its maximum error.
    package struct Estimate: Hashable, Sendable {
        /// Collector − agent.
        package var offsetNanoseconds: Int64
        package var boundNanoseconds: Int64

        package init(offsetNanoseconds: Int64, boundNanoseconds: Int64) {
            self.offsetNanoseconds = offsetNanoseconds
            self.boundNanoseconds = boundNanoseconds
        }
    }

    /// The offset at a moment of the agent's clock. Costs some ten microseconds if no moment near it was requested
    /// before.
    package mutating func estimate(at agentNanoseconds: Int64) -> Estimate {
        let stretch = history.stretch(at: agentNanoseconds)
        var estimate = estimate(at: agentNanoseconds, stretch)
        if history.isBetweenStretches(agentNanoseconds) {
            // The jump may already have occurred.
            let other = self.estimate(at: agentNanoseconds, stretch + 1)
            let apart = distance(from: estimate.offsetNanoseconds, to: other.offsetNanoseconds)
            estimate.boundNanoseconds = max(
                estimate.boundNanoseconds, other.boundNanoseconds.clampedAdding(apart))
        }
        estimate.boundNanoseconds.addClamped(commonErrorNanoseconds)
        return estimate
    }

    /// Maps a moment of the agent's clock to the session's timeline.
    package mutating func sessionNanoseconds(at agentNanoseconds: Int64) -> Int64 {
        agentNanoseconds.clampedAdding(estimate(at: agentNanoseconds).offsetNanoseconds)
            .clampedSubtracting(sessionZeroNanoseconds)
    }

    private mutating func estimate(at agentNanoseconds: Int64, _ stretch: Int) -> Estimate {
        let spacing = Self.spacingNanoseconds
        let multiple = (agentNanoseconds - modulo(agentNanoseconds, spacing)) / spacing
        let first = moment(multiple, stretch)
        let second = moment(multiple + 1, stretch)
        let elapsed = modulo(agentNanoseconds, spacing)
        let share = Double(elapsed) / Double(spacing)
        let difference = Double(
            second.offsetNanoseconds.clampedSubtracting(first.offsetNanoseconds))
        let rise = (difference * share).rounded()
        let bound: Double
        if elapsed <= spacing / 2 {
            bound = Self.bound(
                from: first.here, to: first.after, share: share, less: rise,
                seconds: Double(elapsed) * 1e-9)
        } else {
            bound = Self.bound(
                from: second.here, to: second.before, share: 1 - share, less: rise - difference,
                seconds: Double(spacing - elapsed) * 1e-9)
        }
        return Estimate(
            offsetNanoseconds: first.offsetNanoseconds.clampedAdding(Int64(rise)),
            boundNanoseconds: (Int64(exactly: bound.rounded(.up)) ?? .max).clampedAdding(2))
    }

    /// Maximum distance of possible lines from the estimate, `share` of the way between two moments. The maximum
    /// distance is convex between two moments, so that linear interpolation is never below it.
    private static func bound(
        from: ClosedRange<Double>, to: ClosedRange<Double>, share: Double, less rise: Double,
        seconds: Double
    ) -> Double {
        let high = from.upperBound + (to.upperBound - from.upperBound) * share - rise
        let low = from.lowerBound + (to.lowerBound - from.lowerBound) * share - rise
        return max(high, -low) + ClockConstraints.slack(seconds, share: 1)
    }

    private mutating func moment(_ multiple: Int64, _ stretch: Int) -> SmoothedMoment {
        let place = MomentKey(multiple: multiple, stretch: stretch)
        if let known = moments[place] { return known }
        if moments.count >= Self.maximumMoments { moments.removeAll(keepingCapacity: true) }
        let (at, overflow) = multiple.multipliedReportingOverflow(by: Self.spacingNanoseconds)
        let moment = SmoothedMoment(
            history.stretches[stretch], at: overflow ? .max : at,
            reach: Self.spacingNanoseconds)
        moments[place] = moment
        return moment
    }

    private func modulo(_ value: Int64, _ divisor: Int64) -> Int64 {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
