import Media

/// The offset at one moment of an agent's clock, from all exchanges around it.
///
/// The clock's tangent at the moment is a line in the plane of offset and skew. Every reading, before or after,
/// excludes lines; it is widened by the possible change of the skew between the two moments (as in
/// ``ClockConstraints``, but in both directions). The bound is the most distant corner of the remaining polygon.
struct SmoothedMoment: Sendable {
    /// More distant readings are less informative than nearer ones.
    static let windowNanoseconds: Int64 = OffsetEnvelope.windowNanoseconds
    /// But the nearest readings on each side always count, up to this number: around an outage, there are no others.
    static let leastReadings = 32
    let agentNanoseconds: Int64
    let offsetNanoseconds: Int64
    /// The lowest and the highest possible offset, minus ``offsetNanoseconds``: `reach` nanoseconds before the moment, at it, and
    /// as many after it, linear in between.
    let before: ClosedRange<Double>
    let here: ClosedRange<Double>
    let after: ClosedRange<Double>

    /// - Parameter reach: distance of ``before`` and ``after`` from the moment, nanoseconds.
    init(
        _ stretch: ClockHistory.Stretch, at agentNanoseconds: Int64, reach: Int64
    ) {
        self.agentNanoseconds = agentNanoseconds
        var window = Self.windowNanoseconds
        var readings = Readings(stretch, around: agentNanoseconds, within: window)
        var possible = readings.lines(share: 1)
        // The clock was adjusted faster than assumed: nearer readings may still agree.
        while possible.isEmpty, window > reach {
            window /= 8
            readings = Readings(stretch, around: agentNanoseconds, within: window, least: 1)
            possible = readings.lines(share: 1)
        }
        if possible.isEmpty { possible = readings.box }
        var centre = possible.centre
        for share in ClockConstraints.calmness where share < 1 {
            if let calm = readings.lines(share: share).centre {
                centre = calm
                break
            }
        }
        let estimate = (centre?.offset ?? 0).rounded()
        offsetNanoseconds = readings.originNanoseconds.clampedAdding(
            Int64(exactly: estimate) ?? 0)
        func range(after seconds: Double) -> ClosedRange<Double> {
            let values = possible.corners.map { $0.offset(after: seconds) - estimate }
            return (values.min() ?? 0)...(values.max() ?? 0)
        }
        let seconds = Double(reach) * 1e-9
        before = range(after: -seconds)
        here = range(after: 0)
        after = range(after: seconds)
    }

    /// Maximum error of ``offsetNanoseconds``.
    var boundNanoseconds: Int64 {
        Int64(max(-here.lowerBound, here.upperBound).rounded(.up)).clampedAdding(2)
    }
}

/// The readings of a stretch that are relevant at one moment.
private struct Readings {
    /// Offsets are relative to this.
    let originNanoseconds: Int64
    private let above: [(seconds: Double, offset: Double)]
    private let below: [(seconds: Double, offset: Double)]

    init(
        _ stretch: ClockHistory.Stretch, around moment: Int64, within window: Int64,
        least: Int = SmoothedMoment.leastReadings
    ) {
        let high = Self.select(stretch.above, around: moment, within: window, least: least)
        let low = Self.select(stretch.below, around: moment, within: window, least: least)
        let nearest = high.min {
            distance(from: moment, to: $0.agentNanoseconds)
                < distance(from: moment, to: $1.agentNanoseconds)
        }
        let origin = nearest?.offsetNanoseconds ?? 0
        originNanoseconds = origin
        /// The nearest first: they exclude the most.
        func relative(_ points: ArraySlice<OffsetEnvelope.Point>) -> [(Double, Double)] {
            points.map { point in
                (
                    Double(point.agentNanoseconds.clampedSubtracting(moment)) * 1e-9,
                    Double(point.offsetNanoseconds.clampedSubtracting(origin))
                )
            }.sorted { abs($0.0) < abs($1.0) }
        }
        above = relative(high)
        below = relative(low)
    }

    private static func select(
        _ points: [OffsetEnvelope.Point], around moment: Int64, within window: Int64, least: Int
    ) -> ArraySlice<OffsetEnvelope.Point> {
        let middle = firstIndex(in: points, at: moment)
        let from = firstIndex(in: points, at: moment.clampedSubtracting(window))
        let to = firstIndex(in: points, at: moment.clampedAdding(window))
        let lower = max(0, min(from, middle - least))
        return points[lower..<min(points.count, max(to, middle + least))]
    }

    /// The index of the first point at or after a moment.
    private static func firstIndex(in points: [OffsetEnvelope.Point], at moment: Int64) -> Int {
        var low = 0
        var high = points.count
        while low < high {
            let middle = (low + high) / 2
            if points[middle].agentNanoseconds < moment {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// The lines within the skew limit alone.
    var box: FeasibleLines {
        let limit = Double(ClockLimits.skewPPB)
        let high = above.reduce(Double.infinity) { min($0, $1.offset + limit * abs($1.seconds)) }
        let low = below.reduce(-Double.infinity) { max($0, $1.offset - limit * abs($1.seconds)) }
        return FeasibleLines(
            offsets: min(low, high)...max(low, high), skewLimit: Double(ClockLimits.skewPPB))
    }

    /// The lines that no reading excludes when the skew changes by this share of the limits.
    func lines(share: Double) -> FeasibleLines {
        var lines = box
        for (side, points) in [(OffsetEnvelope.Side.above, above), (.below, below)] {
            for point in points {
                let slack = ClockConstraints.slack(point.seconds, share: share)
                lines.cut(
                    side, offset: side == .above ? point.offset + slack : point.offset - slack,
                    seconds: point.seconds)
                if lines.isEmpty { return lines }
            }
        }
        return lines
    }
}
