import Files
import Media
import Glibc

/// Removes one segment from an archive so that a crash leaves nothing unaccounted for.
///
/// 1. The file is renamed to mark it for removal (``SegmentCompanion/removing``): from here on it is not a segment.
/// 2. The ledger records which records were removed with it, and why; durable before the next step.
/// 3. The file is deleted.
///
/// ``complete(_:appending:)`` on the renamed file completes an interrupted removal.
package enum SegmentRemoval {
    /// Removes a segment.
    /// - Parameters:
    ///   - path: the segment.
    ///   - cause: for the ledger.
    ///   - append: writes lines to the source's ledger and makes them durable.
    package static func remove(
        _ path: String, on disk: any Disk = SystemDisk(), cause: String, now: UTCTime,
        appending append: (_ lines: [UInt8]) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let staged = SegmentCompanion.removing.path(of: path)
        guard disk.rename(path, to: staged) == 0 else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
        try append(ledgerLines(staged, cause: cause, known: [], now: now))
        try removeRecords(of: path, on: disk)
        try FileSystem.remove(staged, on: disk)
    }

    /// Removes the rest of a segment whose media was in the store only, after the store has deleted it: the ledger
    /// records the removed records, then the proof is deleted. It can be repeated after an interruption.
    /// - Parameter ledger: the source's ledger, which may have the lines already.
    package static func remove(
        _ proof: SegmentProof, of path: String, on disk: any Disk = SystemDisk(), cause: String,
        ledger: Ledger.Contents, now: UTCTime,
        appending append: (_ lines: [UInt8]) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let known = ledger.entries.filter { $0.kind == .removed && $0.segment == proof.segment }
        let lines = ledgerLines(
            proof.ranges, of: proof.segment, cause: cause, known: known, now: now)
        if !lines.isEmpty { try append(lines) }
        try removeRecords(of: path, on: disk)
    }

    /// Removes the proof that the store has a segment. Before the media, because a proof without a file means that the
    /// media is in the store.
    private static func removeRecords(
        of path: String, on disk: any Disk
    ) throws(ArchiveError) {
        try FileSystem.remove(SegmentCompanion.proof.path(of: path), on: disk)
        try FileSystem.remove(SegmentCompanion.upload.path(of: path), on: disk)
    }

    /// Completes an interrupted removal.
    /// - Parameters:
    ///   - staged: the renamed file.
    ///   - ledger: the source's ledger: it shows whether the second step was done.
    package static func complete(
        _ staged: String, on disk: any Disk = SystemDisk(), ledger: Ledger.Contents, now: UTCTime,
        appending append: (_ lines: [UInt8]) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let name = SegmentName.segment(of: staged)
        let known = ledger.entries.filter { $0.kind == .removed && $0.segment == name }
        let lines = ledgerLines(staged, cause: "removal cut short", known: known, now: now)
        if !lines.isEmpty { try append(lines) }
        try removeRecords(of: "\(Path.directory(of: staged))/\(name)", on: disk)
        try FileSystem.remove(staged, on: disk)
    }

    /// A line for each range of numbers in the file; one without numbers for unreadable content.
    /// - Parameter known: existing lines.
    private static func ledgerLines(
        _ staged: String, cause: String, known: [LedgerEntry], now: UTCTime
    ) -> [UInt8] {
        let numbers = SegmentNumbers.read(staged)
        var lines = ledgerLines(
            numbers.ranges, of: SegmentName.segment(of: staged), cause: cause, known: known,
            now: now)
        if let flaw = numbers.flaw, !known.contains(where: { $0.firstSequence == nil }) {
            var entry = LedgerEntry(kind: .removed, at: now)
            entry.cause = cause
            entry.segment = SegmentName.segment(of: staged)
            entry.text = "the rest of its content cannot be read: \(flaw)"
            lines += Ledger.line(entry)
        }
        return lines
    }

    private static func ledgerLines(
        _ records: [(spool: SpoolID, ranges: [ClosedRange<UInt64>])], of segment: String,
        cause: String, known: [LedgerEntry], now: UTCTime
    ) -> [UInt8] {
        var entry = LedgerEntry(kind: .removed, at: now)
        entry.cause = cause
        entry.segment = segment
        var lines: [UInt8] = []
        for (spool, ranges) in records {
            entry.spool = spool.description
            for range in ranges {
                entry.firstSequence = range.lowerBound
                entry.lastSequence = range.upperBound
                let isKnown = known.contains {
                    $0.spool == entry.spool && $0.firstSequence == entry.firstSequence
                        && $0.lastSequence == entry.lastSequence
                }
                if !isKnown { lines += Ledger.line(entry) }
            }
        }
        return lines
    }
}
