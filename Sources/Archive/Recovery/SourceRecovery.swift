import Files
import Media

/// Recovers one source's part of an interrupted session.
///
/// An error in one file does not stop the recovery of the others: it is reported in the log and in the ledger.
package struct SourceRecovery {
    /// The state that recovery prepares.
    package enum Purpose: Hashable, Sendable {
        /// The session has ended: every file is finished.
        case finish
        /// The session is resumed, and so is its newest file.
        case goOn
        /// A file could no longer be written, for this reason: all files are finished, and the session continues. If
        /// patient, an unreadable file is an error: it may be readable in a moment, and its records would then be
        /// stored twice.
        case rescue(String, isPatient: Bool)
    }

    /// Number of finished files of each spool that are also read, those with the highest numbers. Ledger and files
    /// become durable together every second, so records older than the last finished file have long been durable. One
    /// more file is read for late records. Another one is read because audio at the end of a file has later numbers
    /// than the next file's first picture.
    static let finishedFilesRead = 3
    /// Finished files written within this time before those are read too. On a slow box, audio may arrive seconds after
    /// its pictures; with interruptions as well, some short files lie between a long one's first number and its last.
    static let lateNanoseconds: Int64 = 60_000_000_000

    let layout: ArchiveLayout
    let session: String
    let name: String
    let zero: UTCTime
    let purpose: Purpose
    let now: UTCTime
    /// All files have been synchronised since they were last written.
    var areFilesSynchronized = false

    package private(set) var notes: [RecoveryNote] = []
    var entries: [LedgerEntry] = []
    /// Lines for the ledger.
    var written: [LedgerEntry] = []
    private var areLinesWritten = false
    /// Lines that the caller must write: those of an unwritable ledger, and all lines if the session continues. Writing and
    /// synchronising a thousand ledgers in succession takes seconds.
    package var unwritten: [LedgerEntry] { areLinesWritten ? [] : written }
    var surveys: [SegmentSurvey] = []
    /// The records of the source's spools in this session.
    package internal(set) var spools: [RecordedSpool] = []
    /// For spools with finished files that were not read: the number before which all records are on disk.
    private var settledBefore: [SpoolID: UInt64] = [:]
    /// The first record in them.
    private var firstSettled: [SpoolID: UInt64] = [:]
    /// Records in files whose removal was interrupted, and in segments whose media is in the store only.
    private(set) var removing: [(spool: SpoolID, ranges: [ClosedRange<UInt64>])] = []
    /// The continuations of segments whose media is in the store only, in the order of their names.
    private var continuations: [SegmentContinuation] = []
    private var hasDamage = false
    /// An earlier collector's summaries of the newest files.
    private var checkpoint = SourceCheckpoint()
    /// Summaries of the newest files as they are now.
    private var nextCheckpoint = SourceCheckpoint()
    /// Records of the source's spools in earlier sessions.
    var elsewhere: [RecordedSpool] = []

    package init(
        layout: ArchiveLayout, session: String, name: String, zero: UTCTime, purpose: Purpose,
        now: UTCTime
    ) {
        self.layout = layout
        self.session = session
        self.name = name
        self.zero = zero
        self.purpose = purpose
        self.now = now
    }

    /// Recovers the source; ``spools`` then contains the records on disk.
    package mutating func run(
        _ entry: SessionManifest.Source?
    ) throws(ArchiveError) -> RecoveredSource {
        let path = layout.checkpoint(SourceKey(session: session, source: name))
        // Files that no longer grow are read to be finished.
        if purpose == .finish { _ = layout.disk.unlink(path) }
        guard purpose == .goOn else { return try recover(entry) }
        var quick = self
        quick.checkpoint = SourceCheckpoint.read(path)
        let source = try quick.recover(entry)
        guard quick.checkpoint.isEmpty || quick.isSummarisedDurable else {
            return try recover(entry)
        }
        self = quick
        return source
    }

    /// Whether summaries suffice. An agent may send records after its watermark again, for which the times of adjacent
    /// records are needed.
    private var isSummarisedDurable: Bool {
        surveys.compactMap(\.summarised).flatMap(\.parts).allSatisfy { part in
            let known = spools.first { $0.spool == part.spool }?.sequences.watermark ?? 0
            return part.numbers.highest <= known
        }
    }

    private mutating func recover(
        _ entry: SessionManifest.Source?
    ) throws(ArchiveError) -> RecoveredSource {
        try recoverLedger()
        var source = RecoveredSource(
            entry: entry
                ?? SessionManifest.Source(
                    name: name, agent: "", address: "", tracks: [], isComplete: false))
        try removeUnnamed()
        let paths = try layout.segmentPaths(session, name)
        let moved = try layout.movedSegments(SourceKey(session: session, source: name))
        source.origins = paths.compactMap(origin)
        // A new file must not have the name of one that the store has.
        source.origins += moved.map { $0.origin.nanoseconds - zero.nanoseconds }
        let open = try recoverSegments(paths)
        try readRemovals()
        readMoved(moved)
        spools = joinSpools()
        source.spools = spools.map(\.spool)
        source.entry.isComplete = isComplete
        let last = purpose == .goOn && !isComplete ? open.last : nil
        for segment in open where segment != last { try finish(segment) }
        source.open = last
        source.open?.checkpoint = nextCheckpoint
        goOn(after: continuations, &source)
        let stored = source.ends
        for survey in inOrder(surveys) {
            if !survey.formats.isEmpty { source.formats = survey.formats }
            for run in survey.fragments.flatMap(\.runs) { source.ends[run.track] = run.end }
            source.spool = survey.fragments.last?.spool ?? source.spool
            for clock in survey.clocks { source.keep(clock) }
        }
        // Segments are not always stored in order.
        for (track, end) in stored where end.isLater(than: source.ends[track]) {
            source.ends[track] = end
        }
        source.entry.tracks =
            source.formats.isEmpty ? source.entry.tracks : source.formats.map(\.summary)
        if let last { sayThatItGoesOn(last) }
        switch purpose {
        case .finish:
            // Holes due to damage are never filled.
            if !hasDamage { for spool in spools { sayWhatComesLater(of: spool) } }
        case .goOn: for spool in spools { sayWhatCameEarlier(of: spool) }
        case .rescue: break
        }
        for spool in spools {
            source.accounted[spool.spool] = spool.sequences
            source.firsts[spool.spool] = first(of: spool.spool)
        }
        appendLines()
        source.unwritten = unwritten
        source.ledgerBytes = ledgerBytes()
        return source
    }

    /// Whether anything of the source is recorded or explained, or could not be read.
    var hasContent: Bool {
        hasDamage || surveys.contains { !$0.fragments.isEmpty }
            || entries.contains { !$0.sequences.isEmpty }
    }

    /// The number up to which everything of a spool is on disk, if not all of its files were read; nil: all were.
    /// Unfinished files are not included.
    private func settled(of spool: SpoolID) -> UInt64? {
        guard let before = settledBefore[spool] else { return nil }
        let open = surveys.lazy.filter { !$0.isFinished }.flatMap(\.fragments)
            .filter { $0.spool == spool }.compactMap(\.lowest).min()
        // Records are numbered from 1; a file with another number proves nothing.
        return max(min(before, open ?? before), 1) - 1
    }

    /// The first record of a spool in its files and its ledger; nil: it has none.
    private func first(of spool: SpoolID) -> UInt64? {
        let fragments = surveys.lazy.flatMap(\.fragments).filter { $0.spool == spool }
            .compactMap(\.lowest)
        let lines = entries.lazy.filter { !$0.isAboutOtherSessions }.flatMap(\.replacedRecords)
            .filter { $0.spool == spool }.map(\.sequences.lowerBound)
        let removed = removing.lazy.filter { $0.spool == spool }.flatMap(\.ranges)
            .map(\.lowerBound)
        let moved = continuations.lazy.flatMap(\.runsOnDisk).filter { $0.spool == spool }
            .map(\.run.sequences.lowerBound)
        return [
            fragments.min(), lines.min(), removed.min(), moved.min(), firstSettled[spool],
        ].compactMap(\.self).min()
    }

    /// Whether it has ended, and no earlier record is missing.
    private var isComplete: Bool {
        guard let last = entries.last(where: { $0.kind == .goodbye || $0.kind == .opened }),
            last.kind == .goodbye
        else { return false }
        // A goodbye that was repeated in a resumed session has no number of its own.
        guard let line = numbered(last).first else { return true }
        return spools.contains { $0.spool == line.spool && $0.hasGoodbye }
    }

    /// Continues a source from proofs only.
    private func goOn(after continuations: [SegmentContinuation], _ source: inout RecoveredSource) {
        for continuation in continuations {
            for (_, run) in continuation.runsOnDisk
            where run.end.isLater(than: source.ends[run.track]) {
                source.ends[run.track] = run.end
            }
            source.spool = SpoolID(hexadecimal: continuation.spool) ?? source.spool
            if let clock = continuation.recordedClock { source.keep(clock) }
            if source.entry.tracks.isEmpty { source.entry.tracks = continuation.tracks }
        }
    }

    /// The lines since a collector continued from the object store, if one did: earlier files were on another disk.
    private var ownEntries: ArraySlice<LedgerEntry> {
        guard let last = entries.last(where: \.isTakenOver),
            let first = entries.firstIndex(where: { $0.isTakenOver && $0.at == last.at })
        else { return entries[...] }
        return entries[first...]
    }

    private func joinSpools() -> [RecordedSpool] {
        var found: [RecordedSpool] = []
        let ownEntries = ownEntries
        // Records that another collector had in an earlier session may have been on its disk only.
        let lines = entries.enumerated().filter {
            $0.offset >= ownEntries.startIndex || $0.element.kind != .earlier
        }.map(\.element).flatMap(numbered)
        let fragments = surveys.flatMap(\.fragments)
        let taken = ownEntries.filter(\.isTakenOver).compactMap {
            $0.spool.flatMap(SpoolID.init(hexadecimal:))
        }
        let all = fragments.map(\.spool) + lines.map(\.spool) + removing.map(\.spool) + taken
        let known = Set(all)
        // In the order of the ledger: descriptions list spools in this order, the most recent one last.
        let named = entries.compactMap { $0.spool.flatMap(SpoolID.init(hexadecimal:)) }
        var seen: Set<SpoolID> = []
        let moved = continuations.flatMap(\.runsOnDisk)
        for spool in named + all where known.contains(spool) && seen.insert(spool).inserted {
            let ownFragments = fragments.filter { $0.spool == spool }
            let own = ownFragments.flatMap(\.runs)
            let explained = lines.filter { $0.spool == spool }
            let identity = spool.description
            // Records that were durable before the source began are not expected here. If the line that records this is
            // missing, a power cut destroyed it, and may have destroyed anything before the first record on disk: only
            // the agent can tell.
            var base = ownEntries.filter { $0.spool == identity }.compactMap(\.after).max() ?? 0
            if let settled = settled(of: spool) { base = max(base, settled) }
            var recorded = RecordedSpool(spool: spool, sequences: SequenceSet(upTo: base))
            for range in ownFragments.flatMap(\.numbers) { recorded.sequences.insert(range) }
            for run in own { recorded.sequences.insert(run.sequences) }
            for (owner, ranges) in removing where owner == spool {
                for range in ranges { recorded.sequences.insert(range) }
            }
            for line in explained { recorded.sequences.insert(line.sequences) }
            for line in entries where line.kind == .held && line.spool == identity {
                for range in line.sequences { recorded.held.insert(range) }
            }
            recorded.goodbye = explained.last { $0.isGoodbye }?.sequences.upperBound
            recorded.term =
                entries.lazy.filter { $0.spool == identity }.compactMap(\.term).max()
                ?? 0
            // The times of a session that is not resumed are useless in another session.
            recorded.runs =
                purpose == .finish
                ? [] : own + moved.filter { $0.spool == spool }.map(\.run)
            recorded.trim()
            found.append(recorded)
        }
        return found
    }
}

extension SourceRecovery {
    /// A ledger line that replaces records.
    struct Numbered {
        var spool: SpoolID
        var sequences: ClosedRange<UInt64>
        var isGoodbye: Bool
    }

    func numbered(_ entry: LedgerEntry) -> [Numbered] {
        entry.replacedRecords.map {
            Numbered(spool: $0.spool, sequences: $0.sequences, isGoodbye: entry.kind == .goodbye)
        }
    }

    private mutating func note(_ survey: SegmentSurvey, of path: String) {
        guard purpose == .goOn, survey.flaw == nil || !survey.isFinished,
            let summary = survey.summary
        else { return }
        let known = survey.isFinished ? summary.withoutExchanges() : summary
        nextCheckpoint.keep(known, of: Path.name(of: path))
    }

    private func origin(_ path: String) -> Int64? {
        SegmentName(Path.name(of: path))?.origin.map { $0.nanoseconds - zero.nanoseconds }
    }

    /// Removes files that a crash prevented from getting their first fragment, and with it their name.
    private func removeUnnamed() throws(ArchiveError) {
        for file in try paths(.unnamed) {
            try FileSystem.remove(file, on: layout.disk)
        }
    }

    private mutating func recoverLedger() throws(ArchiveError) {
        let path = layout.ledger(session, name)
        do throws(ArchiveError) {
            let outcome = try LedgerRecovery.recover(
                path, on: layout.disk, isSynchronized: areFilesSynchronized)
            entries = outcome.contents.entries
            if outcome.cutBytes > 0 {
                warn("\(path): cut off incomplete lines (\(outcome.cutBytes) bytes)")
            }
            for damage in outcome.contents.damage {
                notes.append(RecoveryNote(.error, source: name, "\(path): \(damage)"))
            }
        } catch {
            // Without its lines, a rescued source's ledger would appear incomplete.
            if case .rescue(_, isPatient: true) = purpose, case .system = error { throw error }
            notes.append(RecoveryNote(.error, source: name, "\(error)"))
        }
    }

    /// Reads the necessary files, oldest first; returns the files that can be resumed or finished.
    private mutating func recoverSegments(
        _ paths: [String]
    ) throws(ArchiveError) -> [UnfinishedSegment] {
        var open: [UnfinishedSegment] = []
        var isFinished: [String: Bool] = [:]
        for path in paths {
            do throws(ArchiveError) {
                isFinished[path] = try SegmentRecovery.isFinished(path)
            } catch {
                try setAside(path, error)
            }
        }
        let skipped = settled(paths.filter { isFinished[$0] == true })
        for path in paths where isFinished[path] != nil && !skipped.contains(path) {
            do throws(ArchiveError) {
                let outcome = try SegmentRecovery.recover(
                    path, after: checkpoint.summary(of: Path.name(of: path)), on: layout.disk,
                    isSynchronized: areFilesSynchronized)
                if case .open(let survey, _, _) = outcome { note(survey, of: path) }
                if case .finished(let survey) = outcome { note(survey, of: path) }
                switch outcome {
                case .finished(let survey):
                    surveys.append(survey)
                    if let flaw = survey.flaw {
                        setAside(path, "at byte \(flaw.offset): \(flaw.reason)")
                    }
                case .open(let survey, let segment, let cutBytes):
                    surveys.append(survey)
                    open.append(segment)
                    if cutBytes > 0 {
                        warn("\(path): cut off \(cutBytes) bytes after its last complete fragment")
                    }
                case .empty:
                    notes.append(
                        RecoveryNote(.info, source: name, "\(path): removed, it contained nothing"))
                case .setAside(let reason, let survey):
                    if let survey { surveys.append(survey) }
                    setAside(path, reason)
                }
            } catch {
                try setAside(path, error)
            }
        }
        return open
    }

    /// Finished files that need not be read.
    ///
    /// The newest are those with the highest numbers, regardless of their names: after a clock was set back, later
    /// records are in files with earlier names. The last record of a file arrived before the file's last modification.
    /// A file whose status cannot be determined is read, and then found to be damaged.
    private mutating func settled(_ finished: [String]) -> Set<String> {
        struct File {
            var path: String
            var first: UInt64
            var written: Int64
        }
        var files: [SpoolID: [File]] = [:]
        for path in finished {
            // If a file contains two spools, the first one counts: it contains the first records of the other one,
            // before all of that spool's own files.
            guard let (spool, first) = SegmentNumbers.first(of: path),
                let written = written(path)
            else { continue }
            files[spool, default: []].append(File(path: path, first: first, written: written))
        }
        var settled: Set<String> = []
        for (spool, own) in files {
            let sorted = own.sorted { $0.first < $1.first }
            let newest = sorted.suffix(Self.finishedFilesRead)
            // The first of the newest files may follow records with higher numbers than its own.
            guard let second = newest.dropFirst().first,
                let earliest = newest.map(\.written).min()
            else { continue }
            let older = sorted.dropLast(Self.finishedFilesRead)
                .filter { $0.written < earliest - Self.lateNanoseconds }
            guard !older.isEmpty else { continue }
            settledBefore[spool] = second.first
            firstSettled[spool] = older.first?.first
            settled.formUnion(older.map(\.path))
        }
        return settled
    }

    /// A file's modification time; nil where it is unknown.
    private func written(_ path: String) -> Int64? {
        do throws(ArchiveError) {
            return try FileSystem.modified(path).nanoseconds
        } catch {
            // Reading the file will report the error.
            return nil
        }
    }

    /// In the order of their numbers, if one spool wrote them all; otherwise in the order of their names.
    private func inOrder(_ surveys: [SegmentSurvey]) -> [SegmentSurvey] {
        guard Set(surveys.flatMap(\.fragments).map(\.spool)).count == 1 else { return surveys }
        func first(_ survey: SegmentSurvey) -> UInt64 {
            survey.fragments.first?.lowest ?? 0
        }
        return surveys.sorted { first($0) < first($1) }
    }

    /// Records in files whose removal was interrupted are accounted for: the completed removal writes them into the ledger.
    private mutating func readRemovals() throws(ArchiveError) {
        for file in try paths(.removing) { removing += SegmentNumbers.read(file).ranges }
    }

    private func paths(_ companion: SegmentCompanion) throws(ArchiveError) -> [String] {
        let owner = SourceKey(session: session, source: name)
        return try layout.names(owner).names(companion).map { "\(layout.source(owner))/\($0)" }
    }

    /// Records in segments whose media is in the store only are recorded.
    private mutating func readMoved(_ segments: [SegmentKey]) {
        for segment in segments {
            do throws(ArchiveError) {
                guard let proof = try SegmentProof.read(segment, in: layout) else { continue }
                removing += proof.ranges
                if let continuation = proof.continuation { continuations.append(continuation) }
            } catch {
                notes.append(RecoveryNote(.error, source: name, "\(error)"))
            }
        }
    }

    private mutating func finish(_ segment: UnfinishedSegment) throws(ArchiveError) {
        do throws(ArchiveError) {
            try SegmentRecovery.finish(segment, on: layout.disk)
            if case .rescue(let reason, _) = purpose {
                let text =
                    "\(segment.path): ends after \(segment.fragments) fragments (\(reason))"
                notes.append(RecoveryNote(.warning, source: name, text))
                addLine(.failed, text)
            } else {
                let text =
                    "\(segment.path): finished at the start of a collector, \(segment.fragments) fragments"
                notes.append(RecoveryNote(.info, source: name, text))
                addLine(.resumed, text)
            }
        } catch {
            try setAside(segment.path, error)
        }
    }

    private mutating func sayThatItGoesOn(_ segment: UnfinishedSegment) {
        let text = "\(segment.path): continues after \(segment.fragments) fragments"
        notes.append(RecoveryNote(.info, source: name, text))
        addLine(.resumed, text)
    }

    private mutating func warn(_ text: String) {
        notes.append(RecoveryNote(.warning, source: name, text))
        addLine(.resumed, text)
    }

    /// A file could not be read or finished.
    private mutating func setAside(_ path: String, _ error: ArchiveError) throws(ArchiveError) {
        if case .rescue(_, isPatient: true) = purpose, case .system = error { throw error }
        setAside(path, error.reason)
    }

    /// Reports a damaged file: once in the ledger, every time in the log.
    private mutating func setAside(_ path: String, _ reason: String) {
        hasDamage = true
        let text = "\(path): \(reason); left unchanged"
        notes.append(RecoveryNote(.error, source: name, text))
        let line = withinSource(text)
        if !entries.contains(where: { $0.kind == .damaged && $0.text == line }) {
            addLine(.damaged, text)
        }
    }

    private mutating func addLine(_ kind: LedgerEntry.Kind, _ text: String) {
        var entry = LedgerEntry(kind: kind, at: now)
        entry.text = withinSource(text)
        written.append(entry)
    }

    /// In ledger lines, file names are relative to the ledger, independent of the archive's path.
    private func withinSource(_ text: String) -> String {
        text.replacing("\(layout.source(session, name))/", with: "")
    }

    private func ledgerBytes() -> Int64 {
        do throws(ArchiveError) {
            return Int64(clamping: try FileSystem.size(layout.ledger(session, name)))
        } catch {
            // It does not exist, or is unreadable, which was reported.
            return 0
        }
    }

    private mutating func appendLines() {
        guard purpose == .finish else { return }
        do throws(ArchiveError) {
            try LedgerRecovery.append(
                written, to: layout.ledger(session, name), on: layout.disk)
            areLinesWritten = true
        } catch {
            notes.append(RecoveryNote(.error, source: name, "\(error)"))
        }
    }
}
