import Media

/// Where moments of one epoch of an agent's clock belong, computed when all exchanges are known.
///
/// The offset is known at whole multiples of ``spacingNanoseconds`` of the agent's clock (``SmoothedMoment``) and a straight line
/// between two of them; so neighbouring files, which share the moment between them, agree. The bound is explicit: at every moment
/// the truth is within it, under ``ClockLimits``. Nothing is slewed, because nothing has been promised to anybody before.
package struct RetroTimeline: Sendable {
    /// From one computed moment to the next: a clock at its limits leaves a line of this length by less than the bound grows
    /// anyway.
    package static let spacingNanoseconds: Int64 = 1_000_000_000

    /// The session's zero, nanoseconds of the collector's clock.
    package let sessionZeroNanoseconds: Int64
    private let history: ClockHistory
    /// Moments that have been computed, by multiple of the spacing and by stretch.
    private var moments: [Place: SmoothedMoment] = [:]

    private struct Place: Hashable {
        var multiple: Int64
        var stretch: Int
    }

    /// Moments kept: an hour. What is asked goes along with time.
    private static let maximumMoments = 4_096

    package init(sessionZeroNanoseconds: Int64, history: ClockHistory) {
        self.sessionZeroNanoseconds = sessionZeroNanoseconds
        self.history = history
    }

    /// An offset, and how wrong it may be.
    package struct Estimate: Hashable, Sendable {
        /// Collector − agent.
        package var offsetNanoseconds: Int64
        package var boundNanoseconds: Int64
    }

    /// The offset at a moment of the agent's clock. Costs some ten microseconds when no moment near it was asked before.
    package mutating func estimate(at agentNanoseconds: Int64) -> Estimate {
        let stretch = history.stretch(at: agentNanoseconds)
        var estimate = estimate(at: agentNanoseconds, stretch)
        if history.isBetweenStretches(agentNanoseconds) {
            // The jump may have happened already.
            let other = self.estimate(at: agentNanoseconds, stretch + 1)
            let apart = distance(from: estimate.offsetNanoseconds, to: other.offsetNanoseconds)
            estimate.boundNanoseconds = max(
                estimate.boundNanoseconds, other.boundNanoseconds.clampedAdding(apart))
        }
        return estimate
    }

    /// A moment of the agent's clock on the session's timeline.
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

    /// How far possible lines are from the estimate, `share` of the way between two moments; the furthest of lines is convex
    /// between two places, so that a straight line between its values there is never below it.
    private static func bound(
        from: ClosedRange<Double>, to: ClosedRange<Double>, share: Double, less rise: Double,
        seconds: Double
    ) -> Double {
        let high = from.upperBound + (to.upperBound - from.upperBound) * share - rise
        let low = from.lowerBound + (to.lowerBound - from.lowerBound) * share - rise
        return max(high, -low) + Knowledge.slack(seconds, share: 1)
    }

    private mutating func moment(_ multiple: Int64, _ stretch: Int) -> SmoothedMoment {
        let place = Place(multiple: multiple, stretch: stretch)
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
