/// How a number of errors are spread, nanoseconds.
package struct Spread: Codable, Hashable, Sendable {
    package var count: Int
    /// The smallest, with its sign.
    package var minNanoseconds: Int64
    /// The middle one, with its sign.
    package var medianNanoseconds: Int64
    /// 99 of 100 are at most so large, whatever their sign (nearest rank).
    package var p99Nanoseconds: Int64
    /// The largest, with its sign.
    package var maxNanoseconds: Int64

    /// The largest of all, whatever its sign.
    package var worstNanoseconds: Int64 { max(maxNanoseconds, -minNanoseconds) }

    /// Nil when there are none.
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
