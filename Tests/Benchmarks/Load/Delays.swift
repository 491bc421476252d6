/// Samples' delays as counts of milliseconds, so that memory does not grow with their number.
struct Delays {
    /// Longer delays count as ten minutes.
    private static let mostMilliseconds = 600_000

    private var counts: [UInt32] = []
    private(set) var count: UInt64 = 0

    mutating func add(nanoseconds: Int64) {
        let milliseconds = min(Int(max(0, nanoseconds) / 1_000_000), Self.mostMilliseconds)
        if milliseconds >= counts.count {
            counts += [UInt32](repeating: 0, count: milliseconds + 1 - counts.count)
        }
        counts[milliseconds] += 1
        count += 1
    }

    mutating func add(_ other: Delays) {
        if other.counts.count > counts.count {
            counts += [UInt32](repeating: 0, count: other.counts.count - counts.count)
        }
        for (index, number) in other.counts.enumerated() { counts[index] += number }
        count += other.count
    }

    /// The percentile in milliseconds, by thousandths.
    func percentile(thousandths: UInt64) -> Int {
        let wanted = count * thousandths / 1_000
        var below: UInt64 = 0
        for (milliseconds, number) in counts.enumerated() {
            below += UInt64(number)
            if below > wanted { return milliseconds }
        }
        return max(0, counts.count - 1)
    }

    /// A JSON object.
    var json: String {
        """
        {"count": \(count), "p50": \(percentile(thousandths: 500)), "p99": \(percentile(thousandths: 990)), \
        "max": \(max(0, counts.count - 1))}
        """
    }
}
