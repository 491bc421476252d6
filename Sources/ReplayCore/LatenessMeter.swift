/// A histogram of lateness in bounded memory: steps of 20 µs, up to ten seconds.
struct LatenessMeter: Sendable {
    private static let stepNanoseconds: Int64 = 20_000
    private static let steps = 500_000

    private var counts: [UInt64] = []
    private var total: UInt64 = 0
    private var greatest: Int64 = 0

    mutating func add(_ nanoseconds: Int64) {
        if counts.isEmpty { counts = [UInt64](repeating: 0, count: Self.steps) }
        let late = max(0, nanoseconds)
        counts[min(Self.steps - 1, Int(late / Self.stepNanoseconds))] += 1
        total += 1
        greatest = max(greatest, late)
    }

    /// Nil before anything was added. Values are the upper ends of their steps.
    var lateness: ReplayStatus.Lateness? {
        guard total > 0 else { return nil }
        return ReplayStatus.Lateness(
            median: value(at: 50), percentile99: value(at: 99), greatest: greatest)
    }

    private func value(at percent: UInt64) -> Int64 {
        var seen: UInt64 = 0
        for (step, count) in counts.enumerated() {
            seen += count
            if seen * 100 >= total * percent {
                return min(greatest, Int64(step + 1) * Self.stepNanoseconds)
            }
        }
        return greatest
    }
}
