/// Clock exchanges that have not been reported yet, at most as many as one message contains.
///
/// When there are more, the least informative are dropped, not the oldest: with random delays, a few quick exchanges
/// among hundreds determine the accuracy before the first sample. The information of an exchange is in its quicker
/// direction: the two directions limit the offset independently (`OffsetRange` in Timing).
struct PendingExchanges: Sendable {
    /// Oldest first.
    private(set) var exchanges: [ReportedExchange] = []

    var isEmpty: Bool { exchanges.isEmpty }

    /// Costs some hundred additions when it is full.
    mutating func add(_ exchange: ReportedExchange) {
        exchanges.append(exchange)
        guard exchanges.count > WireLimits.exchangesPerMessage else { return }
        // The stamps come from a collector and may have any value: nothing here may overflow.
        let there = exchanges.map { $0.t2 &- $0.t1 }
        let back = exchanges.map { $0.t4 &- $0.t3 }
        let quickestThere = there.min() ?? 0
        let quickestBack = back.min() ?? 0
        var slowest = exchanges.startIndex
        var excess = Int64.min
        for index in exchanges.indices {
            // Neither is negative unless a value has wrapped around; a wrapped one contains no information.
            let own = min(
                UInt64(bitPattern: there[index] &- quickestThere),
                UInt64(bitPattern: back[index] &- quickestBack))
            guard Int64(clamping: own) > excess else { continue }
            slowest = index
            excess = Int64(clamping: own)
        }
        exchanges.remove(at: slowest)
    }

    mutating func removeAll() { exchanges.removeAll() }

    /// Returns and removes all of them.
    mutating func take() -> [ReportedExchange] {
        defer { exchanges.removeAll() }
        return exchanges
    }
}
