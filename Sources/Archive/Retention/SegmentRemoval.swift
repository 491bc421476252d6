import Media
import Glibc

/// Removes one segment from an archive so that an interruption by a crash leaves nothing unaccounted for.
///
/// 1. The file is renamed to mark it for removal (``stagedSuffix``): from here on it is not a segment.
/// 2. The ledger records which records were removed with it, and why; durable before the next step.
/// 3. The file is deleted.
///
/// ``complete(_:appending:)`` on the renamed file completes an interrupted removal.
package enum SegmentRemoval {
    /// Suffix of a segment that is being removed.
    package static let stagedSuffix = ".mp4.removing"

    /// Removes a segment.
    /// - Parameters:
    ///   - path: the segment.
    ///   - cause: for the ledger.
    ///   - append: writes lines to the source's ledger and makes them durable.
    package static func remove(
        _ path: String, on disk: any Disk = SystemDisk(), cause: String, now: UTCTime,
        appending append: (_ lines: [UInt8]) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let staged = String(path.dropLast(ArchiveLayout.segmentSuffix.count)) + stagedSuffix
        guard disk.rename(path, to: staged) == 0 else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
        try append(ledgerLines(staged, cause: cause, known: [], now: now))
        try FileSystem.remove(staged, on: disk)
    }

    /// Completes an interrupted removal.
    /// - Parameters:
    ///   - staged: the renamed file.
    ///   - ledger: the source's ledger: it shows whether the second step was done.
    package static func complete(
        _ staged: String, on disk: any Disk = SystemDisk(), ledger: Ledger.Contents, now: UTCTime,
        appending append: (_ lines: [UInt8]) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let name = segmentName(staged)
        let known = ledger.entries.filter { $0.kind == .removed && $0.segment == name }
        let lines = ledgerLines(staged, cause: "removal cut short", known: known, now: now)
        if !lines.isEmpty { try append(lines) }
        try FileSystem.remove(staged, on: disk)
    }

    /// A line for each range of numbers in the file; one without numbers for unreadable content.
    /// - Parameter known: existing lines.
    private static func ledgerLines(
        _ staged: String, cause: String, known: [LedgerEntry], now: UTCTime
    ) -> [UInt8] {
        var entry = LedgerEntry(kind: .removed, at: now)
        entry.cause = cause
        entry.segment = segmentName(staged)
        let numbers = SegmentNumbers.read(staged)
        var lines: [UInt8] = []
        for (spool, ranges) in numbers.ranges {
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
        if let flaw = numbers.flaw, !known.contains(where: { $0.firstSequence == nil }) {
            entry.spool = nil
            entry.firstSequence = nil
            entry.lastSequence = nil
            entry.text = "the rest of its content cannot be read: \(flaw)"
            lines += Ledger.line(entry)
        }
        return lines
    }

    /// The segment's original name.
    package static func segmentName(_ path: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return name.hasSuffix(stagedSuffix)
            ? String(name.dropLast(stagedSuffix.count)) + ArchiveLayout.segmentSuffix : name
    }
}
