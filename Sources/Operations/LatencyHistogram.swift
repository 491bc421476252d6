/// How often something took how long.
package struct LatencyHistogram: Hashable, Sendable {
    /// Upper bounds of the classes, seconds: from a fast disk's `fdatasync` to one that hangs.
    package static let bounds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    /// For each bound, how often it took as long as that and longer than the bound before.
    package private(set) var counts = [UInt64](repeating: 0, count: bounds.count)
    package private(set) var count: UInt64 = 0
    package private(set) var sumSeconds = 0.0

    package init() {}

    /// On average; nil: nothing has been measured.
    package var meanSeconds: Double? { count > 0 ? sumSeconds / Double(count) : nil }

    /// Takes note of one time.
    package mutating func add(_ duration: Duration) {
        let seconds = duration / .seconds(1)
        count += 1
        sumSeconds += seconds
        if let index = Self.bounds.firstIndex(where: { seconds <= $0 }) { counts[index] += 1 }
    }
}
