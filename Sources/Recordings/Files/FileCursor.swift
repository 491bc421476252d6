package import Archive
import Glibc
import MP4
import Media

/// Reads one file's fragments sequentially, with session times. A growing file is read up to its current end.
package struct FileCursor: Sendable {
    /// Fragments that are searched for the first sample of each track.
    private static let leadingFragments = 4

    package let file: RecordedFile
    private var scanner: FragmentScanner<StoredBytes>
    private var retiming: FileRetiming?
    /// Media time shift of each track, and the session time of the file's origin, ticks.
    private let tracks: [TrackKind: (shift: Int64, origin: Int64)]
    /// A picture at which decoding can start has been read.
    private var hasKeyframe = false
    /// PTS of the first picture that is not only for decoder recovery, ticks of session time.
    private var firstPicture: Int64?
    private var size: Int64

    package init(_ file: RecordedFile) throws(ArchiveError) {
        self.file = file
        let source = try file.source()
        size = source.sizeBytes
        do throws(MP4Error) {
            scanner = try FragmentScanner(source)
        } catch {
            throw file.error(error)
        }
        let movie = file.layout.initialMovie
        retiming = file.retiming.map { FileRetiming($0, movie: movie) }
        var tracks: [TrackKind: (shift: Int64, origin: Int64)] = [:]
        for track in movie.tracks {
            guard let kind = track.kind, let format = track.format else { continue }
            let origin = saturatingRescale(
                file.originNanoseconds ?? 0, from: .nanoseconds, to: format.timescale)
            tracks[kind] = (track.mediaTimeShift, origin)
        }
        self.tracks = tracks
    }

    /// - Returns: the next fragment; nil at the end of the file.
    /// - Throws: if the file is truncated or damaged. Earlier fragments are valid.
    package mutating func next() throws(ArchiveError) -> RecordedFragment? {
        do throws(MP4Error) {
            if let fragment = try scanner.next() { return place(fragment) }
            guard try hasGrown() else {
                if let error = Self.error(at: scanner.stop, isFinished: file.isFinished) {
                    throw error
                }
                return nil
            }
            return try scanner.next().map { place($0) }
        } catch {
            throw file.error(error)
        }
    }

    /// Seeks to shortly before a time by the index of a finished file, without reading earlier fragments. Samples presented from then
    /// on, and those needed to decode them, follow. To be called before the first ``next()``.
    ///
    /// Has no effect on a file that is growing, was retimed, or has no readable index.
    /// - Parameters:
    ///   - from: session time, nanoseconds.
    ///   - margin: additional fragments before the one at which decoding starts.
    package mutating func skip(to from: Int64, margin: Int) {
        guard file.isFinished, !file.isRetimed else { return }
        do throws(ArchiveError) {
            var probe = self
            // If there is video, decoding starts with a picture.
            let track: TrackKind = file.format(.video) == nil ? .audio : .video
            // The first fragment may have only audio, for the decoder's pre-roll.
            var first: RecordedSample?
            for _ in 0..<Self.leadingFragments where first == nil {
                first = try probe.next()?.samples.first { $0.track == track }
            }
            guard let anchor = first,
                // Times in the index lack the correction of the file's times.
                let offset = try SeekIndex(file).fragment(
                    before: from.clampedSubtracting(file.greatestCorrectionNanoseconds),
                    anchor: anchor, margin: margin),
                offset >= scanner.validEnd, file.layout.fragments.contains(offset)
            else { return }
            var entered = self
            entered.scanner.skip(to: offset)
            var ahead = entered
            guard try ahead.next() != nil else { return }
            self = entered
        } catch {
            // The next read reports the error.
            return
        }
    }

    /// Whether a growing file has new data, for which the scanner is updated.
    private mutating func hasGrown() throws(MP4Error) -> Bool {
        guard !file.isFinished else { return false }
        let now: StoredBytes
        do throws(ArchiveError) {
            now = try file.source()
        } catch {
            throw .unreadable(offset: size, errno: error.code ?? EIO)
        }
        guard now.sizeBytes > size else { return false }
        size = now.sizeBytes
        scanner = try FragmentScanner(now, after: scanner)
        return true
    }

    /// The error of a scan that ended early; nil: all fragments were read, or the file's last write is incomplete.
    static func error(
        at stop: FragmentScanner<StoredBytes>.Stop?, isFinished: Bool
    ) -> MP4Error? {
        switch stop {
        case .damaged(let error): error
        case .torn(let offset) where isFinished:
            .invalid(
                box: "mdat", offset: offset, reason: "the file ends before its index says so")
        case .torn, .end, .finalMovie, nil: nil
        }
    }

    private mutating func place(_ scanned: ScannedFragment) -> RecordedFragment {
        var moved = scanned
        retiming?.apply(to: &moved)
        let record = FragmentRecord(of: scanned)
        let runs = moved.runs.filter { tracks[$0.track] != nil }
        let pieces: [FragmentRecord.Piece] = record?.pieces ?? []
        let recorded = pieces.flatMap(\.runs).filter { $0.samples > 0 }
        let isKnown =
            recorded.count == runs.count
            && zip(recorded, runs).allSatisfy {
                $0.track == $1.track && Int($0.samples) == $1.samples.count
            }
        var fragment = RecordedFragment(
            file: file, range: scanned.range, record: isKnown ? record : nil, pieces: [])
        guard isKnown, let record else {
            // Checked per run: readers that need no numbers accept a file without them.
            for run in runs {
                fragment.pieces.append(
                    RecordedPiece(range: range(run), digest: nil, runs: [place(run, nil)]))
            }
            return fragment
        }
        var rest = runs[...]
        var offset = scanned.media.lowerBound
        for piece in record.pieces {
            let end = offset + Int64(piece.sizeBytes)
            let own = piece.runs.filter { $0.samples > 0 }
            let placed = zip(own, rest.prefix(own.count)).map { place($1, $0) }
            rest = rest.dropFirst(own.count)
            fragment.pieces.append(
                RecordedPiece(range: offset..<end, digest: piece.digest, runs: placed))
            offset = end
        }
        return fragment
    }

    private func range(_ run: ScannedRun) -> Range<Int64> {
        let first = run.samples[0].offset
        return first..<run.samples.reduce(first) { $0 + Int64($1.sizeBytes) }
    }

    private mutating func place(
        _ run: ScannedRun, _ record: FragmentRecord.Run?
    ) -> ReadRun {
        let (shift, origin) = tracks[run.track] ?? (0, 0)
        var samples: [RecordedSample] = []
        samples.reserveCapacity(run.samples.count)
        for (index, sample) in run.samples.enumerated() {
            let dts = sample.dts - shift + origin
            let pts = dts + Int64(sample.compositionOffset)
            var flags: SampleFlags = sample.isSync ? .keyframe : []
            if let record, index < Int(record.primingSamples) { flags.insert(.priming) }
            let isPriming = flags.contains(.priming)
            if run.track == .video {
                hasKeyframe = hasKeyframe || sample.isSync
                if hasKeyframe, !isPriming, firstPicture == nil { firstPicture = pts }
            }
            let earliest = run.track == .video ? max(firstPicture ?? .max, origin) : origin
            let isHidden =
                run.track == .video
                ? isPriming || pts < earliest
                : flags.contains(.priming) || pts + Int64(sample.duration) <= origin
            samples.append(
                RecordedSample(
                    file: file, track: run.track, dtsTicks: dts, ptsTicks: pts,
                    durationTicks: Int64(sample.duration), flags: flags, offset: sample.offset,
                    sizeBytes: Int(sample.sizeBytes),
                    sequence: record.map { $0.firstSequence + UInt64(index) }, isHidden: isHidden))
        }
        return ReadRun(
            track: run.track, samples: samples,
            firstAgentDTSNanoseconds: record?.firstDTSNanoseconds,
            appliedOffsetNanoseconds: record?.appliedOffsetNanoseconds)
    }
}
