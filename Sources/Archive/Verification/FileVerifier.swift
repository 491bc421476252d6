import Files
package import Media
package import MP4

/// Checks one file without decoding anything.
///
/// A recorded file is checked fragment by fragment: the chain of digests, the media's own digests, the lengths of the NAL units,
/// the decoding order. The final index is compared with the fragments that it replaces, sample by sample. Of other MP4 files,
/// boxes, tables and NAL units are checked.
package struct FileVerifier {
    /// Maximum number of findings: a damaged file may be damaged everywhere.
    private static let maximumFindings = 100

    private let path: String
    var report: FileReport
    /// The sequence numbers in the file, by spool.
    package private(set) var sequences: [SpoolID: [ClosedRange<UInt64>]] = [:]
    /// The clock data in its fragments.
    private(set) var clocks: [ClockSummary.Reading] = []
    private var expectedChain: Digest?
    private(set) var tracks: [TrackKind: WalkedTrack] = [:]
    private(set) var priming = PrimingCounter()
    /// Builds the index that the fragments require; nil when their damage prevents it.
    private(set) var index: FinalMovieBuilder?

    /// A track as found in the fragments.
    struct WalkedTrack {
        var samples: [ScannedSample] = []
        var shift: Int64 = 0
        var format: TrackFormat
        /// The first sample of each run with a known clock, and its index in `samples`.
        var runs: [(index: Int, run: StampedRun)] = []
        /// Decoding times in the active index, if the file was retimed.
        var retimedDTS: [Int64]?
        /// Delay of its first samples in that case, nanoseconds.
        var delayNanoseconds: Int64 = 0
        /// Whether times of that index follow a network camera's timestamps.
        var followsCamera = false
        /// The timestamps so far.
        var sequence = StampSequence()
    }

    /// The file's beginning on the session's timeline, nanoseconds.
    private(set) var originNanoseconds: Int64 = 0
    /// The session's zero according to its first fragment; nil without records.
    private(set) var sessionZero: UTCTime?

    private init(path: String) {
        self.path = path
        report = FileReport(path: path, state: .unreadable)
    }

    /// Checks a file, with the ledger beside it if there is one.
    /// - Returns: the report, and the sequence numbers of each spool in the file's order.
    package static func verify(
        _ path: String
    ) -> (report: FileReport, sequences: [SpoolID: [ClosedRange<UInt64>]]) {
        let verifier = examine(path, ledger: ledger(beside: path))
        return (verifier.report, verifier.sequences)
    }

    private static func ledger(beside path: String) -> [LedgerEntry]? {
        let directory = Path.directory(of: path)
        let ledger = "\(directory)/\(ArchiveLayout.ledgerName)"
        guard FileSystem.exists(ledger) else { return nil }
        do throws(ArchiveError) {
            return try Ledger.read(ledger).entries
        } catch {
            // An unreadable ledger explains no gaps; the session's verification reports it.
            return nil
        }
    }

    /// Checks a file; the returned verifier has the findings.
    /// - Parameter ledger: its source's; nil: there is none.
    static func examine(_ path: String, ledger: [LedgerEntry]?) -> FileVerifier {
        do {
            return try FileSystem.withFile(path) { source in
                examine(path, in: source, ledger: ledger)
            }
        } catch {
            var verifier = FileVerifier(path: path)
            verifier.damage(
                error is MP4Error
                    ? "\(error)"
                    : "cannot be read: \((error as? ArchiveError)?.reason ?? "\(error)")")
            return verifier
        }
    }

    /// Checks a file that is not on a local disk.
    /// - Parameters:
    ///   - path: the file in messages.
    ///   - ledger: its source's; nil: there is none.
    package static func examine(
        _ path: String, in source: some ByteSource, ledger: [LedgerEntry]?
    ) -> FileVerifier {
        var verifier = FileVerifier(path: path)
        verifier.report.sizeBytes = UInt64(source.sizeBytes)
        do throws(MP4Error) {
            try verifier.run(source)
            verifier.checkSpacing(ledger)
            verifier.checkDistances(ledger)
        } catch {
            verifier.damage("\(error)")
        }
        return verifier
    }

    private mutating func run<Source: ByteSource>(_ source: Source) throws(MP4Error) {
        guard source.sizeBytes > 0 else {
            damage("empty")
            return
        }
        var scanner: FragmentScanner<Source>
        do throws(MP4Error) {
            scanner = try FragmentScanner(source)
        } catch {
            guard case .notARecording = error,
                try !beginsLikeARecording(source) || isExport(source)
            else { throw error }
            try runForeign(source)
            return
        }
        report.state = scanner.layout.isFinished ? .finished : .growing
        try begin(scanner.layout, source)
        if scanner.layout.isFinished { beginIndex(scanner.layout.initialMovie) }
        while let fragment = try scanner.next() {
            try walk(fragment, source)
            if report.findings.count >= Self.maximumFindings { break }
        }
        conclude(scanner.stop, validEnd: scanner.validEnd)
        if scanner.layout.isFinished {
            try compareIndices(source, scanner.layout, fragmentsEnd: scanner.validEnd)
        }
        describeTracks()
    }

    /// Whether the file's first bytes are those of a recording: a recording with a damaged initial `moov` must not be classified
    /// as an intact foreign file.
    private func beginsLikeARecording(_ source: some ByteSource) throws(MP4Error) -> Bool {
        let length = Int(FragmentedHeader.placeholderOffset) + FragmentedHeader.placeholderSizeBytes
        guard source.sizeBytes >= Int64(length) else { return false }
        let front = try source.read(at: 0, count: length)
        let fileType = front[..<Int(FragmentedHeader.placeholderOffset)]
        let placeholder = front[Int(FragmentedHeader.placeholderOffset)...].prefix(8)
        return fileType.elementsEqual(FragmentedHeader.fileType)
            && [[0, 0, 0, 16] + "free".utf8, [0, 0, 0, 1] + "mdat".utf8].contains(
                Array(placeholder))
    }

    /// Whether media begin at the offset of a recording's initial `moov`: only an export's index has that.
    private func isExport(_ source: some ByteSource) -> Bool {
        do throws(MP4Error) {
            let movie = try Movie.read(from: source)
            let first = movie.tracks.compactMap(\.samples.offsets.first).min()
            return first
                == FragmentedHeader.placeholderOffset
                + Int64(FragmentedHeader.placeholderSizeBytes)
        } catch {
            // Without a readable index, it is classified by its first bytes, as a recording.
            return false
        }
    }

    private mutating func begin(
        _ layout: RecordingLayout, _ source: some ByteSource
    ) throws(MP4Error) {
        let moov = layout.initialMovie.header
        expectedChain = Digest(
            of: try source.read(at: moov.offset, count: Int(moov.sizeBytes)))
        for track in layout.initialMovie.tracks {
            guard let kind = track.kind, let format = track.format else {
                damage(
                    "track \(track.id) has none of the codecs of recordings: \(recordableCodecs)",
                    at: moov.offset)
                continue
            }
            tracks[kind] = WalkedTrack(shift: track.mediaTimeShift, format: format)
        }
    }
}

// MARK: - Fragments

extension FileVerifier {
    private mutating func walk(
        _ fragment: ScannedFragment, _ source: some ByteSource
    ) throws(MP4Error) {
        report.fragments += 1
        let at = fragment.moof.lowerBound
        if fragment.sequenceNumber != UInt32(report.fragments) {
            damage("fragment \(fragment.sequenceNumber) instead of \(report.fragments)", at: at)
        }
        let moof = try source.read(at: at, count: fragment.moof.count)
        let media = try source.read(at: fragment.media.lowerBound, count: fragment.media.count)
        let records = fragment.userBoxes.filter { $0.userType == FragmentRecord.userType }
        if let payload = records.first?.payload, records.count == 1 {
            check(payload, of: fragment, media: media)
        } else {
            damage("a fragment with \(records.count) fragment records", at: at)
        }
        expectedChain = Digest(of: moof)
        priming.add(fragment)
        addToIndex(fragment)
        for run in fragment.runs {
            if run.track == .video { checkAccessUnits(run, of: fragment, media: media) }
            checkOrder(run)
            tracks[run.track]?.samples += run.samples
        }
    }

    private mutating func beginIndex(_ initial: Movie) {
        do throws(MP4Error) {
            index = try FinalMovieBuilder(initialMovie: initial)
        } catch {
            damage("\(error)", at: initial.header.offset)
        }
    }

    private mutating func addToIndex(_ fragment: ScannedFragment) {
        do throws(MP4Error) {
            try index?.append(fragment)
        } catch {
            // The order of the samples is checked, too.
            index = nil
        }
    }

    private mutating func check(
        _ payload: [UInt8], of fragment: ScannedFragment, media: [UInt8]
    ) {
        let at = fragment.moof.lowerBound
        let record: FragmentRecord
        do throws(FragmentRecord.Malformed) {
            record = try FragmentRecord(parsing: payload)
        } catch {
            damage("\(error)", at: at)
            return
        }
        if record.chain != expectedChain {
            damage("the chain of digests is broken before this fragment", at: at)
        }
        var offset = 0
        for piece in record.pieces {
            let end = offset + Int(piece.sizeBytes)
            guard end <= media.count else {
                damage("its record describes more media than it has", at: at)
                return
            }
            let digest = media[offset..<end].withUnsafeBytes { Digest(of: $0) }
            if digest != piece.digest {
                damage(
                    "\(piece.sizeBytes) bytes of media differ from what was recorded",
                    at: fragment.media.lowerBound + Int64(offset))
            }
            report.digestedBytes += UInt64(piece.sizeBytes)
            offset = end
        }
        if offset != media.count { damage("media without a digest", at: at) }
        let recorded = record.pieces.flatMap(\.runs).reduce(0) { $0 + UInt64($1.samples) }
        let described = fragment.runs.reduce(0) { $0 + UInt64($1.samples.count) }
        if recorded != described {
            damage("\(described) samples, but record numbers for \(recorded)", at: at)
        }
        sequences[record.spool, default: []] += record.sequences
        keepStamps(of: record, fragment)
        if report.originSeconds == nil {
            originNanoseconds = record.segmentOriginNanoseconds
            sessionZero = record.sessionZero
            report.originSeconds = Double(record.segmentOriginNanoseconds) / 1e9
        }
        clocks.append(ClockSummary.Reading(record))
        let bound = Double(record.clock.boundNanoseconds) / 1e6
        report.clockBoundMilliseconds = [report.clockBoundMilliseconds.first ?? bound, bound]
    }

    /// Keeps the capture times of the first sample of each run. Times of an imported or replayed recording are its own.
    private mutating func keepStamps(of record: FragmentRecord, _ fragment: ScannedFragment) {
        guard let zero = record.collectorZeroNanoseconds, record.clock.boundNanoseconds > 0 else {
            return
        }
        let runs = record.pieces.flatMap(\.runs).filter { $0.samples > 0 }
        guard runs.count == fragment.runs.count else { return }
        var counts = tracks.mapValues(\.samples.count)
        for (run, scanned) in zip(runs, fragment.runs) where run.track == scanned.track {
            let camera = place(run, scanned, epoch: record.epoch)
            tracks[run.track]?.runs.append(
                (
                    counts[run.track] ?? 0,
                    StampedRun(
                        spool: record.spool, epoch: record.epoch, track: run.track,
                        sequence: run.firstSequence, stampNanoseconds: run.firstDTSNanoseconds,
                        mappedNanoseconds: run.firstDTSNanoseconds
                            .clampedAdding(run.appliedOffsetNanoseconds).clampedSubtracting(zero),
                        placedNanoseconds: 0, offset: scanned.samples.first?.offset ?? 0,
                        camera: camera)
                ))
            counts[run.track, default: 0] += scanned.samples.count
        }
    }

    /// The first sample of a run among the timestamps of its camera; nil without any.
    private mutating func place(
        _ run: FragmentRecord.Run, _ scanned: ScannedRun, epoch: EpochID
    ) -> StampedRun.CameraSample? {
        guard let camera = run.camera, let stamp = camera.stamps.first,
            var sequence = tracks[run.track]?.sequence
        else {
            tracks[run.track]?.sequence.interrupt()
            return nil
        }
        defer { tracks[run.track]?.sequence = sequence }
        let isInOrder = scanned.samples.allSatisfy { $0.compositionOffset == 0 }
        guard
            let located = sequence.locate(isInOrder ? camera : nil, epoch: epoch)
        else { return nil }
        return StampedRun.CameraSample(
            located: located, following: sequence, stamp: stamp, clockRate: camera.clockRate)
    }

    private mutating func checkAccessUnits(
        _ run: ScannedRun, of fragment: ScannedFragment, media: [UInt8]
    ) {
        for sample in run.samples {
            let start = Int(sample.offset - fragment.media.lowerBound)
            let end = start + Int(sample.sizeBytes)
            guard start >= 0, end <= media.count else {
                damage("a picture outside its fragment's media", at: sample.offset)
                continue
            }
            checkAccessUnit(media[start..<end], at: sample.offset)
        }
    }

    private mutating func checkAccessUnit(_ bytes: ArraySlice<UInt8>, at offset: Int64) {
        var cursor = NALUnitCursor()
        do throws(BitstreamError) {
            while try cursor.next(in: bytes.span) != nil {}
        } catch {
            damage("\(error)", at: offset)
        }
    }

    private mutating func checkOrder(_ run: ScannedRun) {
        guard let track = tracks[run.track] else {
            damage("samples of a \(run.track) track that the file does not declare")
            return
        }
        var last = track.samples.last?.dts
        for sample in run.samples {
            if let last, sample.dts <= last {
                damage(
                    "\(run.track) decoding time \(sample.dts) does not follow \(last)",
                    at: sample.offset)
            }
            if sample.compositionOffset < 0 {
                damage("\(run.track) is presented before it is decoded", at: sample.offset)
            }
            last = sample.dts
        }
    }

    private mutating func conclude<Source: ByteSource>(
        _ stop: FragmentScanner<Source>.Stop?, validEnd: Int64
    ) {
        switch stop {
        case .end, nil:
            if report.fragments == 0 { note("no samples yet") }
        case .finalMovie(let offset):
            // In a finished file, another index has replaced this one.
            if report.state == .growing {
                note("finished except for its last write; it is playable", at: offset)
            }
        case .torn(let offset):
            if report.state == .finished {
                damage("the file ends before its index says so", at: offset)
            } else {
                let rest = Int64(report.sizeBytes) - offset
                note(
                    "the last write is incomplete (\(rest) bytes): a crash, or the file is being written",
                    at: offset)
            }
        case .damaged(let error):
            damage("\(error)", at: validEnd)
        }
    }
}

// MARK: - Tracks

extension FileVerifier {
    private mutating func describeTracks() {
        for kind in TrackKind.allCases {
            guard let track = tracks[kind] else { continue }
            let presented = track.samples.dropFirst(priming.counts[kind] ?? 0)
            guard let first = presented.first else { continue }
            let ticks = Double(track.format.timescale.ticksPerSecond)
            var start = first.pts
            var end = first.pts
            for sample in presented {
                start = min(start, sample.pts)
                end = max(end, sample.pts + Int64(sample.duration))
            }
            report.tracks.append(
                FileReport.Track(
                    kind: "\(kind)", format: track.format.summary, samples: track.samples.count,
                    keyframes: track.samples.count { $0.isSync },
                    startSeconds: Double(start - track.shift) / ticks,
                    endSeconds: Double(end - track.shift) / ticks))
        }
    }
}

// MARK: - Files of another origin

extension FileVerifier {
    private mutating func runForeign(_ source: some ByteSource) throws(MP4Error) {
        let movie = try Movie.read(from: source)
        report.state = .foreign
        note(
            "not a recorded segment but an export or a foreign file: boxes, tables and NAL units are checked"
        )
        var found: [UInt32: ForeignTrack] = [:]
        for track in movie.tracks {
            let table = track.samples
            let name = track.kind.map { "\($0)" } ?? "\(track.handler)"
            for index in 1..<max(1, table.count) where table.dts[index] <= table.dts[index - 1] {
                damage("\(name) decoding times do not increase", at: table.offsets[index])
                break
            }
            if case .video = track.format {
                for index in 0..<table.count where report.findings.count < Self.maximumFindings {
                    let bytes = try source.read(
                        at: table.offsets[index], count: Int(table.sizesBytes[index]))
                    checkAccessUnit(bytes[...], at: table.offsets[index])
                }
            }
            found[track.id] = ForeignTrack(
                samples: table.count, keyframes: table.syncSamples?.count ?? table.count,
                end: track.duration)
        }
        try walkForeign(movie, source, &found)
        for track in movie.tracks {
            guard let own = found[track.id] else { continue }
            let name = track.kind.map { "\($0)" } ?? "\(track.handler)"
            let ticks = Double(track.timescale.ticksPerSecond)
            report.tracks.append(
                FileReport.Track(
                    kind: name, format: track.format?.summary ?? name, samples: own.samples,
                    keyframes: own.keyframes, startSeconds: 0, endSeconds: Double(own.end) / ticks))
        }
    }

    /// A track of a file of another origin.
    private struct ForeignTrack {
        var samples: Int
        var keyframes: Int
        /// Ticks.
        var end: UInt64
        /// Decoding time of its last fragment.
        var lastStart: UInt64?
    }

    /// Checks the chain of boxes, and the samples of fragments.
    private mutating func walkForeign<Source: ByteSource>(
        _ movie: Movie, _ source: Source, _ found: inout [UInt32: ForeignTrack]
    ) throws(MP4Error) {
        var walk = FragmentWalk(source, movie: movie)
        var last: FourCC?
        while report.findings.count < Self.maximumFindings, let step = try walk.next() {
            switch step {
            case .box(let box):
                last = box.type
                if box.type == "moov", box.offset > movie.header.offset,
                    try !isSame(box, movie.header, in: source)
                {
                    note("another movie begins here: it is not checked", at: box.offset)
                }
            case .fragment(let fragment): try checkForeign(fragment, movie, source, &found)
            case .damage(let range, _)
            where range.upperBound == source.sizeBytes && (!movie.isFragmented || last == "mfra"):
                // The index of all samples precedes it.
                note(
                    "the last \(range.upperBound - range.lowerBound) bytes are no box",
                    at: range.lowerBound)
            case .damage(let range, _):
                damage(
                    "no valid box: \(range.upperBound - range.lowerBound) bytes cannot be trusted",
                    at: range.lowerBound)
            case .torn(let box): damage("the file ends within '\(box.type)'", at: box.offset)
            case .zeros(let range):
                note(
                    "the last \(range.upperBound - range.lowerBound) bytes are zeros",
                    at: range.lowerBound)
            }
        }
    }

    /// Whether a description is repeated among the fragments of one stream.
    private func isSame(
        _ box: BoxHeader, _ other: BoxHeader, in source: some ByteSource
    ) throws(MP4Error) -> Bool {
        guard box.sizeBytes == other.sizeBytes else { return false }
        let count = Int(box.sizeBytes)
        return try source.read(at: box.offset, count: count)
            == source.read(at: other.offset, count: count)
    }

    private mutating func checkForeign(
        _ fragment: WalkedFragment, _ movie: Movie, _ source: some ByteSource,
        _ found: inout [UInt32: ForeignTrack]
    ) throws(MP4Error) {
        for (id, time) in fragment.startTimes {
            guard var track = found[id] else { continue }
            if let last = track.lastStart, time < last {
                damage(
                    "a fragment begins at decoding time \(time), before \(last)",
                    at: fragment.moof.lowerBound)
            }
            track.lastStart = time
            track.end = max(track.end, time)
            found[id] = track
        }
        for run in fragment.runs {
            guard let track = movie.tracks.first(where: { $0.id == run.trackID }) else {
                damage("track_ID \(run.trackID) is unknown", at: fragment.moof.lowerBound)
                continue
            }
            found[run.trackID]?.samples += run.sizesBytes.count
            found[run.trackID]?.keyframes += run.keyframes
            let (end, isOverflow) = (found[run.trackID]?.end ?? 0)
                .addingReportingOverflow(run.duration)
            if !isOverflow { found[run.trackID]?.end = end }
            var place = run.offset
            for size in run.sizesBytes {
                guard place + Int64(size) <= source.sizeBytes else {
                    damage("a sample ends past the file", at: fragment.moof.lowerBound)
                    break
                }
                if case .video = track.format, report.findings.count < Self.maximumFindings {
                    let bytes = try source.read(at: place, count: Int(size))
                    checkAccessUnit(bytes[...], at: place)
                }
                place += Int64(size)
            }
        }
    }

    mutating func damage(_ text: String, at offset: Int64? = nil) {
        guard report.findings.count < Self.maximumFindings else { return }
        report.findings.append(Finding(.damage, path, at: offset, text))
    }

    mutating func timeDamage(_ text: String, at offset: Int64? = nil) {
        guard report.findings.count < Self.maximumFindings else { return }
        report.findings.append(Finding(.timeDamage, path, at: offset, text))
    }

    /// Keeps the decoding times of a retimed track.
    mutating func keepRetimed(
        _ dts: [Int64], _ kind: TrackKind, delayTicks: Int64, followsCamera: Bool
    ) {
        guard let scale = tracks[kind]?.format.timescale else { return }
        tracks[kind]?.retimedDTS = dts
        tracks[kind]?.followsCamera = followsCamera
        tracks[kind]?.delayNanoseconds = scale.nanoseconds(delayTicks)
    }

    mutating func note(_ text: String, at offset: Int64? = nil) {
        guard report.findings.count < Self.maximumFindings else { return }
        report.findings.append(Finding(.note, path, at: offset, text))
    }
}
