import Operations

/// Log lines that count refused connections by reason. Single refusals are logged only while they are few.
struct RefusalSummary: Sendable {
    /// From the first refusal to its line, and from line to line.
    static let intervalNanoseconds: Int64 = 600_000_000_000

    private var told: [ConnectionRefusal: UInt64] = [:]
    private var due: Int64?

    /// The line that is due, if one is.
    /// - Parameters:
    ///   - counts: since the start.
    ///   - now: the collector's monotonic clock, nanoseconds.
    mutating func line(_ counts: [ConnectionRefusal: UInt64], now: Int64) -> String? {
        guard counts != told else {
            due = nil
            return nil
        }
        guard let due else {
            self.due = now + Self.intervalNanoseconds
            return nil
        }
        guard now >= due else { return nil }
        let news = counts.reduce(into: [:]) { news, entry in
            news[entry.key] = entry.value - (told[entry.key] ?? 0)
        }
        told = counts
        self.due = nil
        return RefusalText.line(news).map { "in the last ten minutes \($0)" }
    }
}
