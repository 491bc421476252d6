import Media

/// Limits of record numbers and times in files, so that sums and differences of some of them stay within 64 bits in any
/// file.
package enum RecordLimits {
    /// Maximum record number: the protocol's.
    package static let sequence: UInt64 = 1 << 62
    /// Maximum distance of a time from its clock's zero, in either direction, nanoseconds (146 years).
    package static let timeNanoseconds = Int64(UTCTime.farthestNanoseconds)
    /// Maximum distance from the session's zero, in either direction (36 years): a file's start, and what is added to it, may
    /// still be larger.
    package static let sessionNanoseconds: Int64 = 1 << 60
    /// Maximum duration of a loss: ten years, as in the protocol.
    package static let gapNanoseconds: UInt64 = 315_360_000_000_000_000
    /// Maximum skew of a clock, parts per billion: twice as fast, or stopped.
    package static let skewPartsPerBillion: Int64 = 1_000_000_000
    /// Maximum ranges of one spool beyond the watermark in a session's description: a session has some where files failed.
    package static let ranges = 4_096
}

extension LedgerEntry {
    /// The entry with its numbers clamped to the limits. Clock exchanges are not checked.
    var limited: LedgerEntry {
        var entry = self
        func within(_ value: Int64?, _ limit: Int64) -> Int64? {
            value.map { min(max($0, -limit), limit) }
        }
        entry.lastSequence = lastSequence.map { min($0, RecordLimits.sequence) }
        if let firstSequence, firstSequence > RecordLimits.sequence {
            // No records have such numbers.
            entry.firstSequence = nil
            entry.lastSequence = nil
        }
        entry.ranges = ranges?.filter {
            $0.count == 2 && $0[0] <= $0[1] && $0[1] <= RecordLimits.sequence
        }
        entry.after = after.map { min($0, RecordLimits.sequence) }
        entry.term = term.map { min($0, RecordLimits.sequence) }
        entry.startNanoseconds = within(startNanoseconds, RecordLimits.sessionNanoseconds)
        entry.durationNanoseconds = durationNanoseconds.map {
            min($0, RecordLimits.gapNanoseconds)
        }
        entry.samples = samples.map { min($0, RecordLimits.sequence) }
        entry.agentNanoseconds = within(agentNanoseconds, RecordLimits.timeNanoseconds)
        entry.offsetNanoseconds = within(offsetNanoseconds, RecordLimits.timeNanoseconds)
        entry.leastNanoseconds = within(leastNanoseconds, RecordLimits.timeNanoseconds)
        entry.greatestNanoseconds = within(greatestNanoseconds, RecordLimits.timeNanoseconds)
        entry.aheadNanoseconds = within(aheadNanoseconds, RecordLimits.timeNanoseconds)
        entry.skewPartsPerBillion = within(skewPartsPerBillion, RecordLimits.skewPartsPerBillion)
        entry.boundNanoseconds = boundNanoseconds.map {
            min($0, UInt64(RecordLimits.timeNanoseconds))
        }
        entry.collectorZeroNanoseconds = within(
            collectorZeroNanoseconds, RecordLimits.timeNanoseconds)
        entry.rejectedExchanges = rejectedExchanges.map { min($0, RecordLimits.sequence) }
        entry.outlyingExchanges = outlyingExchanges.map { min($0, RecordLimits.sequence) }
        return entry
    }
}
