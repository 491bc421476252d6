import Media
import MP4
import Timing

/// Recomputes a finished session's timeline from the raw stamps, using all clock exchanges, and rewrites only the files' indices.
/// It can also undo that.
package struct SessionRetimer: ~Copyable {
    private let layout: ArchiveLayout
    private let session: String
    private let peers: [RetimingPeer]
    private let lock: DirectoryLock

    /// - Parameter peers: other archives of the session's site. They are only read, so that the order in which the archives of a
    ///   site are retimed does not matter: stamps and exchanges count, and no retimed times.
    /// - Throws: when the session is still being recorded, or another program is retiming it.
    package init(
        _ session: String, in layout: ArchiveLayout, peers: [RetimingPeer] = []
    ) throws(ArchiveError) {
        guard ArchiveLayout.isValidName(session) else { throw .badName(session) }
        let path = layout.session(session)
        let lock = try DirectoryLock(
            path, busy: "is being retimed by another program; wait for it")
        let manifest = try SessionManifest.read(layout.manifest(session))
        guard manifest.state == .finished else {
            throw .malformed(
                path: path,
                reason: "still being recorded; retime it when it is finished (a collector that was "
                    + "killed finishes its session when it is started again)")
        }
        var moved = 0
        for source in try layout.sourceNames(session) {
            moved += try layout.movedSegments(SourceKey(session: session, source: source)).count
        }
        guard moved == 0 else {
            throw .malformed(
                path: path,
                reason:
                    "\(moved) of its segments are in the object store alone, and retiming needs all of them here: "
                    + "'tributary store fetch \(session)' brings them back")
        }
        self.layout = layout
        self.session = session
        self.peers = peers
        self.lock = lock
    }

    /// Recomputes the timeline of every source.
    /// - Parameter isDryRun: whether to only report the changes.
    /// - Throws: before anything is written, when a file is not finished or not complete, or when new times would
    ///   contradict the agents' stamps. Also when a file cannot be written: the files before it are then retimed, and
    ///   the same command continues where it stopped.
    package func retime(isDryRun: Bool) throws(ArchiveError) -> RetimingReport {
        var sources: [CollectorClocks.Source] = []
        for source in try layout.sourceNames(session) { sources.append(try clocks(of: source)) }
        var problems: [String] = []
        var own = SiteClocks([])
        do throws(ArchiveError) {
            own = try SiteClocks(of: session, in: layout)
            if let problem = own.problem { problems.append(problem) }
        } catch {
            problems.append("exchanges with other collectors are not used: \(error)")
        }
        let names = sources.map(\.name)
        let evidence = peers.map { PeerEvidence($0, sources: names) }
        let clocks = CollectorClocks(
            sources, site: own, peers: evidence, problems: problems + evidence.flatMap(\.problems))
        var cameras = try SessionCameras(sources, in: layout, session)
        let report = try retime(sources, clocks, &cameras, isDryRun: true)
        return isDryRun ? report : try retime(sources, clocks, &cameras, isDryRun: false)
    }

    private func retime(
        _ sources: [CollectorClocks.Source], _ clocks: CollectorClocks,
        _ cameras: inout SessionCameras, isDryRun: Bool
    ) throws(ArchiveError) -> RetimingReport {
        var report = RetimingReport(session: session, isDryRun: isDryRun, sources: [])
        for source in sources {
            var files: [RetimingReport.File]
            do throws(ArchiveError) {
                files = try retime(
                    source, clocks, cameras.times[source.name], isDryRun: isDryRun)
            } catch {
                // Nothing has been written in a dry run.
                guard isDryRun, cameras.leaveOut(source.name, error) else { throw error }
                files = try retime(source, clocks, nil, isDryRun: isDryRun)
            }
            report.sources.append(
                RetimingReport.Source(
                    name: source.name, exchanges: source.exchanges.count,
                    believedExchanges: clocks.believedExchanges(of: source.name), files: files))
        }
        if !clocks.peers.isEmpty { report.peers = clocks.peers }
        let problems = clocks.problems + cameras.problems
        if !problems.isEmpty { report.problems = problems }
        return report
    }

    private func retime(
        _ source: CollectorClocks.Source, _ clocks: CollectorClocks, _ camera: CameraTimes?,
        isDryRun: Bool
    ) throws(ArchiveError) -> [RetimingReport.File] {
        var retimer = SourceRetimer(
            timelines: clocks.timelines(of: source.name), camera: camera)
        var files: [RetimingReport.File] = []
        let paths = try layout.segmentPaths(session, source.name)
        for (index, path) in paths.enumerated() {
            let next = paths.dropFirst(index + 1).first
            files.append(
                try retime(
                    path, &retimer, next: next.map { ($0, source.openings[$0]) },
                    isDryRun: isDryRun))
        }
        return files
    }

    /// Restores the index with which each file was finished, byte for byte.
    package func undo(isDryRun: Bool) throws(ArchiveError) -> RetimingReport {
        var report = RetimingReport(session: session, isDryRun: isDryRun, sources: [])
        for source in try layout.sourceNames(session) {
            var files: [RetimingReport.File] = []
            for path in try layout.segmentPaths(session, source) {
                let steps = try withEvidence(path) { source, evidence throws(MP4Error) in
                    try replacement(source, evidence).stepsBack
                }
                if !isDryRun, !steps.isEmpty { try IndexEditor(path: path).perform(steps) }
                files.append(
                    RetimingReport.File(
                        path: path, outcome: steps.isEmpty ? .unchanged : .restored))
            }
            report.sources.append(
                RetimingReport.Source(
                    name: source, exchanges: 0, believedExchanges: 0, files: files))
        }
        return report
    }

    /// The clock data of a source, from its files and its ledger.
    private func clocks(of name: String) throws(ArchiveError) -> CollectorClocks.Source {
        var source = CollectorClocks.Source(name: name, exchanges: [], places: [], zeros: [])
        for path in try layout.segmentPaths(session, name) {
            let evidence = try withEvidence(path) { _, evidence throws(MP4Error) in evidence }
            source.exchanges += evidence.exchanges
            source.places += evidence.places
            source.openings[path] = FileOpening(evidence)
            source.camera.survey(evidence, path: path)
        }
        source.camera.endSurvey()
        source.add(try Ledger.read(layout.ledger(session, name)).entries)
        return source
    }

    private func retime(
        _ path: String, _ retimer: inout SourceRetimer,
        next file: (path: String, opening: FileOpening?)?, isDryRun: Bool
    ) throws(ArchiveError) -> RetimingReport.File {
        var result = RetimingReport.File(path: path, outcome: .withoutExchanges)
        var steps: [FileStep] = []
        var next = retimer
        let index = try withEvidence(path) { source, evidence throws(ArchiveError) in
            let index = try next.index(
                of: source, evidence, next: file?.opening, path: path, nextPath: file?.path)
            guard let index else { return index }
            do throws(MP4Error) {
                let replacement = try replacement(source, evidence)
                let current = try source.read(
                    at: replacement.current.offset, count: Int(replacement.current.sizeBytes))
                if current != index.movie || replacement.hasRemainder {
                    steps = replacement.steps(replacingWith: index.movie)
                }
            } catch {
                throw .malformed(path: path, reason: "cannot be retimed: \(error)")
            }
            return index
        }
        retimer = next
        guard let index else { return result }
        result.outcome = steps.isEmpty ? .unchanged : .retimed
        let shifts = index.shifts
        result.medianShiftNanoseconds = shifts.isEmpty ? 0 : shifts[shifts.count / 2]
        result.greatestShiftNanoseconds = shifts.last ?? 0
        result.boundBefore = RetimingReport.Bounds(index.record.before)
        result.boundAfter = RetimingReport.Bounds(index.record.after)
        result.camera = RetimingReport.Camera(index.record)
        if !isDryRun, !steps.isEmpty { try IndexEditor(path: path).perform(steps) }
        return result
    }
}

private func replacement(
    _ source: DescriptorSource, _ evidence: ClockEvidence
) throws(MP4Error) -> IndexReplacement {
    try IndexReplacement(
        of: source, layout: evidence.layout, fragmentsEnd: evidence.fragmentsEnd)
}

/// Runs `body` with a file and the clock data in its fragments.
/// - Parameter isWhole: whether it has to be finished and complete.
func withEvidence<Result>(
    _ path: String, isWhole: Bool = true,
    _ body: (DescriptorSource, ClockEvidence) throws -> Result
) throws(ArchiveError) -> Result {
    do {
        return try FileSystem.withFile(path) { source in
            try body(source, ClockEvidence(source, path: path, isWhole: isWhole))
        }
    } catch let error as ArchiveError {
        throw error
    } catch {
        throw .malformed(path: path, reason: "cannot be retimed: \(error)")
    }
}

extension CollectorClocks.Source {
    /// Adds the lines of its ledger.
    mutating func add(_ ledger: [LedgerEntry]) {
        for entry in ledger {
            if entry.kind == .epoch, let zero = entry.collectorZeroNanoseconds {
                zeros.append(zero)
            }
            guard let clock = ClockKey(entry) else { continue }
            for stamps in entry.exchanges ?? [] where stamps.count == 4 {
                exchanges.append(
                    (
                        clock,
                        ClockExchange(
                            t1Nanoseconds: stamps[0], t2Nanoseconds: stamps[1],
                            t3Nanoseconds: stamps[2], t4Nanoseconds: stamps[3])
                    ))
            }
        }
    }
}

extension ClockKey {
    /// From a ledger line about exchanges.
    fileprivate init?(_ entry: LedgerEntry) {
        guard entry.kind == .exchanges, let zero = entry.collectorZeroNanoseconds,
            let epoch = entry.epoch.flatMap(EpochID.init(hexadecimal:))
        else { return nil }
        self.init(epoch: epoch, collectorZeroNanoseconds: zero)
    }
}
