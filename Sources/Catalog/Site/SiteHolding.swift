package import Archive

/// The records of one spool that a collector has on disk.
package struct SiteHolding: Hashable, Sendable, Codable {
    /// Ranges of one spool in a report. Records arrive nearly in order; a spool with more is damaged or hostile.
    private static let maximumRanges = 256

    package var source: String
    /// 32 hexadecimal digits.
    package var spool: String
    /// `1-500,502-900`; beyond ``maximumRanges``, the rest is left out, which understates what is held.
    package var ranges: String
    /// The records of those that the object store has, too, in the same notation; nil: not known.
    package var stored: String?

    /// - Parameter stored: nil: not known.
    package init(
        source: String, spool: String, records: SequenceSet, stored: SequenceSet? = nil
    ) {
        self.source = source
        self.spool = spool
        ranges = Self.text(records)
        self.stored = stored.map(Self.text)
    }

    package var records: SequenceSet { Self.set(ranges) }
    package var storedRecords: SequenceSet { stored.map(Self.set) ?? SequenceSet() }

    private static func text(_ records: SequenceSet) -> String {
        records.ranges.prefix(maximumRanges).map { range in
            range.lowerBound == range.upperBound
                ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
        }.joined(separator: ",")
    }

    /// Ranges that are malformed are left out.
    private static func set(_ text: String) -> SequenceSet {
        var records = SequenceSet()
        for part in text.split(separator: ",", maxSplits: maximumRanges).prefix(maximumRanges) {
            let ends = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = ends.first.flatMap({ UInt64($0) }),
                let last = ends.last.flatMap({ UInt64($0) }), first > 0, first <= last
            else { continue }
            records.insert(first...last)
        }
        return records
    }
}
