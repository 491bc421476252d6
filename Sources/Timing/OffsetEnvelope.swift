import Media

/// Limits of the offset in one direction from exchanges: upper limits (from probes) or lower limits (from replies) at given
/// times, thinned to the readings that are still relevant.
///
/// The quickest messages are on the envelope of all readings: this is the minimum-delay filter (RFC 5905 §10), applied to each
/// direction separately. The envelope is a convex hull. It is curved by the maximum wander of a clock, so that a quick message is
/// relevant for its neighbourhood and not forever. Leaving readings out makes a bound wider, never wrong.
struct OffsetEnvelope: Sendable {
    /// Older readings are less informative than newer ones, even on a satellite link.
    static let windowNanoseconds: Int64 = 900_000_000_000
    /// Readings kept at most.
    static let maximumPoints = 64

    /// The direction in which a reading limits the offset.
    enum Side: Sendable {
        /// Readings are upper limits of the offset.
        case above
        /// Readings are lower limits of the offset.
        case below
    }

    /// One reading.
    struct Point: Sendable {
        let agentNanoseconds: Int64
        let offsetNanoseconds: Int64

        /// The same reading with a larger offset.
        func moved(by nanoseconds: Int64) -> Point {
            Point(
                agentNanoseconds: agentNanoseconds,
                offsetNanoseconds: offsetNanoseconds.clampedAdding(nanoseconds))
        }
    }

    let side: Side
    /// The oldest first.
    private(set) var points: [Point] = []

    init(_ side: Side) { self.side = side }

    /// Adds a reading that is newer than all before.
    mutating func append(_ point: Point) {
        let oldest = point.agentNanoseconds - Self.windowNanoseconds
        if let first = points.first, first.agentNanoseconds < oldest {
            points.removeAll { $0.agentNanoseconds < oldest }
        }
        while points.count >= 2, sagitta(of: points.count - 1, before: point) <= 0 {
            points.removeLast()
        }
        points.append(point)
        if points.count > Self.maximumPoints { removeLeastTelling() }
    }

    /// Forgets all but the newest reading.
    mutating func keepNewest() {
        points.removeSubrange(0..<max(0, points.count - 1))
    }

    /// Removes the reading that contributes least. The newest reading and the oldest in the window are always kept.
    private mutating func removeLeastTelling() {
        var least = 1
        var smallest = Double.infinity
        for index in 1..<(points.count - 1) {
            let value = sagitta(of: index, before: points[index + 1])
            if value < smallest {
                smallest = value
                least = index
            }
        }
        points.remove(at: least)
    }

    /// Distance of a point outside the chord from its predecessor to `next`, nanoseconds.
    private func sagitta(of index: Int, before next: Point) -> Double {
        let origin = points[index]
        let left = bent(points[index - 1], from: origin)
        let right = bent(next, from: origin)
        guard right.seconds > left.seconds else { return 0 }
        let share = -left.seconds / (right.seconds - left.seconds)
        return left.nanoseconds + (right.nanoseconds - left.nanoseconds) * share
    }

    /// A point relative to another, with the wander's parabola added, so that "outside" is always upwards.
    private func bent(_ point: Point, from origin: Point) -> (seconds: Double, nanoseconds: Double)
    {
        let seconds = Double(point.agentNanoseconds - origin.agentNanoseconds) * 1e-9
        let difference = Double(point.offsetNanoseconds - origin.offsetNanoseconds)
        let bend = Double(ClockLimits.wanderPPBPerSecond) * seconds * seconds / 2
        return (seconds, (side == .above ? difference : -difference) + bend)
    }
}
