import Media

/// Files of a source that retention has removed for one reason, according to its ledger.
package struct RemovedFiles: Codable, Hashable, Sendable {
    /// The reason, as in the ledger.
    package var cause: String
    package var files: UInt64
    /// Their records that are in no other file, counted by sequence numbers.
    package var samples: UInt64
    /// Session time, from the names of the first file and of the file after the last one; nil: unknown.
    package var startNanoseconds: Int64?
    package var endNanoseconds: Int64?

    /// By cause.
    /// - Parameters:
    ///   - present: origins of the source's files.
    ///   - recorded: records in these files, by spool.
    ///   - zero: the session's; nil: unknown.
    static func all(
        _ ledger: [LedgerEntry], present: [UTCTime], recorded: [String: SequenceSet],
        zero: UTCTime?
    ) -> [RemovedFiles] {
        var causes: [String: String] = [:]
        var records: [String: UInt64] = [:]
        var counted: [String: SequenceSet] = [:]
        for line in ledger where line.kind == .removed {
            guard let segment = line.segment else { continue }
            causes[segment] = causes[segment] ?? line.cause ?? ""
            let spool = line.spool ?? ""
            let known = recorded[spool] ?? SequenceSet()
            for part in line.sequences.flatMap({ known.missing(in: $0) }) {
                let again = counted[spool, default: SequenceSet()].insert(part)
                records[segment, default: 0].addClamped(
                    (part.upperBound - part.lowerBound).clampedAdding(1) - again)
            }
        }
        let origins = (present + records.keys.compactMap { SegmentName($0)?.origin })
            .map(\.nanoseconds).sorted()
        return Dictionary(grouping: records.keys) { causes[$0] ?? "" }
            .sorted { $0.key < $1.key }
            .map { cause, segments in
                var removed = RemovedFiles(
                    cause: cause, files: UInt64(segments.count),
                    samples: segments.lazy.compactMap { records[$0] }.clampedSum)
                let own = segments.compactMap { SegmentName($0)?.origin?.nanoseconds }
                guard let zero, let first = own.min(), let last = own.max() else { return removed }
                removed.startNanoseconds = first.clampedSubtracting(zero.nanoseconds)
                removed.endNanoseconds = origins.first { $0 > last }.map {
                    $0.clampedSubtracting(zero.nanoseconds)
                }
                return removed
            }
    }
}
