import Media

/// Records that another collector has acknowledged and that are in its archive: neither recorded in this one nor missing.
package struct HeldRecords: Codable, Hashable, Sendable {
    /// The collector's name.
    package var collector: String
    /// The spool, hexadecimal.
    package var spool: String
    /// Number of the records.
    package var records: UInt64
    /// First and last of each range of their numbers: the first ranges of many.
    package var ranges: [[UInt64]]
    /// Session time, nanoseconds: from the end of the last sample recorded before them to the beginning of the next one. Nil:
    /// nothing is recorded there, or the position was not determined.
    package var startNanoseconds: Int64?
    package var endNanoseconds: Int64?

    /// Maximum number of reported ranges of one collector and spool.
    package static let maximumRanges = 32

    /// Records that other collectors hold according to a source's ledger, without those in its files, in other lines of it, and
    /// declared losses, by collector and spool.
    /// - Parameter recorded: numbers in files, by spool (hexadecimal).
    package static func all(
        _ ledger: [LedgerEntry], recorded: [String: SequenceSet]
    ) -> [HeldRecords] {
        struct Owner: Hashable {
            var collector: String
            var spool: String
        }
        var held: [Owner: SequenceSet] = [:]
        var lost: [Owner: SequenceSet] = [:]
        let noted = noted(ledger)
        for line in ledger {
            guard let collector = line.collector, let spool = line.spool else { continue }
            let owner = Owner(collector: collector, spool: spool)
            for range in line.sequences where range.lowerBound > 0 {
                if line.kind == .held { held[owner, default: SequenceSet()].insert(range) }
                if line.isDeclaredLost { lost[owner, default: SequenceSet()].insert(range) }
            }
        }
        return held.compactMap { owner, set in
            var known = recorded[owner.spool] ?? SequenceSet()
            if let given = lost[owner] { known.formUnion(given) }
            if let own = noted[owner.spool] { known.formUnion(own) }
            let ranges = set.ranges.flatMap { known.missing(in: $0) }
            guard !ranges.isEmpty else { return nil }
            return HeldRecords(
                collector: owner.collector, spool: owner.spool,
                records: ranges.lazy.map { ($0.upperBound - $0.lowerBound).clampedAdding(1) }
                    .clampedSum,
                ranges: ranges.prefix(maximumRanges).map { [$0.lowerBound, $0.upperBound] })
        }.sorted { ($0.collector, $0.spool) < ($1.collector, $1.spool) }
    }

    /// Records that a source's ledger has instead of a file: gaps, formats, Goodbyes, and what was removed. By spool
    /// (hexadecimal).
    package static func noted(_ ledger: [LedgerEntry]) -> [String: SequenceSet] {
        var noted: [String: SequenceSet] = [:]
        for line in ledger {
            guard let spool = line.spool, !line.isDeclaredLost else { continue }
            switch line.kind {
            case .gap, .format, .goodbye, .removed:
                for range in line.sequences where range.lowerBound > 0 {
                    noted[spool, default: SequenceSet()].insert(range)
                }
            case .opened, .later, .earlier, .time, .stated, .held, .related, .epoch, .clock,
                .discontinuity, .exchanges, .resumed, .failed, .damaged:
                continue
            }
        }
        return noted
    }
}
