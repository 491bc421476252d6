import Media

/// Checks a session: each file, and that the files together contain every sent record exactly once.
package struct SessionVerifier {
    private let files: any SessionFiles
    private let session: String
    /// Whether records that are missing here may be in another archive, which the caller checks.
    private let hasOthers: Bool
    private var findings: [Finding] = []
    /// The session's zero according to files that contradict its description.
    private var otherZero: UTCTime?

    /// Names have milliseconds, and so does the zero of a description that recovery made from a session's name.
    private static let nameToleranceNanoseconds: UInt64 = 1_000_000

    /// Checks a session of an archive.
    /// - Throws: only when directories cannot be read; errors in their content are in the report.
    package static func verify(
        _ session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) -> SessionReport {
        let files = SessionDirectory(layout: layout, session: session)
        guard try FileSystem.hasDirectory(files.path) else {
            throw .system(operation: "open the session", path: files.path, errno: 2)
        }
        return try verify(session, files)
    }

    /// Checks a session in any storage.
    /// - Throws: only when folders cannot be listed, or a store cannot be reached; errors in their content are in the
    ///   report.
    /// - Parameter hasOthers: whether other archives of the session are verified too. If so, records that are missing here are
    ///   not a finding (``SourceNumbers``).
    package static func verify(
        _ session: String, _ files: any SessionFiles, hasOthers: Bool = false
    ) throws(ArchiveError) -> SessionReport {
        var verifier = SessionVerifier(files: files, session: session, hasOthers: hasOthers)
        return try verifier.run()
    }

    private init(files: any SessionFiles, session: String, hasOthers: Bool) {
        self.files = files
        self.session = session
        self.hasOthers = hasOthers
    }

    private mutating func run() throws(ArchiveError) -> SessionReport {
        var manifest: SessionManifest?
        do throws(ArchiveError) {
            manifest = try files.manifest()
        } catch {
            guard !error.isForStore else { throw error }
            findings.append(Finding(.damage, files.manifestPath, error.reason))
        }
        var sources: [SessionReport.Source] = []
        var names: [String] = []
        try attempt(files.path) { (verifier) throws(ArchiveError) in
            names = try verifier.files.sourceNames()
        }
        for name in names {
            try attempt(files.path(of: name)) { (verifier) throws(ArchiveError) in
                sources.append(try verifier.source(name, in: manifest))
            }
        }
        let absent = (manifest?.sources ?? []).map(\.name).filter { name in
            !sources.contains { $0.name == name }
        }
        if !hasOthers {
            findings += SessionReport.absenceFindings(absent, besides: findings, files.path(of:))
        }
        try checkLabels()
        try checkClocks()
        if let manifest { checkZero(of: manifest) }
        return SessionReport(
            session: session, zero: manifest?.zero, state: manifest?.state.rawValue,
            sources: sources, findings: findings)
    }

    /// Checks a part. An entry of the wrong kind is damage, and does not prevent the other checks.
    private mutating func attempt(
        _ path: String, _ check: (inout SessionVerifier) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        do throws(ArchiveError) {
            try check(&self)
        } catch {
            let isMalformed = if case .malformed = error { true } else { false }
            guard error.isForEntry || isMalformed else { throw error }
            damage(path, "cannot be read: \(error.reason)")
        }
    }

    /// - Parameter manifest: the session's description; nil: it is unreadable. Until the session has finished, a hole is only
    ///   data that is still to come: no later record has been acknowledged, so the agent has all of it.
    private mutating func source(
        _ name: String, in manifest: SessionManifest?
    ) throws(ArchiveError) -> SessionReport.Source {
        let isFinished = manifest?.state == .finished
        var numbers = SourceNumbers()
        var reports: [FileReport] = []
        var clocks: [ClockSummary.Reading] = []
        var ends: [(report: FileReport, first: StampedRun, last: StampedRun)] = []
        let ledger = try ledger(name)
        let segments = try files.segmentNames(of: name)
        for segment in segments {
            let file = try files.examine(segment, of: name, ledger: ledger.entries)
            reports.append(file.report)
            check(segment, of: name, file, in: manifest, besides: segments)
            clocks += file.clocks
            ends += file.ends.map { (file.report, $0.first, $0.last) }
            for (spool, ranges) in file.sequences {
                for range in ranges { numbers.insert(range, spool: spool.description) }
            }
        }
        checkJoints(ends, ledger.entries)
        let recorded = numbers.count
        numbers.media = numbers.known
        // −1 without a takeover, so that no line precedes it.
        let takenOver = ledger.entries.lastIndex(where: \.isTakenOver) ?? -1
        for (place, entry) in ledger.entries.enumerated() {
            guard let spool = entry.spool, place > takenOver || !entry.isAboutOtherSessions,
                entry.kind != .later, entry.kind != .held, !entry.isDeclaredLost
            else { continue }
            for range in entry.sequences { numbers.insert(range, spool: spool) }
        }
        let directory = files.path(of: name)
        let spools = manifest?.sources.first { $0.name == name }?.spools ?? []
        if isFinished, ledger.isMissing, spools.contains(where: { $0.through > 0 }) {
            damage(
                files.ledgerPath(of: name),
                "is missing: the ledger of a finished source; copy it from where the recording comes from"
            )
        }
        try noteRemovals(of: name, ledger, &numbers)
        try noteMoved(name, ledger, &numbers)
        // Records that a lost collector has attributed elsewhere may have arrived again in this session; and so may
        // records attributed to a later session, if a killed collector's successor did not know of the session's end; and
        // so may records of another collector, whose agent did not know that they had arrived there.
        for (place, entry) in ledger.entries.enumerated()
        where entry.kind == .later || entry.kind == .held || entry.isDeclaredLost
            || (place < takenOver && entry.isAboutOtherSessions)
        {
            for range in entry.sequences { numbers.explain(range, spool: entry.spool ?? "") }
        }
        if isFinished { numbers.expect(spools) }
        if !hasOthers {
            findings += numbers.holeFindings(directory, isFinished: isFinished)
            if isFinished {
                findings += numbers.startFindings(directory, spools, ledger.entries)
            }
        }
        if numbers.repeated > 0 {
            damage(directory, "\(numbers.repeated) records are stored twice")
        }
        let gaps = ledger.entries.filter { $0.kind == .gap }
        let held = HeldRecords.all(ledger.entries, recorded: numbers.media)
        let removed = RemovedFiles.all(
            ledger.entries, present: segments.compactMap { SegmentName($0)?.origin },
            recorded: numbers.media, zero: manifest?.zeroTime)
        return SessionReport.Source(
            name: name, files: reports, recordedSamples: recorded,
            lostSamples: gaps.lazy.compactMap(\.samples).clampedSum,
            missingNanoseconds: MissingTime.nanoseconds(gaps), gaps: gaps,
            removed: removed.isEmpty ? nil : removed,
            clock: ClockSummary(clocks, ledger.entries),
            isComplete: ledger.entries.last { $0.kind == .goodbye || $0.kind == .opened }?.kind
                == .goodbye, held: held.isEmpty ? nil : held, numbers: numbers)
    }

    /// Whether a segment's name is the instant at which it begins, and the session's zero that of the description.
    private mutating func check(
        _ segment: String, of source: String, _ file: FileVerifier, in manifest: SessionManifest?,
        besides segments: [String]
    ) {
        guard let zero = file.sessionZero else { return }
        let origin = zero.advanced(by: file.originNanoseconds)
        let named = SegmentName(segment)?.origin
        if named.map({ Self.differ($0, origin) }) ?? true {
            let owner = SourceKey(session: session, source: source)
            let name = SegmentKey(owner, origin: origin).fileName
            let remedy =
                segments.contains(name)
                ? "rename it, or remove it if it is a copy of that file" : "rename it"
            damage(
                "\(files.path(of: source))/\(segment)", "it has the content of \(name): \(remedy)")
        }
        if let manifest, Self.differ(manifest.zeroTime, zero) { otherZero = zero }
    }

    /// Checks the files of name, tags, note and marks.
    private mutating func checkLabels() throws(ArchiveError) {
        try checkLabels(SessionNotes.fileName, SessionNotes.maximumBytes) {
            (bytes, path) throws(ArchiveError) in _ = try SessionNotes.parse(bytes, path: path)
        }
        try checkLabels(SessionMarks.fileName, SessionMarks.maximumBytes) {
            (bytes, path) throws(ArchiveError) in _ = try SessionMarks.parse(bytes, path: path)
        }
    }

    private mutating func checkLabels(
        _ file: String, _ limit: Int, _ parse: ([UInt8], String) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let path = "\(files.path)/\(file)"
        do throws(ArchiveError) {
            guard let bytes = try files.contents(of: file, limit: limit) else { return }
            try parse(bytes, path)
        } catch {
            guard !error.isForStore else { throw error }
            damage(path, error.reason)
        }
    }

    private mutating func checkClocks() throws(ArchiveError) {
        let path = "\(files.path)/\(ArchiveLayout.clocksName)"
        _ = try lines(path) { files throws(ArchiveError) in try files.clocks() }
    }

    private mutating func checkZero(of manifest: SessionManifest) {
        if manifest.zero != manifest.zeroTime.description {
            damage(
                files.manifestPath,
                "'zero' is \(manifest.zero), but 'zeroUTCNanoseconds' is \(manifest.zeroTime)")
        }
        if let otherZero {
            damage(
                files.manifestPath,
                "the session's zero is \(manifest.zeroTime), but \(otherZero) in its files")
        }
    }

    private static func differ(_ one: UTCTime, _ other: UTCTime) -> Bool {
        one.nanoseconds.clampedSubtracting(other.nanoseconds).magnitude
            > nameToleranceNanoseconds
    }

    /// Reports times that contradict the agent's stamps across files.
    private mutating func checkJoints(
        _ ends: [(report: FileReport, first: StampedRun, last: StampedRun)],
        _ ledger: [LedgerEntry]
    ) {
        for kind in TrackKind.allCases {
            let files = ends.filter { $0.first.track == kind }
                .sorted { $0.first.sequence < $1.first.sequence }
            for (file, next) in zip(files, files.dropFirst())
            where file.last.sequence < next.first.sequence {
                guard
                    let text = StampDistances.contradiction(
                        file.last, next.first, ledger: ledger,
                        isRetimed: next.report.retiming != nil, isJoint: true)
                else { continue }
                findings.append(Finding(.timeDamage, next.report.path, at: next.first.offset, text))
            }
        }
    }

    /// Records of files whose removal was interrupted before the ledger recorded it are explained nevertheless.
    private mutating func noteRemovals(
        of source: String, _ ledger: Ledger.Contents, _ numbers: inout SourceNumbers
    ) throws(ArchiveError) {
        for removal in try files.interruptedRemovals(of: source) {
            findings.append(
                Finding(
                    .note, removal.path, "its removal was interrupted; the collector completes it"))
            guard !ledger.entries.contains(where: { $0.segment == removal.segment }) else {
                continue
            }
            for (spool, ranges) in removal.records() {
                for range in ranges { numbers.insert(range, spool: spool.description) }
            }
        }
    }

    /// Records of segments whose media is in the store only count as present; the store's own verification checks
    /// whether it still has them.
    private mutating func noteMoved(
        _ source: String, _ ledger: Ledger.Contents, _ numbers: inout SourceNumbers
    ) throws(ArchiveError) {
        for moved in try files.movedSegments(of: source)
        where !ledger.entries.contains(where: {
            $0.kind == .removed && $0.segment == moved.segment
        }) {
            do throws(ArchiveError) {
                guard let proof = try moved.proof() else { continue }
                for (spool, ranges) in proof.ranges {
                    for range in ranges { numbers.insert(range, spool: spool.description) }
                }
                findings.append(
                    Finding(
                        .note, moved.path,
                        "its media is in \(proof.store); 'tributary store verify' checks it there"))
            } catch {
                damage(moved.path, error.reason)
            }
        }
    }

    private mutating func ledger(_ source: String) throws(ArchiveError) -> Ledger.Contents {
        try lines(files.ledgerPath(of: source)) { files throws(ArchiveError) in
            try files.ledger(of: source)
        }
    }

    /// Reads a file in the format of ledgers, and reports its damage.
    private mutating func lines(
        _ path: String, _ read: (any SessionFiles) throws(ArchiveError) -> Ledger.Contents
    ) throws(ArchiveError) -> Ledger.Contents {
        var contents = Ledger.Contents()
        try attempt(path) { (verifier) throws(ArchiveError) in
            contents = try read(verifier.files)
        }
        for text in contents.damage { damage(path, text) }
        if contents.hasTornTail {
            findings.append(Finding(.note, path, "the last line is incomplete: a crash"))
        }
        return contents
    }

    private mutating func damage(_ path: String, _ text: String) {
        findings.append(Finding(.damage, path, text))
    }
}
