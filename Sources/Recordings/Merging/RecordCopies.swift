import Archive
package import Media

/// The copies of a source's records in several archives, and the selection of one copy of each.
///
/// A record is identified by its spool and number. The copy with the highest term is read; among those, the one in the
/// archive whose name sorts first. Only this type implements the rule.
package struct RecordCopies: Sendable {
    /// A possible source of records.
    private struct Claimant: Hashable {
        var term: UInt64
        var archive: Int
    }

    private var claims: [SpoolID: [Claimant: SequenceSet]] = [:]

    package init() {}

    /// Adds an archive's records.
    /// - Parameters:
    ///   - term: the term under which they were sent; 0: none.
    ///   - archive: index in the order of names.
    package mutating func add(
        _ records: ClosedRange<UInt64>, of spool: SpoolID, term: UInt64, archive: Int
    ) {
        claims[spool, default: [:]][Claimant(term: term, archive: archive), default: SequenceSet()]
            .insert(records)
    }

    /// Selects one copy of each record.
    package func chosen() -> ChosenRecords {
        ChosenRecords(
            claims.mapValues { claims in
                var taken = SequenceSet()
                var shares: [ChosenRecords.Share] = []
                let ranked = claims.sorted { one, other in
                    (other.key.term, one.key.archive) < (one.key.term, other.key.archive)
                }
                for (claimant, records) in ranked {
                    for range in records.ranges {
                        for own in taken.missing(in: range) {
                            shares.append(
                                .init(
                                    records: own, archive: claimant.archive, term: claimant.term))
                        }
                    }
                    taken.formUnion(records)
                }
                return shares.sorted { $0.records.lowerBound < $1.records.lowerBound }
            })
    }
}

/// The archive from which each record is read.
package struct ChosenRecords: Sendable {
    /// Consecutive records that are read from one archive.
    package struct Share: Hashable, Sendable {
        package var records: ClosedRange<UInt64>
        package var archive: Int
        package var term: UInt64
    }

    /// By spool; disjoint, ascending.
    private let shares: [SpoolID: [Share]]

    fileprivate init(_ shares: [SpoolID: [Share]]) { self.shares = shares }

    /// All shares of a spool, ascending.
    package func shares(of spool: SpoolID) -> [Share] { shares[spool] ?? [] }

    /// The parts of `records` that are read from an archive, ascending, with the index of their share: records before and after
    /// another archive's share have different indices.
    package func parts(
        of records: ClosedRange<UInt64>, spool: SpoolID, archive: Int
    ) -> [(records: ClosedRange<UInt64>, share: Int)] {
        let own = shares[spool] ?? []
        var (low, high) = (0, own.count)
        while low < high {
            let middle = (low + high) / 2
            if own[middle].records.upperBound < records.lowerBound {
                low = middle + 1
            } else {
                high = middle
            }
        }
        var parts: [(records: ClosedRange<UInt64>, share: Int)] = []
        while low < own.count, own[low].records.lowerBound <= records.upperBound {
            if own[low].archive == archive {
                parts.append((own[low].records.clamped(to: records), low))
            }
            low += 1
        }
        return parts
    }
}

/// The term of each record of a source in one archive, from its ledger.
///
/// An `opened` line states the term of a spool's records after a number, until the spool's next such line.
struct RecordTerms: Sendable {
    /// By spool: the terms of records after a number, ascending.
    private var steps: [SpoolID: [(after: UInt64, term: UInt64)]] = [:]
    /// Limit; a term is raised when its agent changes the collector.
    private static let maximumSteps = 4_096

    init(_ ledger: [LedgerEntry]) {
        for line in ledger where line.kind == .opened {
            guard let spool = line.spool.flatMap(SpoolID.init(hexadecimal:)) else { continue }
            let after = line.after ?? 0
            // Later lines override earlier ones.
            while let last = steps[spool]?.last, last.after >= after {
                steps[spool]?.removeLast()
            }
            guard steps[spool]?.count ?? 0 < Self.maximumSteps else { continue }
            steps[spool, default: []].append((after, line.term ?? 0))
        }
    }

    /// Divides consecutive records where their term changes.
    func divided(
        _ records: ClosedRange<UInt64>, of spool: SpoolID
    ) -> [(records: ClosedRange<UInt64>, term: UInt64)] {
        var parts: [(records: ClosedRange<UInt64>, term: UInt64)] = []
        var next = records.lowerBound
        var term: UInt64 = 0
        for step in steps[spool] ?? [] {
            if step.after >= records.upperBound { break }
            if step.after >= next {
                parts.append((next...step.after, term))
                next = step.after + 1
            }
            term = step.term
        }
        parts.append((next...records.upperBound, term))
        return parts
    }
}
