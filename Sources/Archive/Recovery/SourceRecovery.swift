import Media

/// Puts one source's part of an interrupted session in order.
///
/// Nothing that is wrong with one file stops the others: it is said in the log and in the ledger.
package struct SourceRecovery {
    /// What follows on the recovery.
    package enum Purpose: Hashable, Sendable {
        /// The session is over: every file is finished.
        case finish
        /// The session goes on, and so does its newest file.
        case goOn
        /// A file could not be written any further, and this is why: all files are finished, the session goes on. While it is
        /// patient, what cannot be read now is an error: it may be readable in a moment, and would then be there twice.
        case rescue(String, isPatient: Bool)
    }

    /// Finished files of each spool that are read too, those with its last numbers. The disk makes ledger and files durable
    /// together every second, so that what is older than the last finished file has long been: one more is for what was late, and
    /// another because sound at the end of a file has later numbers than the next file's first picture.
    static let finishedFilesRead = 3
    /// So are those that were written to in the time before these. Where a box is slow, its sound may come seconds behind its pictures;
    /// where it is interrupted, too, some short files lie between a long one's first number and its last.
    static let lateNanoseconds: Int64 = 60_000_000_000

    let layout: ArchiveLayout
    let session: String
    let name: String
    let zero: UTCTime
    let purpose: Purpose
    let now: UTCTime

    package private(set) var notes: [RecoveryNote] = []
    var entries: [LedgerEntry] = []
    var written: [LedgerEntry] = []
    var surveys: [SegmentSurvey] = []
    /// What of the source's spools is here.
    package internal(set) var spools: [RecordedSpool] = []
    /// Spools of which finished files were not read: the number before which everything of them is on disk.
    private var settledBefore: [SpoolID: UInt64] = [:]
    /// What is in files whose removal was cut short.
    private var removing: [(spool: SpoolID, ranges: [ClosedRange<UInt64>])] = []
    private var hasDamage = false
    /// What earlier sessions have of the source's spools.
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

    /// What was found and put in order; what of its spools is here, ``spools`` says then.
    package mutating func run(
        _ entry: SessionManifest.Source?
    ) throws(ArchiveError) -> RecoveredSource {
        recoverLedger()
        var source = RecoveredSource(
            entry: entry
                ?? SessionManifest.Source(
                    name: name, agent: "", address: "", tracks: [], isComplete: false))
        try removeUnnamed()
        let paths = try layout.segmentPaths(session, name)
        source.origins = paths.compactMap(origin)
        let open = try recoverSegments(paths)
        try readRemovals()
        spools = joinSpools()
        source.spools = spools.map(\.spool)
        source.entry.isComplete = isComplete
        let last = purpose == .goOn && !isComplete ? open.last : nil
        for segment in open where segment != last { try finish(segment) }
        source.open = last
        for survey in inOrder(surveys) {
            if !survey.formats.isEmpty { source.formats = survey.formats }
            for run in survey.fragments.flatMap(\.runs) { source.ends[run.track] = run.end }
            source.spool = survey.fragments.last?.spool ?? source.spool
            source.clock = survey.fragments.last?.clock ?? source.clock
        }
        source.entry.tracks =
            source.formats.isEmpty ? source.entry.tracks : source.formats.map(\.summary)
        if let last { sayThatItGoesOn(last) }
        switch purpose {
        case .finish:
            // Holes that damage has made are none that anybody fills.
            if !hasDamage { for spool in spools { sayWhatComesLater(of: spool) } }
        case .goOn: for spool in spools { sayWhatCameEarlier(of: spool) }
        case .rescue: break
        }
        appendLines()
        source.ledgerBytes = ledgerBytes()
        return source
    }

    /// Whether anything of the source is recorded or explained, or could not be read.
    var hasContent: Bool {
        hasDamage || surveys.contains { !$0.fragments.isEmpty }
            || entries.contains { !$0.sequences.isEmpty }
    }

    /// Up to which record everything of a spool is on disk, where not all of its files were read; nil: all were. Files that were
    /// not finished are no part of that.
    private func settled(of spool: SpoolID) -> UInt64? {
        guard let before = settledBefore[spool] else { return nil }
        let open = surveys.lazy.filter { !$0.isFinished }.flatMap(\.fragments)
            .filter { $0.spool == spool }.flatMap(\.runs).map(\.sequences.lowerBound).min()
        // Records are counted from 1; a file that says otherwise settles nothing.
        return max(min(before, open ?? before), 1) - 1
    }

    /// It has said goodbye, and nothing that came before that is missing.
    private var isComplete: Bool {
        guard let last = entries.last(where: { $0.kind == .goodbye || $0.kind == .opened }),
            last.kind == .goodbye
        else { return false }
        // A goodbye that a resumed session heard again stands for no number.
        guard let line = numbered(last).first else { return true }
        return spools.contains { $0.spool == line.spool && $0.hasGoodbye }
    }

    private func joinSpools() -> [RecordedSpool] {
        var found: [RecordedSpool] = []
        let lines = entries.flatMap(numbered)
        let fragments = surveys.flatMap(\.fragments)
        for spool in Set(fragments.map(\.spool) + lines.map(\.spool)) {
            let own = fragments.filter { $0.spool == spool }.flatMap(\.runs)
            let explained = lines.filter { $0.spool == spool }
            let identity = spool.description
            // What was durable before the source came is not expected here. Where the line that says so is missing, a power cut took
            // it, and may have taken anything before the first record that is here: only the agent knows.
            var base = entries.filter { $0.spool == identity }.compactMap(\.after).max() ?? 0
            if let settled = settled(of: spool) { base = max(base, settled) }
            var recorded = RecordedSpool(spool: spool, sequences: SequenceSet(upTo: base))
            for run in own { recorded.sequences.insert(run.sequences) }
            for (owner, ranges) in removing where owner == spool {
                for range in ranges { recorded.sequences.insert(range) }
            }
            for line in explained { recorded.sequences.insert(line.sequences) }
            recorded.goodbye = explained.last { $0.isGoodbye }?.sequences.upperBound
            // Times of a session that does not go on are of no use to another.
            recorded.runs = purpose == .finish ? [] : own
            recorded.trim()
            found.append(recorded)
        }
        return found
    }
}

extension SourceRecovery {
    /// A line of the ledger that stands for records.
    struct Numbered {
        var spool: SpoolID
        var sequences: ClosedRange<UInt64>
        var isGoodbye: Bool
    }

    func numbered(_ entry: LedgerEntry) -> [Numbered] {
        guard entry.kind != .later, let spool = entry.spool.flatMap(SpoolID.init(hexadecimal:))
        else { return [] }
        return entry.sequences.filter { $0.lowerBound > 0 }.map {
            Numbered(spool: spool, sequences: $0, isGoodbye: entry.kind == .goodbye)
        }
    }

    private func origin(_ path: String) -> Int64? {
        let name = path.split(separator: "/").last ?? ""
        return UTCTime(fileName: name.dropLast(ArchiveLayout.segmentSuffix.count)).map {
            $0.nanoseconds - zero.nanoseconds
        }
    }

    /// Files that a crash kept from getting their first fragment, and their name.
    private func removeUnnamed() throws(ArchiveError) {
        let directory = layout.source(session, name)
        let suffix = ArchiveLayout.segmentSuffix + SegmentWriter.unnamedSuffix
        for file in try FileSystem.names(in: directory) where file.hasSuffix(suffix) {
            try FileSystem.remove("\(directory)/\(file)", on: layout.disk)
        }
    }

    private mutating func recoverLedger() {
        let path = layout.ledger(session, name)
        do throws(ArchiveError) {
            let outcome = try LedgerRecovery.recover(path, on: layout.disk)
            entries = outcome.contents.entries
            if outcome.cutBytes > 0 {
                warn("\(path): cut lines that were not whole (\(outcome.cutBytes) bytes)")
            }
            for line in outcome.contents.damagedLines {
                notes.append(
                    RecoveryNote(
                        .error, source: name, "\(path): line \(line) is not what was written"))
            }
        } catch {
            notes.append(RecoveryNote(.error, source: name, "\(error)"))
        }
    }

    /// Reads what has to be read, oldest first; the files that can be gone on with, or finished, are returned.
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
                switch try SegmentRecovery.recover(path, on: layout.disk) {
                case .finished(let survey):
                    surveys.append(survey)
                    if let flaw = survey.flaw {
                        setAside(path, "at byte \(flaw.offset): \(flaw.reason)")
                    }
                case .open(let survey, let segment, let cutBytes):
                    surveys.append(survey)
                    open.append(segment)
                    if cutBytes > 0 {
                        warn("\(path): cut \(cutBytes) bytes behind its last whole fragment")
                    }
                case .empty:
                    notes.append(
                        RecoveryNote(.info, source: name, "\(path): removed, it held nothing yet"))
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
    /// The newest are those with the last numbers, whatever their names: a clock that was put back gives the later records the
    /// earlier files. The last number of a file came before the file was last written to. A file that cannot be asked is read, and
    /// found to be damaged.
    private mutating func settled(_ finished: [String]) -> Set<String> {
        struct File {
            var path: String
            var first: UInt64
            var written: Int64
        }
        var files: [SpoolID: [File]] = [:]
        for path in finished {
            // Of two spools in one file, the first is meant: of the other it holds what came first, before all of its own files.
            guard let (spool, first) = SegmentNumbers.first(of: path),
                let written = written(path)
            else { continue }
            files[spool, default: []].append(File(path: path, first: first, written: written))
        }
        var settled: Set<String> = []
        for (spool, own) in files {
            let sorted = own.sorted { $0.first < $1.first }
            let newest = sorted.suffix(Self.finishedFilesRead)
            // The one that is first may follow upon records that are later than its own.
            guard let second = newest.dropFirst().first,
                let earliest = newest.map(\.written).min()
            else { continue }
            let older = sorted.dropLast(Self.finishedFilesRead)
                .filter { $0.written < earliest - Self.lateNanoseconds }
            guard !older.isEmpty else { continue }
            settledBefore[spool] = second.first
            settled.formUnion(older.map(\.path))
        }
        return settled
    }

    /// When a file was last written to; nil where that is not known.
    private func written(_ path: String) -> Int64? {
        do throws(ArchiveError) {
            return try FileSystem.modified(path).nanoseconds
        } catch {
            // Reading it will say what is the matter with it.
            return nil
        }
    }

    /// In the order of their numbers, where one spool wrote them all; otherwise in that of their names.
    private func inOrder(_ surveys: [SegmentSurvey]) -> [SegmentSurvey] {
        guard Set(surveys.flatMap(\.fragments).map(\.spool)).count == 1 else { return surveys }
        func first(_ survey: SegmentSurvey) -> UInt64 {
            survey.fragments.first?.runs.map(\.sequences.lowerBound).min() ?? 0
        }
        return surveys.sorted { first($0) < first($1) }
    }

    /// What is in files whose removal was cut short belongs to nobody else: the removal's end writes it into the ledger.
    private mutating func readRemovals() throws(ArchiveError) {
        let directory = layout.source(session, name)
        for file in try FileSystem.names(in: directory)
        where file.hasSuffix(SegmentRemoval.stagedSuffix) {
            removing += SegmentNumbers.read("\(directory)/\(file)").ranges
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
                    "\(segment.path): finished after a crash, \(segment.fragments) fragments"
                notes.append(RecoveryNote(.info, source: name, text))
                addLine(.resumed, text)
            }
        } catch {
            try setAside(segment.path, error)
        }
    }

    private mutating func sayThatItGoesOn(_ segment: UnfinishedSegment) {
        let text = "\(segment.path): goes on after \(segment.fragments) fragments"
        notes.append(RecoveryNote(.info, source: name, text))
        addLine(.resumed, text)
    }

    private mutating func warn(_ text: String) {
        notes.append(RecoveryNote(.warning, source: name, text))
        addLine(.resumed, text)
    }

    /// A file could not be read, or finished.
    private mutating func setAside(_ path: String, _ error: ArchiveError) throws(ArchiveError) {
        if case .rescue(_, isPatient: true) = purpose, case .system = error { throw error }
        setAside(path, error.reason)
    }

    /// Says of a file that it is damaged: once in the ledger, every time in the log.
    private mutating func setAside(_ path: String, _ reason: String) {
        hasDamage = true
        let text = "\(path): \(reason); left as it is"
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

    /// A line for the ledger names files as they are beside it, wherever the archive is.
    private func withinSource(_ text: String) -> String {
        text.replacing("\(layout.source(session, name))/", with: "")
    }

    private func ledgerBytes() -> Int64 {
        do throws(ArchiveError) {
            return Int64(clamping: try FileSystem.size(layout.ledger(session, name)))
        } catch {
            // There is none, or it cannot be read, which was noted.
            return 0
        }
    }

    private mutating func appendLines() {
        do throws(ArchiveError) {
            try LedgerRecovery.append(
                written, to: layout.ledger(session, name), on: layout.disk)
        } catch {
            notes.append(RecoveryNote(.error, source: name, "\(error)"))
        }
    }
}
