package import Archive
import Media

/// Merges the ledgers of several archives for one source.
struct MergedLedger {
    /// Lines of one archive.
    struct Lines {
        var entries: [LedgerEntry]
        var shift: SessionShift
    }

    /// Identifies equal lines: a gap reported by an agent has a sequence number, and is in every archive that has this number.
    private struct Identity: Hashable {
        var kind: LedgerEntry.Kind
        var spool: String?
        var sequences: [ClosedRange<UInt64>]
        var track: String?
        var segment: String?
    }

    /// - Parameters:
    ///   - archives: in the order of their names.
    ///   - collectors: names of the archives' collectors, whose records are read.
    ///   - isRecorded: whether another archive has all records that a line reports as missing. `noted`: numbers that other
    ///     archives' ledgers have instead of files, which counts where a collector was declared lost.
    static func entries(
        _ archives: [Lines], collectors: Set<String>,
        isRecorded: (LedgerEntry, _ archive: Int, _ noted: SequenceSet) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> [LedgerEntry] {
        let noted = notes(archives)
        var seen: Set<Identity> = []
        var all: [LedgerEntry] = []
        for (archive, lines) in archives.enumerated() {
            for var line in lines.entries {
                if let collector = line.collector, collectors.contains(collector) {
                    // Records held by an archive that is read are not missing.
                    if line.kind == .held { continue }
                    if line.isDeclaredLost {
                        var known = SequenceSet()
                        for (other, notes) in noted.enumerated() where other != archive {
                            known.formUnion(line.spool.flatMap { notes[$0] } ?? SequenceSet())
                        }
                        if try isRecorded(line, archive, known) { continue }
                    }
                }
                let sequences = line.sequences
                if line.spool != nil, !sequences.isEmpty {
                    let identity = Identity(
                        kind: line.kind, spool: line.spool, sequences: sequences,
                        track: line.track, segment: line.segment)
                    // Duplicates within the first archive are kept.
                    if archive > 0, seen.contains(identity) { continue }
                    seen.insert(identity)
                    if line.kind == .gap, try isRecorded(line, archive, SequenceSet()) { continue }
                }
                line.startNanoseconds = line.startNanoseconds.map {
                    $0.clampedAdding(lines.shift.at($0).nanoseconds)
                }
                all.append(line)
            }
        }
        // The sort is stable: lines of one archive keep their order.
        return all.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }.map(\.element)
    }

    /// Each archive's ``HeldRecords/noted(_:)``, if a collector was declared lost.
    private static func notes(_ archives: [Lines]) -> [[String: SequenceSet]] {
        guard archives.contains(where: { $0.entries.contains(where: \.isDeclaredLost) }) else {
            return []
        }
        return archives.map { HeldRecords.noted($0.entries) }
    }
}

extension MergedStore {
    package func ledger(of source: SourceKey) throws(ArchiveError) -> Ledger.Contents {
        let session = try session(source.session)
        var archives: [MergedLedger.Lines] = []
        var collectors: Set<String> = []
        for copy in session.copies {
            let own = try ledger(of: source, in: copy)
            if session.copies.count == 1 { return own }
            archives.append(
                MergedLedger.Lines(entries: own.entries, shift: copy.shift))
            if let name = copy.manifest.collector { collectors.insert(name) }
        }
        var merged = Ledger.Contents()
        let lines = try MergedLedger.entries(archives, collectors: collectors) {
            line, archive, noted throws(ArchiveError) in
            try isRecorded(line, of: source, besides: archive, noted: noted, in: session)
        }
        var noted: [String: SequenceSet]?
        for line in lines {
            guard line.isDeclaredLost else {
                merged.entries.append(line)
                continue
            }
            let known = noted ?? HeldRecords.noted(archives.flatMap(\.entries))
            noted = known
            if let limited = try limited(line, noted: known, of: source, in: session) {
                merged.entries.append(limited)
            }
        }
        return merged
    }

    /// A declared loss without the records that are in one of the archives, between the samples next to the others. One archive
    /// alone may have bounded it by much earlier and later samples.
    /// - Parameters:
    ///   - line: with times of the merged session.
    ///   - noted: records that ledgers have instead of files, by spool.
    /// - Returns: nil: all of its records are there.
    private func limited(
        _ line: LedgerEntry, noted: [String: SequenceSet], of source: SourceKey,
        in session: MergedSession
    ) throws(ArchiveError) -> LedgerEntry? {
        guard let name = line.spool, let spool = SpoolID(hexadecimal: name) else { return line }
        var known = noted[name] ?? SequenceSet()
        var files: [(file: CopiedFile, records: SequenceSet)] = []
        for file in try self.files(of: source, in: session).all {
            guard let own = try numbers(of: file, in: session).all[spool] else { continue }
            known.formUnion(own)
            files.append((file, own))
        }
        let lost = line.sequences.flatMap { known.missing(in: $0) }
        guard let first = lost.map(\.lowerBound).min(), let last = lost.map(\.upperBound).max()
        else { return line.sequences.isEmpty ? line : nil }
        var line = line
        line.firstSequence = nil
        line.lastSequence = nil
        line.ranges = lost.map { [$0.lowerBound, $0.upperBound] }
        line.samples =
            lost.lazy.map { ($0.upperBound - $0.lowerBound).clampedAdding(1) }
            .clampedSum
        var before: (number: UInt64, file: CopiedFile)?
        var after: (number: UInt64, file: CopiedFile)?
        for (file, records) in files {
            if let range = records.ranges.last(where: { $0.lowerBound < first }) {
                let number = min(range.upperBound, first - 1)
                if number > before?.number ?? 0 { before = (number, file) }
            }
            if let range = records.ranges.first(where: { $0.upperBound > last }) {
                let number = max(range.lowerBound, last.clampedAdding(1))
                if number < after?.number ?? .max { after = (number, file) }
            }
        }
        do throws(ArchiveError) {
            guard let after,
                let end = try RecordedSource.place(
                    of: first...last, spool, in: recorded(after.file, in: session)
                ).end
            else { return line }
            let start = try before.flatMap { before throws(ArchiveError) in
                try RecordedSource.place(
                    of: first...last, spool, in: recorded(before.file, in: session)
                ).start
            }
            line.startNanoseconds = start ?? min(0, end)
            line.durationNanoseconds = UInt64(
                clamping: end.clampedSubtracting(start ?? min(0, end)))
        } catch {
            // The file is reported as left out when its samples are read.
            guard error.isForContent || error.isForAbsence else { throw error }
        }
        return line
    }
}

extension MergedStore {
    /// Reads one archive's ledger.
    package func ledger(
        of source: SourceKey, in copy: MergedSession.Copy
    ) throws(ArchiveError) -> Ledger.Contents {
        try asked(copy.member) { store throws(ArchiveError) in
            try store.ledger(of: copy.own(source))
        }
            ?? .empty
    }

    /// Whether other archives have all records that a line reports as missing. Of records that were declared lost: or may
    /// have them.
    private func isRecorded(
        _ line: LedgerEntry, of source: SourceKey, besides archive: Int, noted: SequenceSet,
        in session: MergedSession
    ) throws(ArchiveError) -> Bool {
        guard let spool = line.spool.flatMap(SpoolID.init(hexadecimal:)) else { return false }
        var range = Int64.min...Int64.max
        // A line about other collectors' records does not tell which archive has them.
        if !line.isDeclaredLost {
            guard let own = line.startNanoseconds else { return false }
            let start = own.clampedAdding(session.copies[archive].shift.at(own).nanoseconds)
            let length = session.manifest.segmentNanoseconds
                .clampedAdding(RecordedSession.overlapNanoseconds)
            let end = start.clampedAdding(Int64(clamping: line.durationNanoseconds ?? 0))
            range = start.clampedSubtracting(length)...max(start, end.clampedAdding(length))
        }
        var known = noted
        for file in try files(of: source, in: session)
            .files(from: range.lowerBound, through: range.upperBound)
        where file.copy != archive {
            if let own = try numbers(of: file, in: session).all[spool] { known.formUnion(own) }
        }
        if line.sequences.allSatisfy({ known.firstMissing(in: $0) == nil }) { return true }
        // Records that cannot be read at the moment are not reported as lost.
        return line.isDeclaredLost && temporaryOmissions > 0
    }
}
