import Media

/// Checks a session: each file, and that the files together contain every sent record exactly once.
package struct SessionVerifier {
    private let layout: ArchiveLayout
    private let session: String
    private var findings: [Finding] = []

    /// Checks a session of an archive.
    /// - Throws: only when directories cannot be read; errors in their content are in the report.
    package static func verify(
        _ session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) -> SessionReport {
        var verifier = SessionVerifier(layout: layout, session: session)
        return try verifier.run()
    }

    private init(layout: ArchiveLayout, session: String) {
        self.layout = layout
        self.session = session
    }

    private mutating func run() throws(ArchiveError) -> SessionReport {
        let directory = layout.session(session)
        guard FileSystem.isDirectory(directory) else {
            throw .system(operation: "open the session", path: directory, errno: 2)
        }
        var manifest: SessionManifest?
        do throws(ArchiveError) {
            manifest = try SessionManifest.read(layout.manifest(session))
        } catch {
            findings.append(Finding(.damage, layout.manifest(session), error.reason))
        }
        var sources: [SessionReport.Source] = []
        for name in try layout.sourceNames(session) {
            sources.append(try source(name, isFinished: manifest?.state == .finished))
        }
        for source in manifest?.sources ?? []
        where !sources.contains(where: { $0.name == source.name }) {
            damage(layout.source(session, source.name), "the session's source has no recording")
        }
        return SessionReport(
            session: session, zero: manifest?.zero, state: manifest?.state.rawValue,
            sources: sources, findings: findings)
    }

    /// - Parameter isFinished: whether nothing more will arrive. Until then a hole is only data that is still to come: no later
    ///   record has been acknowledged, so the agent has all of it.
    private mutating func source(
        _ name: String, isFinished: Bool
    ) throws(ArchiveError) -> SessionReport.Source {
        var numbers = RecordNumbers()
        var files: [FileReport] = []
        var clocks: [ClockSummary.Reading] = []
        let ledger = try ledger(name)
        for path in try layout.segmentPaths(session, name) {
            let file = FileVerifier.examine(path, ledger: ledger.entries)
            files.append(file.report)
            clocks += file.clocks
            for (spool, ranges) in file.sequences {
                for range in ranges { numbers.insert(range, spool: spool.description) }
            }
        }
        let recorded = numbers.count
        for entry in ledger.entries {
            guard let spool = entry.spool else { continue }
            for range in entry.sequences { numbers.insert(range, spool: spool) }
        }
        let directory = layout.source(session, name)
        try noteRemovals(in: directory, ledger, &numbers)
        try noteMoved(SourceKey(session: session, source: name), ledger, &numbers)
        for (spool, holes) in numbers.holes {
            for hole in holes {
                let text =
                    "records \(hole.lowerBound) to \(hole.upperBound) are neither in a file nor in the "
                    + "ledger (spool \(spool.prefix(8)))"
                findings.append(
                    isFinished
                        ? Finding(.damage, directory, text)
                        : Finding(
                            .note, directory,
                            text + "; the session continues, and their agent has them"))
            }
        }
        if numbers.repeated > 0 {
            damage(directory, "\(numbers.repeated) records are stored twice")
        }
        let gaps = ledger.entries.filter { $0.kind == .gap }
        return SessionReport.Source(
            name: name, files: files, recordedSamples: recorded,
            lostSamples: gaps.lazy.compactMap(\.samples).clampedSum,
            missingNanoseconds: MissingTime.nanoseconds(gaps), gaps: gaps,
            clock: ClockSummary(clocks, ledger.entries),
            isComplete: ledger.entries.last { $0.kind == .goodbye || $0.kind == .opened }?.kind
                == .goodbye)
    }

    /// Records of files whose removal was interrupted before the ledger recorded it are explained nevertheless.
    private mutating func noteRemovals(
        in directory: String, _ ledger: Ledger.Contents, _ numbers: inout RecordNumbers
    ) throws(ArchiveError) {
        for name in try FileSystem.names(in: directory)
        where name.hasSuffix(SegmentRemoval.stagedSuffix) {
            let path = "\(directory)/\(name)"
            findings.append(
                Finding(.note, path, "its removal was interrupted; the collector completes it"))
            let segment = SegmentRemoval.segmentName(path)
            guard !ledger.entries.contains(where: { $0.segment == segment }) else { continue }
            for (spool, ranges) in SegmentNumbers.read(path).ranges {
                for range in ranges { numbers.insert(range, spool: spool.description) }
            }
        }
    }

    /// Records of segments whose media is in the store alone are there; whether the store still has them is asked with the store.
    private mutating func noteMoved(
        _ source: SourceKey, _ ledger: Ledger.Contents, _ numbers: inout RecordNumbers
    ) throws(ArchiveError) {
        for segment in try layout.movedSegments(source)
        where !ledger.entries.contains(where: {
            $0.kind == .removed && $0.segment == segment.fileName
        }) {
            do throws(ArchiveError) {
                guard let proof = try SegmentProof.read(segment, in: layout) else { continue }
                for (spool, ranges) in proof.ranges {
                    for range in ranges { numbers.insert(range, spool: spool.description) }
                }
                findings.append(
                    Finding(
                        .note, layout.proof(segment),
                        "its media is in \(proof.store); 'tributary store verify' checks it there"))
            } catch {
                damage(layout.proof(segment), error.reason)
            }
        }
    }

    private mutating func ledger(_ source: String) throws(ArchiveError) -> Ledger.Contents {
        let path = layout.ledger(session, source)
        let contents = try Ledger.read(path)
        for line in contents.damagedLines { damage(path, "line \(line) is damaged") }
        if contents.hasTornTail {
            findings.append(Finding(.note, path, "the last line is incomplete: a crash"))
        }
        return contents
    }

    private mutating func damage(_ path: String, _ text: String) {
        findings.append(Finding(.damage, path, text))
    }
}

/// Sequence numbers of a source, by spool.
private struct RecordNumbers {
    private var sets: [String: SequenceSet] = [:]
    private var first: [String: UInt64] = [:]
    /// How many numbers were inserted more than once.
    private(set) var repeated: UInt64 = 0
    /// How many distinct numbers.
    private(set) var count: UInt64 = 0

    mutating func insert(_ range: ClosedRange<UInt64>, spool: String) {
        let known = sets[spool, default: SequenceSet()].insert(range)
        first[spool] = min(first[spool] ?? range.lowerBound, range.lowerBound)
        repeated.addClamped(known)
        count.addClamped((range.upperBound - range.lowerBound).clampedAdding(1) - known)
    }

    /// The missing numbers between the first and the last number of each spool.
    ///
    /// A source that joined the session later begins with a later number: earlier ones belong to other sessions.
    var holes: [(spool: String, ranges: [ClosedRange<UInt64>])] {
        sets.map { spool, set in
            (spool, set.holes.filter { $0.lowerBound > first[spool] ?? 0 })
        }.sorted { $0.spool < $1.spool }
    }
}
