import Media

/// Duration of a source's missing data, according to its ledger.
enum MissingTime {
    /// Time covered by at least one ledger line about a loss, counted once; lines without a start time are added separately.
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
