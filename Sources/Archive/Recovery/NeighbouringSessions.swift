import Media

/// Records at the boundary between two sessions.
///
/// Records that were lost in a crash are sent again, but not into a session that has ended; and records that an earlier
/// session has are not sent again. Each session's ledger attributes records to the other one, so that both are
/// complete.
extension SourceRecovery {
    /// The session has ended with holes: missing records may still arrive, but in a later session.
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

    /// The session is resumed, and agents will not send records again that earlier sessions have: those are no gap in
    /// this one.
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

    /// The lowest recorded or explained number of a spool; 0: none.
    private func lowestNumber(of spool: SpoolID) -> UInt64 {
        let onDisk = surveys.lazy.flatMap(\.fragments).filter { $0.spool == spool }
            .compactMap(\.lowest).min()
        let elsewhere = removing.lazy.filter { $0.spool == spool }.flatMap(\.ranges)
            .map(\.lowerBound).min()
        let recorded = [onDisk, elsewhere].compactMap(\.self).min()
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
