/// All straight lines of the offset that are consistent with a set of readings: a convex polygon in the plane of offset
/// (nanoseconds) and skew (parts per 10⁹).
///
/// Floating point is accurate enough here: values are relative to a local origin, and the margin below exceeds any rounding
/// error.
struct FeasibleLines: Sendable {
    /// Every reading is widened by this: a clock's granularity, and far more than the accumulated rounding error.
    static let marginNanoseconds = 1.0

    /// A line: its offset at the reference, and its skew.
    struct Line: Sendable {
        var offset: Double
        var skew: Double

        /// The line's value this many seconds from the reference.
        func offset(after seconds: Double) -> Double { offset + skew * seconds }
    }

    /// The polygon's corners in order; empty when no line is possible.
    private(set) var corners: [Line]
    private var spare: [Line] = []

    /// All lines through this range of offsets with a skew of at most `skewLimit` in either direction.
    init(offsets: ClosedRange<Double>, skewLimit: Double) {
        let low = offsets.lowerBound - Self.marginNanoseconds
        let high = offsets.upperBound + Self.marginNanoseconds
        corners = [
            Line(offset: low, skew: -skewLimit), Line(offset: high, skew: -skewLimit),
            Line(offset: high, skew: skewLimit), Line(offset: low, skew: skewLimit),
        ]
        corners.reserveCapacity(16)
        spare.reserveCapacity(16)
    }

    var isEmpty: Bool { corners.isEmpty }

    /// Keeps the lines that are not above (or not below) `offset` at `seconds` from the reference.
    mutating func cut(_ side: OffsetEnvelope.Side, offset: Double, seconds: Double) {
        let sign = side == .above ? 1.0 : -1.0
        func excess(_ line: Line) -> Double {
            sign * (line.offset(after: seconds) - offset) - Self.marginNanoseconds
        }
        guard corners.contains(where: { excess($0) > 0 }) else { return }
        spare.removeAll(keepingCapacity: true)
        guard var previous = corners.last else { return }
        var before = excess(previous)
        for corner in corners {
            let after = excess(corner)
            if (before > 0) != (after > 0) {
                let share = before / (before - after)
                spare.append(
                    Line(
                        offset: previous.offset + (corner.offset - previous.offset) * share,
                        skew: previous.skew + (corner.skew - previous.skew) * share))
            }
            if after <= 0 { spare.append(corner) }
            previous = corner
            before = after
        }
        swap(&corners, &spare)
    }

    /// The polygon's centre of mass: the line with the least mean squared error if all lines in it are equally likely. Nil
    /// if it is empty.
    var centre: Line? {
        guard let first = corners.first else { return nil }
        var area = 0.0
        var offset = 0.0
        var skew = 0.0
        for index in corners.indices.dropFirst().dropLast() {
            let a = corners[index]
            let b = corners[index + 1]
            let twice =
                (a.offset - first.offset) * (b.skew - first.skew)
                - (b.offset - first.offset) * (a.skew - first.skew)
            area += twice
            offset += twice * (a.offset + b.offset - 2 * first.offset)
            skew += twice * (a.skew + b.skew - 2 * first.skew)
        }
        guard abs(area) > 1e-6 else { return first }
        return Line(
            offset: first.offset + offset / (3 * area), skew: first.skew + skew / (3 * area))
    }

    /// Maximum distance of any possible line from this one: in offset at the reference, and in skew.
    func furthest(from line: Line) -> (offset: Double, skew: Double) {
        corners.reduce((0, 0)) { furthest, corner in
            (
                max(furthest.0, abs(corner.offset - line.offset)),
                max(furthest.1, abs(corner.skew - line.skew))
            )
        }
    }

    /// Maximum distance of any possible line from this one, this many seconds from the reference.
    func furthest(from line: Line, after seconds: Double) -> Double {
        corners.reduce(0) { furthest, corner in
            max(furthest, abs(corner.offset(after: seconds) - line.offset(after: seconds)))
        }
    }
}
