import Media

/// How large the numbers of records and times may be that files say: so that sums and differences of some of them stay within
/// 64 bits, whoever wrote the file.
package enum RecordLimits {
    /// The highest record number: the protocol's.
    package static let sequence: UInt64 = 1 << 62
    /// How far from its clock's zero a time may lie, either way, nanoseconds (146 years).
    package static let timeNanoseconds = Int64(UTCTime.farthestNanoseconds)
    /// How far from the session's zero, either way (36 years): a file's beginning, and what is added to it, leave room for more.
    package static let sessionNanoseconds: Int64 = 1 << 60
    /// How long a loss may last: ten years, as in the protocol.
    package static let gapNanoseconds: UInt64 = 315_360_000_000_000_000
    /// How fast a clock may run away, parts per billion: twice as fast, or not at all.
    package static let skewPartsPerBillion: Int64 = 1_000_000_000
    /// The most ranges of one spool that a session's description tells beyond the watermark: a session has some, where files
    /// failed.
    package static let ranges = 4_096
}

extension LedgerEntry {
    /// The entry with numbers that can be reckoned with. A line with others is still a line: what is too large says "a lot". Clock
    /// exchanges stay as they were told: who computes with them expects lies.
    var limited: LedgerEntry {
        var entry = self
        func within(_ value: Int64?, _ limit: Int64) -> Int64? {
            value.map { min(max($0, -limit), limit) }
        }
        entry.lastSequence = lastSequence.map { min($0, RecordLimits.sequence) }
        if let firstSequence, firstSequence > RecordLimits.sequence {
            // Nobody has records of such numbers.
            entry.firstSequence = nil
            entry.lastSequence = nil
        }
        entry.ranges = ranges?.filter {
            $0.count == 2 && $0[0] <= $0[1] && $0[1] <= RecordLimits.sequence
        }
        entry.after = after.map { min($0, RecordLimits.sequence) }
        entry.startNanoseconds = within(startNanoseconds, RecordLimits.sessionNanoseconds)
        entry.durationNanoseconds = durationNanoseconds.map {
            min($0, RecordLimits.gapNanoseconds)
        }
        entry.samples = samples.map { min($0, RecordLimits.sequence) }
        entry.agentNanoseconds = within(agentNanoseconds, RecordLimits.timeNanoseconds)
        entry.offsetNanoseconds = within(offsetNanoseconds, RecordLimits.timeNanoseconds)
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
