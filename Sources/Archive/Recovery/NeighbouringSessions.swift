import Media

/// Records that are on either side of a session's end.
///
/// What a crash kept from the disk comes again, but not into a session that is over; and what that one has behind it does not come again.
/// Each session says what belongs to the other, so that both are whole.
extension SourceRecovery {
    /// The session has ended with holes: what is not on disk may still come, but no longer here.
    mutating func sayWhatComesLater(of spool: RecordedSpool) {
        var said = spool.sequences
        let identity = spool.spool.description
        for entry in entries where entry.kind == .later && entry.spool == identity {
            for range in entry.sequences { said.insert(range) }
        }
        let lowest = lowestNumber(of: spool.spool)
        for hole in said.holes where hole.lowerBound > lowest {
            addLine(
                .later, "not on disk when the session ended in a crash", records: hole,
                of: spool.spool)
        }
    }

    /// The session goes on, and agents will not send again what earlier ones have: it is no hole in this one.
    mutating func sayWhatCameEarlier(of spool: RecordedSpool) {
        guard let other = elsewhere.first(where: { $0.spool == spool.spool }) else { return }
        let lowest = lowestNumber(of: spool.spool)
        var own = spool.sequences
        for range in other.sequences.ranges where range.upperBound > lowest {
            let part = max(range.lowerBound, lowest)...range.upperBound
            for missing in own.missing(in: part) {
                addLine(
                    .earlier, "recorded in an earlier session", records: missing, of: spool.spool)
            }
            own.insert(part)
        }
        guard let index = spools.firstIndex(where: { $0.spool == spool.spool }) else { return }
        spools[index].sequences = own
    }

    /// The lowest number of a spool that is recorded or explained here; 0 where there is none.
    private func lowestNumber(of spool: SpoolID) -> UInt64 {
        let recorded = surveys.lazy.flatMap(\.fragments).filter { $0.spool == spool }
            .flatMap(\.runs).map(\.sequences.lowerBound).min()
        let explained = entries.lazy.flatMap(numbered).filter { $0.spool == spool }
            .map(\.sequences.lowerBound).min()
        return min(recorded ?? .max, explained ?? recorded ?? 0)
    }

    private mutating func addLine(
        _ kind: LedgerEntry.Kind, _ text: String, records: ClosedRange<UInt64>, of spool: SpoolID
    ) {
        var entry = LedgerEntry(kind: kind, at: now)
        entry.firstSequence = records.lowerBound
        entry.lastSequence = records.upperBound
        entry.spool = spool.description
        entry.text = text
        written.append(entry)
    }
}
