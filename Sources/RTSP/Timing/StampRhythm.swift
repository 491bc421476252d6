import Media

/// The usual distance of a track's timestamps, where it is constant: neither the frame rate changes, nor are pictures reordered.
struct StampRhythm: Hashable, Sendable {
    /// Distances that are kept.
    private static let length = 16
    /// Number of these that must agree to within a tenth.
    private static let needed = 12
    private static let tolerance: Int64 = 10

    private var distances: [Int64] = []
    /// Ticks; nil: the distances differ.
    private(set) var interval: Int64?

    /// Adds the distance of two consecutive timestamps, ticks.
    mutating func note(_ distance: Int64) {
        if distances.count == Self.length { distances.removeFirst() }
        distances.append(distance)
        interval = nil
        guard distances.count >= Self.needed else { return }
        let median = distances.sorted()[distances.count / 2]
        guard median > 0 else { return }
        let alike = distances.count {
            $0.clampedSubtracting(median).magnitude <= UInt64(median / Self.tolerance)
        }
        if alike >= Self.needed { interval = median }
    }

    /// How far a distance is from a multiple of the constant one, as a share of it: 0 to 0.5; nil: the distances differ.
    func deviation(of distance: Int64) -> Double? {
        guard let interval else { return nil }
        let rest = Double(distance) / Double(interval)
        return (rest - rest.rounded()).magnitude
    }
}
