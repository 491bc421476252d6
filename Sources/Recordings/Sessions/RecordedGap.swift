package import Archive
package import Media

/// A ledger line about missing samples.
package struct RecordedGap: Hashable, Encodable, Sendable {
    /// Nil for all tracks.
    package var track: TrackKind?
    /// Session time in nanoseconds; nil if unknown.
    package var startNanoseconds: Int64?
    package var durationNanoseconds: Int64
    /// 0 if unknown.
    package var samples: UInt64
    /// The ledger's cause: `driver drop`, `spool full`, …; ``removed``.
    package var cause: String
    package var text: String
    /// Sequence numbers of the lost records, or of those that reported the loss; the first ranges. Empty if unknown.
    package var records: [ClosedRange<UInt64>]

    /// The cause of a gap that a removed file leaves. ``text`` has the reason for the removal.
    package static let removed = "removed"

    /// Maximum number of listed ranges of one gap.
    package static let maximumRanges = 32

    /// Nil if unknown.
    package var endNanoseconds: Int64? { startNanoseconds?.clampedAdding(durationNanoseconds) }

    private enum CodingKeys: CodingKey {
        case track, startNanoseconds, durationNanoseconds, samples, cause, text, records
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(track?.description, forKey: .track)
        try container.encodeIfPresent(startNanoseconds, forKey: .startNanoseconds)
        try container.encode(durationNanoseconds, forKey: .durationNanoseconds)
        try container.encode(samples, forKey: .samples)
        try container.encode(cause, forKey: .cause)
        try container.encode(text, forKey: .text)
        if !records.isEmpty {
            try container.encode(records.map { [$0.lowerBound, $0.upperBound] }, forKey: .records)
        }
    }

    /// A removed file.
    /// - Parameter lines: the ledger lines about its removal; one per range of records.
    init(removed lines: [LedgerEntry], from start: Int64, to end: Int64) {
        track = nil
        startNanoseconds = start
        durationNanoseconds = max(0, end - start)
        samples = lines.reduce(0) { sum, line in
            line.sequences.reduce(sum) {
                $0.clampedAdding(($1.upperBound - $1.lowerBound).clampedAdding(1))
            }
        }
        cause = Self.removed
        records = Array(lines.flatMap(\.sequences).prefix(Self.maximumRanges))
        text = "removed from the recording: \(lines.first?.cause ?? "unknown cause")"
    }

    package init?(_ entry: LedgerEntry) {
        guard entry.kind == .gap else { return nil }
        track = TrackKind.allCases.first { $0.description == entry.track }
        startNanoseconds = entry.startNanoseconds
        durationNanoseconds = Int64(clamping: entry.durationNanoseconds ?? 0)
        samples = entry.samples ?? 0
        cause = entry.cause ?? ""
        text = entry.text ?? ""
        records = Array(entry.sequences.prefix(Self.maximumRanges))
    }
}
