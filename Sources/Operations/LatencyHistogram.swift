/// A histogram of durations.
package struct LatencyHistogram: Hashable, Sendable {
    /// Bounds from a fast disk's `fdatasync` to one that hangs, seconds.
    package static let ofDisks = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// Bounds from a watched source with short fragments to a backlog after an outage, seconds.
    package static let ofRecording: [Double] = [
        0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 10, 30, 60, 300, 3_600,
    ]

    /// Upper bounds of the buckets, seconds.
    package let bounds: [Double]
    /// For each bound, the number of durations up to it and above the previous bound.
    package private(set) var counts: [UInt64]
    package private(set) var count: UInt64 = 0
    package private(set) var sumSeconds = 0.0

    package init(bounds: [Double] = LatencyHistogram.ofDisks) {
        self.bounds = bounds
        counts = [UInt64](repeating: 0, count: bounds.count)
    }

    /// The mean; nil without values.
    package var meanSeconds: Double? { count > 0 ? sumSeconds / Double(count) : nil }

    /// Adds a duration.
    package mutating func add(_ duration: Duration) {
        let seconds = duration / .seconds(1)
        count += 1
        sumSeconds += seconds
        if let index = bounds.firstIndex(where: { seconds <= $0 }) { counts[index] += 1 }
    }
}
