import Media

/// Sequence numbers of a source's records, by spool (hexadecimal): in its files, and explained by its ledger.
package struct SourceNumbers: Hashable, Sendable {
    /// In files, or explained.
    private(set) var known: [String: SequenceSet] = [:]
    /// In files.
    package internal(set) var media: [String: SequenceSet] = [:]
    private var first: [String: UInt64] = [:]
    /// Numbers that the description of a finished session counts as recorded or explained.
    private var expected: [String: SequenceSet] = [:]
    /// Numbers that may be recorded elsewhere.
    private var explained: [String: SequenceSet] = [:]
    /// Numbers that were inserted more than once.
    private(set) var repeated: UInt64 = 0
    /// Number of distinct numbers.
    private(set) var count: UInt64 = 0

    package init() {}

    mutating func insert(_ range: ClosedRange<UInt64>, spool: String) {
        let again = known[spool, default: SequenceSet()].insert(range)
        first[spool] = min(first[spool] ?? range.lowerBound, range.lowerBound)
        repeated.addClamped(again)
        count.addClamped((range.upperBound - range.lowerBound).clampedAdding(1) - again)
    }

    /// Adds explained numbers, which may also be recorded here.
    mutating func explain(_ range: ClosedRange<UInt64>, spool: String) {
        explained[spool, default: SequenceSet()].insert(range)
        for missing in known[spool]?.missing(in: range) ?? [] { insert(missing, spool: spool) }
    }

    /// Adds the numbers that a finished session's description counts as recorded or explained.
    ///
    /// They begin with the spool's first record in the session. Descriptions of early versions do not state it: then they
    /// begin with the first known number. The records that were durable when the source began (`after` in its ledger) do not
    /// show it: later ones may have been on their way to the disk, in an earlier session. Ranges beyond a hole (`beyond`)
    /// are not checked: they may be in an earlier session, too.
    mutating func expect(_ ends: [SessionManifest.SpoolEnd]) {
        for end in ends {
            let through = end.sequences.watermark
            guard let start = end.first ?? first[end.spool], start > 0, start <= through else {
                continue
            }
            expected[end.spool, default: SequenceSet()].insert(start...through)
        }
    }

    /// Whether the description of a finished session counts all numbers of a range as recorded or explained.
    func expects(_ range: ClosedRange<UInt64>, spool: String) -> Bool {
        (expected[spool] ?? SequenceSet()).firstMissing(in: range) == nil
    }

    /// Notes about records that may be missing before the first known ones of spools whose first record in the session is
    /// not stated.
    func startFindings(
        _ directory: String, _ ends: [SessionManifest.SpoolEnd], _ ledger: [LedgerEntry]
    ) -> [Finding] {
        ends.filter { $0.first == nil }.flatMap { end -> [Finding] in
            let durable = ledger.lazy.filter { $0.kind == .opened && $0.spool == end.spool }
                .compactMap(\.after).min()
            // A stranger's file may have the number 0.
            let first = first[end.spool] ?? .max
            guard let durable, first > 0 else { return [] }
            let through = min(end.sequences.watermark, first - 1)
            guard durable < through else { return [] }
            let all = (known[end.spool] ?? SequenceSet())
                .union(explained[end.spool] ?? SequenceSet())
            return all.missing(in: durable + 1...through).map {
                Finding(
                    .note, directory,
                    "records \($0.lowerBound) to \($0.upperBound) are in an earlier session, or missing "
                        + "(spool \(end.spool.prefix(8)))")
            }
        }
    }

    /// The missing numbers of each spool: those between its first and its last number, and those that the session's
    /// description counts.
    ///
    /// A source that joined the session later begins with a later number: earlier ones belong to other sessions.
    package var holes: [(spool: String, ranges: [ClosedRange<UInt64>])] {
        Set(known.keys).union(expected.keys).sorted().map { spool in
            let own = known[spool] ?? SequenceSet()
            var missing = SequenceSet()
            for hole in own.holes where hole.lowerBound > first[spool] ?? 0 { missing.insert(hole) }
            let all = own.union(explained[spool] ?? SequenceSet())
            for range in expected[spool]?.ranges ?? [] {
                for hole in all.missing(in: range) { missing.insert(hole) }
            }
            return (spool, missing.ranges)
        }
    }

    /// Explains holes by records of other sessions.
    mutating func explainHoles(by others: [String: SequenceSet]) {
        for (spool, holes) in holes {
            for hole in holes {
                for range in others[spool]?.present(in: hole) ?? [] { explain(range, spool: spool) }
            }
        }
    }

    /// Findings about missing numbers.
    /// - Parameter isFinished: whether nothing more will arrive. Until then a hole is only data that is still to come: no
    ///   later record has been acknowledged, so the agent has all of it.
    package func holeFindings(_ directory: String, isFinished: Bool) -> [Finding] {
        holeFindings(isFinished: isFinished) { _, _ in directory }
    }

    /// - Parameter directory: that of a spool's missing numbers.
    func holeFindings(
        isFinished: Bool, _ directory: (_ spool: String, ClosedRange<UInt64>) -> String
    ) -> [Finding] {
        holes.flatMap { spool, holes in
            holes.map { hole in
                let directory = directory(spool, hole)
                let text =
                    "records \(hole.lowerBound) to \(hole.upperBound) are neither in a file nor in the "
                    + "ledger (spool \(spool.prefix(8)))"
                return isFinished
                    ? Finding(.damage, directory, text)
                    : Finding(
                        .note, directory,
                        text + "; the session continues, and their agent has them")
            }
        }
    }

    /// The numbers of several archives: copies are no repetitions.
    package static func joined(
        _ archives: [SourceNumbers]
    ) -> (numbers: SourceNumbers, recorded: UInt64, copies: UInt64) {
        var joined = SourceNumbers()
        var recorded: UInt64 = 0
        var copies: UInt64 = 0
        for archive in archives {
            for (spool, set) in archive.media {
                for range in set.ranges {
                    let again = joined.media[spool, default: SequenceSet()].insert(range)
                    copies.addClamped(again)
                    recorded.addClamped(
                        (range.upperBound - range.lowerBound).clampedAdding(1) - again)
                }
            }
            for (spool, set) in archive.known {
                joined.known[spool, default: SequenceSet()].formUnion(set)
                if let own = archive.first[spool] {
                    joined.first[spool] = min(joined.first[spool] ?? own, own)
                }
            }
            joined.expected.merge(archive.expected) { $0.union($1) }
            joined.explained.merge(archive.explained) { $0.union($1) }
        }
        return (joined, recorded, copies)
    }
}
