import Archive
import Media

/// The records of a source that the bucket has, from its proofs and its ledger.
struct StoredSource: Sendable {
    /// The ledger found in the store; nil without one.
    var ledger: StoredDocuments.Document?
    /// Records of this session that the store has, by spool.
    private var own: [SpoolID: SequenceSet] = [:]
    /// Records that the store has, by spool. Unlike ``own``, includes records of earlier sessions that proofs or the ledger list.
    private(set) var known: [SpoolID: SequenceSet] = [:]
    /// Records that the ledger attributes to an earlier session.
    private var earlier: [SpoolID: SequenceSet] = [:]
    /// By spool, the records that were not expected when it started here.
    private var after: [SpoolID: UInt64] = [:]
    /// By spool, the highest sequence number up to which a proof states that the store has all records.
    private var storedThrough: [SpoolID: UInt64] = [:]
    /// The highest number that a proof or a line names.
    private var highest: [SpoolID: UInt64] = [:]

    mutating func add(_ proof: SegmentProof) {
        for (spool, ranges) in proof.ranges {
            for range in ranges where range.lowerBound > 0 {
                own[spool, default: SequenceSet()].insert(range)
                known[spool, default: SequenceSet()].insert(range)
                name(range.upperBound, of: spool)
            }
        }
        for (name, number) in proof.storedThrough ?? [:] where number > 0 {
            guard let spool = SpoolID(hexadecimal: name) else { continue }
            storedThrough[spool] = max(storedThrough[spool] ?? 0, number)
        }
    }

    mutating func add(_ entry: LedgerEntry) {
        for (spool, sequences) in entry.replacedRecords {
            if entry.kind == .earlier {
                earlier[spool, default: SequenceSet()].insert(sequences)
            } else {
                own[spool, default: SequenceSet()].insert(sequences)
                known[spool, default: SequenceSet()].insert(sequences)
            }
        }
        guard let spool = entry.spool.flatMap(SpoolID.init(hexadecimal:)) else { return }
        for range in entry.sequences { name(range.upperBound, of: spool) }
        guard let after = entry.after else { return }
        if self.after[spool] == nil { self.after[spool] = after }
        if entry.isTakenOver, after > 0 {
            known[spool, default: SequenceSet()].insert(1...after)
            name(after, of: spool)
        }
    }

    private mutating func name(_ number: UInt64, of spool: SpoolID) {
        highest[spool] = max(highest[spool] ?? 0, number)
    }

    /// Applies proofs about earlier records, after all proofs and the ledger were added, up to the highest number in any of
    /// them: a false number cannot cover future records.
    mutating func believeStoredThrough() {
        for (spool, number) in storedThrough {
            let believed = min(number, highest[spool] ?? 0)
            if believed > 0 { known[spool, default: SequenceSet()].insert(1...believed) }
        }
    }

    /// The record up to which the store has all records.
    func base(of spool: SpoolID) -> UInt64 {
        known[spool]?.watermark ?? 0
    }

    /// Whether records are missing that were on a disk according to the session's description.
    func lacks(_ end: SessionManifest.SpoolEnd) -> Bool {
        guard let spool = SpoolID(hexadecimal: end.spool) else { return false }
        var there = known[spool] ?? SequenceSet()
        there.formUnion(earlier[spool] ?? SequenceSet())
        // Lower numbers belong to earlier sessions.
        let lowestOwn: UInt64 = own[spool]?.ranges.first?.lowerBound ?? .max
        let expected: UInt64 = after[spool].map { $0.clampedAdding(1) } ?? .max
        let lowest = min(lowestOwn, expected) == .max ? 1 : min(lowestOwn, expected)
        return end.sequences.ranges.contains { range in
            guard range.upperBound >= lowest else { return false }
            return !there.missing(in: max(range.lowerBound, lowest)...range.upperBound).isEmpty
        }
    }
}
