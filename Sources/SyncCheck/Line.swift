/// A least-squares line through points: a deviation in nanoseconds over an instant.
struct Line: Hashable, Sendable {
    /// A weighted point.
    struct Point {
        var instant: Int64
        var deviation: Int64
        var weight = 1.0
    }

    /// The instant of ``offset``.
    private let instant: Int64
    private let base: Int64
    /// Nanoseconds above ``base`` at ``instant``.
    private let offset: Double
    /// Growth of the deviation, as a ratio.
    let slope: Double

    var driftPPM: Double { slope * 1e6 }

    /// - Precondition: there is a point.
    ///
    /// Sums are relative to the middle, so that a Double holds days to the nanosecond.
    init(_ points: [Point]) {
        guard let first = points.first else { preconditionFailure("a line needs a point") }
        var weight = 0.0
        var instants = 0.0
        var deviations = 0.0
        for point in points {
            weight += point.weight
            instants += point.weight * Double(point.instant - first.instant)
            deviations += point.weight * Double(point.deviation - first.deviation)
        }
        let instant = first.instant + Int64((instants / weight).rounded())
        let middle = deviations / weight
        var square = 0.0
        var product = 0.0
        for point in points {
            let x = Double(point.instant - instant)
            square += point.weight * x * x
            product += point.weight * x * (Double(point.deviation - first.deviation) - middle)
        }
        self.instant = instant
        base = first.deviation
        offset = middle
        slope = square > 0 ? product / square : 0
    }

    /// The line's deviation at an instant, nanoseconds.
    func deviation(at instant: Int64) -> Int64 {
        base + Int64((offset + slope * Double(instant - self.instant)).rounded())
    }
}
