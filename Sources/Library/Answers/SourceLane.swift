import Archive
import Catalog
import Media
import Recordings

/// Data of a source from which coverage of any range is computed.
struct SourceLane: Sendable {
    /// Data of one file.
    struct File: Sendable {
        /// The entry when it was read; nil: the store reports none, or a part of the file could not be read. It is read again the
        /// next time.
        var entry: StoredEntry?
        /// Recorded time, nanoseconds of session time; nil: none, or unreadable.
        var span: Range<Int64>?
        /// It may still grow.
        var isOpen: Bool
    }

    var source: String
    /// In the order of their origins.
    var files: [File]
    var gaps: [RecordedGap]
    var held: [HeldRecords] = []
    /// Acknowledged records that none of several archives has. ``gaps`` has them too.
    var unfound: [HeldRecords] = []
    /// Ledger lines about the times that a network camera states.
    var stated: [LedgerEntry] = []
    /// Recorded ranges of each of several archives; nil: one archive has all of them.
    var copies: [CopiedSpans]?
    /// Whether it stays the same while the source's folder is unchanged. Missing records may be found later, in another
    /// session or archive, and a file that could not be read may be readable later.
    var isFinal = true

    /// - Parameters:
    ///   - range: nanoseconds of session time.
    ///   - isRecording: files that are open grow.
    ///   - isForDrawing: as at ``SourceCoverage``.
    func coverage(
        in range: Range<Int64>, resolutionNanoseconds: Int64, isRecording: Bool,
        isForDrawing: Bool = true
    ) -> SourceCoverage {
        SourceCoverage(
            source,
            files: files.compactMap { file in
                file.span.map {
                    SourceCoverage.Span(
                        startNanoseconds: $0.lowerBound, endNanoseconds: $0.upperBound,
                        isGrowing: isRecording && file.isOpen)
                }
            }, gaps: gaps, held: held, stated: stated, copies: copies, range: range,
            resolutionNanoseconds: resolutionNanoseconds, isForDrawing: isForDrawing)
    }
}

/// Lanes of a session's sources, and whether it is being recorded.
struct SessionLanes {
    var sources: [SourceLane]
    var isRecording: Bool

    func coverage(in range: Range<Int64>, resolutionNanoseconds: Int64) -> [SourceCoverage] {
        sources.map {
            $0.coverage(
                in: range, resolutionNanoseconds: resolutionNanoseconds, isRecording: isRecording)
        }
    }
}

extension RecordingLibrary {
    /// Reads the data for coverage.
    /// - Parameters:
    ///   - range: session time, nanoseconds; data outside of it may be omitted.
    ///   - memory: nil: reads only what may be in the range, without caching.
    func lanes(
        of session: String, in range: Range<Int64>, remembering memory: CoverageMemory?,
        where isWanted: (String) -> Bool
    ) throws(ArchiveError) -> SessionLanes {
        let manifest = try manifest(session)
        var reader = LaneReader(library: self, manifest: manifest)
        var lanes: [SourceLane] = []
        for name in try sourceNames(session) where isWanted(name) {
            let source = SourceKey(session: session, source: name)
            let lane: SourceLane
            if let memory {
                lane = try memory.lane(of: source, in: store) { known throws(ArchiveError) in
                    try reader.read(source, in: nil, known: known)
                }
            } else {
                lane = try reader.read(source, in: range, known: nil)
            }
            // Sources without recordings are not on the timeline, unless their files were removed.
            if !lane.files.isEmpty || lane.gaps.contains(where: { $0.cause == RecordedGap.removed })
            {
                lanes.append(lane)
            }
        }
        let isOver = manifest.state == .finished
        return SessionLanes(
            sources: lanes, isRecording: isOver ? false : try isCollectorRunning())
    }
}

/// Reads a session's sources, one at a time.
private struct LaneReader {
    /// Number of new files of a source from which on the catalog is faster than the files.
    private static let manyFiles = 3
    /// The catalog lags behind the files, so it is not used for files that changed more recently.
    private static let settlingNanoseconds: Int64 = 60_000_000_000

    let library: RecordingLibrary
    let manifest: SessionManifest
    /// Ends of finished segments in the catalog, nanoseconds of session time; nil: not queried yet.
    private var ends: [SegmentKey: Int64]?
    /// Whether the latest source has files that another permission, or a repair, would make readable.
    private var hasUnreadableFiles = false

    init(library: RecordingLibrary, manifest: SessionManifest) {
        self.library = library
        self.manifest = manifest
    }

    /// - Parameters:
    ///   - range: nil: everything.
    ///   - known: earlier data; unchanged files are not read again.
    mutating func read(
        _ source: SourceKey, in range: Range<Int64>?, known: SourceLane?
    ) throws(ArchiveError) -> SourceLane {
        hasUnreadableFiles = false
        let recorded = try RecordedSource(
            source, in: library.store, zero: manifest.zeroTime,
            segmentNanoseconds: manifest.segmentNanoseconds)
        var remembered: [StoredEntry: SourceLane.File] = [:]
        for file in known?.files ?? [] {
            if let entry = file.entry { remembered[entry] = file }
        }
        let settled = SystemClock.utc.nowNanoseconds - Self.settlingNanoseconds
        let wanted = Self.files(of: recorded, in: range)
        let new = wanted.count {
            $0.entry.flatMap { remembered[$0] } == nil
        }
        var files: [SourceLane.File] = []
        files.reserveCapacity(wanted.count)
        // The end of the previous file, if known.
        var reached: Int64?
        for file in wanted {
            defer { reached = files.last?.span?.upperBound }
            if let entry = file.entry, let same = remembered[entry] {
                files.append(same)
            } else if new >= Self.manyFiles, let key = file.key,
                let reached,
                SourceCoverage.areJoined(reached, file.originNanoseconds),
                file.entry?.modifiedNanoseconds ?? 0 < settled, let end = try finishedEnds()[key]
            {
                // A file's name states its origin. The first sample may be later: it is read if no file precedes this one.
                let start = max(0, file.originNanoseconds)
                files.append(
                    .init(entry: file.entry, span: start..<max(start, end), isOpen: false))
            } else {
                files.append(try read(file))
            }
        }
        let unfound = try library.unfound(of: source)
        let unchanged = Self.unchangedNanoseconds(recorded, known)
        let located = try Self.located(
            unfound ?? [], of: recorded, known: known?.unfound ?? [], until: unchanged)
        let lines = try library.store.ledger(of: source).entries
        var held = HeldRecords.all(lines, recorded: [:])
        if !held.isEmpty, let merged = library.merged {
            held = HeldRecords.all(lines, recorded: try merged.numbers(of: source))
        }
        var lane = SourceLane(
            source: source.source, files: files,
            gaps: try recorded.gaps()
                + located.compactMap { RecordedGap(RecordingLibrary.loss(of: $0)) },
            held: try Self.located(
                held, of: recorded, known: known?.held ?? [], until: unchanged),
            unfound: located, stated: try recorded.stated(),
            copies: try library.merged?.copiedSpans(
                of: source, in: range, jointNanoseconds: SourceCoverage.jointNanoseconds,
                known: known?.copies ?? []))
        lane.isFinal =
            unfound?.isEmpty == true && library.merged?.temporaryOmissions ?? 0 == 0
            && !hasUnreadableFiles
        return lane
    }

    /// The session time, nanoseconds, up to which a source has the same files as when a lane was read.
    private static func unchangedNanoseconds(
        _ source: RecordedSource, _ known: SourceLane?
    ) -> Int64 {
        let same = zip(source.files, known?.files ?? []).prefix {
            $0.entry != nil && $0.entry == $1.entry
        }.count
        guard same < source.files.count else { return .max }
        return source.files[same].originNanoseconds
            .clampedSubtracting(RecordedSession.overlapNanoseconds)
    }

    /// Locates records on the timeline; records that were located in unchanged files are not looked for again.
    /// - Parameters:
    ///   - known: located earlier.
    ///   - end: session time, nanoseconds, up to which files are unchanged.
    private static func located(
        _ records: [HeldRecords], of source: RecordedSource, known: [HeldRecords], until end: Int64
    ) throws(ArchiveError) -> [HeldRecords] {
        var times: [HeldRecords: HeldRecords] = [:]
        for located in known where located.endNanoseconds ?? .max < end {
            var record = located
            record.startNanoseconds = nil
            record.endNanoseconds = nil
            times[record] = located
        }
        let new = records.filter { times[$0] == nil }
        for (record, located) in zip(new, try source.placed(new)) { times[record] = located }
        return records.map { times[$0] ?? $0 }
    }

    private static func files(
        of source: RecordedSource, in range: Range<Int64>?
    ) -> ArraySlice<RecordedSource.File> {
        guard let range else { return source.files[...] }
        let first =
            source.files.indices.first { index in
                index + 1 == source.files.count
                    || source.files[index + 1].originNanoseconds
                        >= range.lowerBound.clampedSubtracting(RecordedSession.overlapNanoseconds)
            } ?? source.files.endIndex
        return source.files[first...].prefix { $0.originNanoseconds < range.upperBound }
    }

    private mutating func finishedEnds() throws(ArchiveError) -> [SegmentKey: Int64] {
        if let ends { return ends }
        let rows = try library.askCatalog { catalog throws(ArchiveError) in
            try catalog.segments(of: manifest.session, from: nil, until: nil)
        }
        var found: [SegmentKey: Int64] = [:]
        for row in rows ?? [] {
            let owner = SourceKey(session: manifest.session, source: row.source)
            guard let end = row.endNanoseconds, let key = SegmentKey(owner, fileName: row.file)
            else { continue }
            found[key] = end
        }
        ends = found
        return found
    }

    private mutating func read(_ file: RecordedSource.File) throws(ArchiveError) -> SourceLane.File
    {
        let omissions = library.merged?.temporaryOmissions
        var found = SourceLane.File(entry: file.entry, span: nil, isOpen: false)
        do throws(ArchiveError) {
            let opened = try file.opened()
            found.isOpen = !opened.isFinished
            found.span = try RecordedSpan(of: opened).map {
                $0.startNanoseconds..<$0.endNanoseconds
            }
        } catch {
            // A damaged, removed or unreadable file shows nothing; `verify` reports the error.
            guard error.isForOneFile else { throw error }
            if !error.isForContent, !error.isForAbsence {
                hasUnreadableFiles = true
                found.entry = nil
            }
        }
        if library.merged?.temporaryOmissions != omissions { found.entry = nil }
        return found
    }
}
