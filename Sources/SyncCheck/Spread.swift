/// Statistics of errors, nanoseconds.
package struct Spread: Codable, Hashable, Sendable {
    package var count: Int
    /// Signed minimum.
    package var minNanoseconds: Int64
    /// Signed median.
    package var medianNanoseconds: Int64
    /// 99th percentile of the absolute values (nearest rank).
    package var p99Nanoseconds: Int64
    /// Signed maximum.
    package var maxNanoseconds: Int64

    /// Maximum absolute value.
    package var worstNanoseconds: Int64 { max(maxNanoseconds, -minNanoseconds) }

    /// - Returns: nil without values.
    package init?(_ values: [Int64]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        count = sorted.count
        minNanoseconds = first
        maxNanoseconds = last
        medianNanoseconds = sorted[sorted.count / 2]
        let magnitudes = values.map { Int64(clamping: $0.magnitude) }.sorted()
        p99Nanoseconds = magnitudes[(magnitudes.count * 99 + 99) / 100 - 1]
    }
}
