import Media

/// How long something was missing of a source, as its ledger tells it.
enum MissingTime {
    /// Time that at least one line about something missing covers, once; lines that do not say when count as a time of their own.
    static func nanoseconds(_ gaps: [LedgerEntry]) -> Int64 {
        var total: Int64 = 0
        var spans: [(start: Int64, end: Int64)] = []
        for gap in gaps {
            let length = Int64(clamping: gap.durationNanoseconds ?? 0)
            if let start = gap.startNanoseconds {
                spans.append((start, start.clampedAdding(length)))
            } else {
                total.addClamped(length)
            }
        }
        spans.sort { $0.start < $1.start }
        var reached: Int64?
        for span in spans {
            let from = max(span.start, reached ?? span.start)
            if span.end > from { total.addClamped(span.end.clampedSubtracting(from)) }
            reached = max(reached ?? span.end, span.end)
        }
        return total
    }
}
