/// Clock exchanges that have not been reported yet, as many as one message takes.
///
/// Of more than that the least telling go, not the oldest: where delays are random, a few quick ones among hundreds hold all that is
/// known before the first sample. An exchange tells something by its quicker way, there or back: what the two say of the offset is
/// independent (`OffsetRange` in Timing).
struct PendingExchanges: Sendable {
    /// Oldest first.
    private(set) var exchanges: [ReportedExchange] = []

    var isEmpty: Bool { exchanges.isEmpty }

    /// Costs some hundred additions when there is no room.
    mutating func add(_ exchange: ReportedExchange) {
        exchanges.append(exchange)
        guard exchanges.count > WireLimits.exchangesPerMessage else { return }
        // Stamps are a collector's, who may say anything: nothing here may overflow.
        let there = exchanges.map { $0.t2 &- $0.t1 }
        let back = exchanges.map { $0.t4 &- $0.t3 }
        let quickestThere = there.min() ?? 0
        let quickestBack = back.min() ?? 0
        var slowest = exchanges.startIndex
        var excess = Int64.min
        for index in exchanges.indices {
            // Neither is below zero as long as nothing has wrapped around; what has, tells nothing.
            let own = min(
                UInt64(bitPattern: there[index] &- quickestThere),
                UInt64(bitPattern: back[index] &- quickestBack))
            guard Int64(clamping: own) > excess else { continue }
            slowest = index
            excess = Int64(clamping: own)
        }
        exchanges.remove(at: slowest)
    }

    /// Hands over all of them.
    mutating func take() -> [ReportedExchange] {
        defer { exchanges.removeAll() }
        return exchanges
    }
}
