/// Deviations of a source's pictures from the reference clock, over that clock.
///
/// A picture's *deviation* is its presentation time minus the reference's time of its capture. In a perfect recording
/// it is the same for every picture of every source: minus the reference's time at the session's zero.
struct Trace: Sendable {
    struct Point: Hashable, Sendable {
        var reference: Int64
        var presentation: Int64

        var deviation: Int64 { presentation - reference }
    }

    /// Maximum distance of pictures for interpolation, nanoseconds.
    private static let farthestNanoseconds: Int64 = 1_000_000_000

    /// In the order of the reference's time.
    let points: [Point]

    init(_ pictures: [Observations.Picture], clock: ReferenceClock) {
        points = pictures.map { picture in
            Point(
                reference: clock.nanoseconds(at: picture.codedNanoseconds),
                presentation: picture.presentationNanoseconds)
        }.sorted { $0.reference < $1.reference }
    }

    /// The nearest pictures before and after an instant of the reference, or the one at it; nil if they are too far away.
    func neighbours(of reference: Int64) -> (before: Point, after: Point)? {
        let next = points.partitioningIndex { $0.reference >= reference }
        guard next < points.count else { return nil }
        let after = points[next]
        if after.reference == reference { return (after, after) }
        guard next > 0 else { return nil }
        let before = points[next - 1]
        return after.reference - before.reference <= Self.farthestNanoseconds
            ? (before, after) : nil
    }

    /// The deviation at an instant of the reference, interpolated between two pictures.
    static func deviation(at reference: Int64, between before: Point, and after: Point) -> Int64 {
        let length = after.reference - before.reference
        guard length > 0 else { return after.deviation }
        let part = Double(reference - before.reference) / Double(length)
        return before.deviation
            + Int64((part * Double(after.deviation - before.deviation)).rounded())
    }

    /// The regression line of the trace.
    var line: Line {
        Line(points.map { Line.Point(instant: $0.reference, deviation: $0.deviation) })
    }

    var medianDeviation: Int64 {
        points.map(\.deviation).sorted()[points.count / 2]
    }
}

extension Array {
    /// The index of the first element that satisfies a predicate which all later elements satisfy too.
    func partitioningIndex(where belongs: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if belongs(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
