package import Archive
import MP4
package import Media

/// Copies a part of a recorded session into another archive, as a collector would have recorded it that got only these records: the
/// records keep their numbers, spools and stamps, and files are cut where they were.
package struct SplitRecording: Sendable {
    /// The collector's name in the copy; nil: it has none.
    package var collector: String?
    /// Added to the copy's times: its collector's estimate of the agents' clocks is off by this.
    package var shiftNanoseconds: Int64 = 0
    /// The term of the copy's records.
    package var term: UInt64 = 0
    /// The lines omitted from the ledger.
    package var leavesOutLines: @Sendable (LedgerEntry) -> Bool = { _ in false }
    /// The spool of the copy's records: that of another box; nil: the recording's.
    package var spool: SpoolID?
    /// Whether files are finished.
    package var isFinished = true

    package init(collector: String? = nil, term: UInt64 = 0, shiftNanoseconds: Int64 = 0) {
        self.collector = collector
        self.term = term
        self.shiftNanoseconds = shiftNanoseconds
    }

    /// Makes the copy.
    /// - Parameter isWanted: whether the copy has a record.
    package func copy(
        _ session: String, from layout: ArchiveLayout, to copy: ArchiveLayout,
        where isWanted: (_ spool: SpoolID, _ number: UInt64) -> Bool
    ) throws {
        var manifest = try SessionManifest.read(layout.manifest(session))
        manifest.collector = collector
        if !isFinished { manifest.state = .recording }
        for source in try layout.sourceNames(session) {
            let folder = copy.source(session, source)
            try FileSystem.makeDirectories(folder)
            var spools: Set<SpoolID> = []
            for path in try layout.segmentPaths(session, source) {
                let name = path.split(separator: "/").last.map(String.init) ?? ""
                try self.copy(path, to: "\(folder)/\(name)") { spool, number in
                    spools.insert(self.spool ?? spool)
                    return isWanted(spool, number)
                }
            }
            let lines =
                try Ledger.read(layout.ledger(session, source)).entries
                .filter { !leavesOutLines($0) }.map(changed) + spools.map(opened)
            if !lines.isEmpty {
                try FileSystem.replace(
                    copy.ledger(session, source), with: lines.flatMap(Ledger.line))
            }
        }
        try FileSystem.replace(copy.manifest(session), with: manifest.encoded())
    }

    /// All of a spool's records were sent under the copy's term.
    private func opened(_ spool: SpoolID) -> LedgerEntry {
        var line = LedgerEntry(kind: .opened, at: UTCTime(nanoseconds: 0))
        line.spool = spool.description
        line.after = 0
        line.term = term
        return line
    }

    private func changed(_ line: LedgerEntry) -> LedgerEntry {
        var line = line
        if line.kind == .opened { line.term = term }
        if line.kind == .clock {
            line.offsetNanoseconds = line.offsetNanoseconds.map { $0 + shiftNanoseconds }
        }
        line.startNanoseconds = line.startNanoseconds.map { $0 + shiftNanoseconds }
        return line
    }

    private func copy(
        _ path: String, to copy: String, where isWanted: (SpoolID, UInt64) -> Bool
    ) throws {
        try DescriptorSource.withFile(path) { source in
            var scanner = try FragmentScanner(source)
            var writer: SegmentWriter?
            while let fragment = try scanner.next() {
                guard
                    let box = fragment.userBoxes.first(where: {
                        $0.userType == FragmentRecord.userType
                    })
                else { continue }
                let record = try FragmentRecord(parsing: box.payload)
                let media = try source.read(
                    at: fragment.media.lowerBound, count: fragment.media.count)
                // Earlier times need more room before the file's beginning.
                let tracks = scanner.layout.initialMovie.tracks.compactMap { track in
                    track.format.map { format in
                        SegmentPlan.Track(
                            format: format,
                            originTicks: ticks(record.segmentOriginNanoseconds, format.timescale),
                            shiftTicks: track.mediaTimeShift + room(format.timescale))
                    }
                }
                let pieces = pieces(
                    fragment, record, media, tracks
                ) { isWanted(record.spool, $0) }
                guard !pieces.isEmpty else { continue }
                let own =
                    try writer
                    ?? SegmentWriter(
                        path: copy,
                        plan: SegmentPlan(
                            originNanoseconds: record.segmentOriginNanoseconds, tracks: tracks),
                        sessionZero: record.sessionZero)
                writer = own
                var context = FragmentContext(
                    spool: spool ?? record.spool, epoch: record.epoch, clock: record.clock,
                    collectorZeroNanoseconds: record.collectorZeroNanoseconds ?? 0)
                context.exchanges = record.exchanges
                try own.append(FragmentPlan(context: context, pieces: pieces))
            }
            if isFinished {
                try writer?.finish()
            } else {
                try writer?.synchronize()
            }
        }
    }

    private func ticks(_ nanoseconds: Int64, _ scale: Timescale) -> Int64 {
        saturatingRescale(nanoseconds, from: .nanoseconds, to: scale)
    }

    private func room(_ scale: Timescale) -> Int64 { ticks(max(0, -shiftNanoseconds), scale) + 1 }

    /// Each run as a separate piece, with the selected samples only.
    private func pieces(
        _ fragment: ScannedFragment, _ record: FragmentRecord, _ media: [UInt8],
        _ tracks: [SegmentPlan.Track], where isWanted: (UInt64) -> Bool
    ) -> [PlannedPiece] {
        var pieces: [PlannedPiece] = []
        let runs = record.pieces.flatMap(\.runs).filter { $0.samples > 0 }
        for (run, scanned) in zip(runs, fragment.runs) {
            guard let track = tracks.first(where: { $0.format.kind == run.track }) else { continue }
            let scale = track.format.timescale
            let mediaShift = track.shiftTicks - room(scale)
            var samples: [PlannedSample] = []
            var bytes: [UInt8] = []
            var first: UInt64?
            func close() {
                guard let number = first, !samples.isEmpty else { return }
                pieces.append(
                    PlannedPiece(
                        payload: ArrayPayload(bytes), range: 0..<bytes.count,
                        digest: Digest(of: bytes),
                        runs: [
                            PlannedRun(track: run.track, firstSequence: number, samples: samples)
                        ]))
                samples = []
                bytes = []
                first = nil
            }
            for (index, sample) in scanned.samples.enumerated() {
                let number = run.firstSequence + UInt64(index)
                guard isWanted(number) else {
                    close()
                    continue
                }
                first = first ?? number
                let start = Int(sample.offset - fragment.media.lowerBound)
                bytes += media[start..<start + Int(sample.sizeBytes)]
                let dts =
                    sample.dts - mediaShift + track.originTicks + ticks(shiftNanoseconds, scale)
                var flags: SampleFlags = sample.isSync ? .keyframe : []
                if index < Int(run.primingSamples) { flags.insert(.priming) }
                let distance = sample.dts - scanned.samples[0].dts
                samples.append(
                    PlannedSample(
                        sizeBytes: sample.sizeBytes, dts: dts,
                        pts: dts + Int64(sample.compositionOffset),
                        duration: Int64(sample.duration), flags: flags,
                        agentDTSNanoseconds: run.firstDTSNanoseconds
                            + saturatingRescale(distance, from: scale, to: .nanoseconds),
                        appliedOffsetNanoseconds: run.appliedOffsetNanoseconds
                            + shiftNanoseconds))
            }
            close()
        }
        return pieces
    }
}
