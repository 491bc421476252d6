import Media

/// Sequence numbers of a source's records, by spool (hexadecimal): in its files, and explained by its ledger.
package struct SourceNumbers: Hashable, Sendable {
    /// In files, or explained.
    private(set) var known: [String: SequenceSet] = [:]
    /// In files.
    package internal(set) var media: [String: SequenceSet] = [:]
    private var first: [String: UInt64] = [:]
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

    /// Numbers that may be recorded elsewhere, or here.
    mutating func explain(_ range: ClosedRange<UInt64>, spool: String) {
        for missing in known[spool]?.missing(in: range) ?? [] { insert(missing, spool: spool) }
    }

    /// The missing numbers between the first and the last number of each spool.
    ///
    /// A source that joined the session later begins with a later number: earlier ones belong to other sessions.
    var holes: [(spool: String, ranges: [ClosedRange<UInt64>])] {
        known.map { spool, set in
            (spool, set.holes.filter { $0.lowerBound > first[spool] ?? 0 })
        }.sorted { $0.spool < $1.spool }
    }

    /// Findings about missing numbers.
    /// - Parameter isFinished: whether nothing more will arrive. Until then a hole is only data that is still to come: no later record
    ///   has been acknowledged, so the agent has all of it.
    package func holeFindings(_ directory: String, isFinished: Bool) -> [Finding] {
        holes.flatMap { spool, holes in
            holes.map { hole in
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
        }
        return (joined, recorded, copies)
    }
}
