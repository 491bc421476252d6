import Media
import MP4
import Timing

/// Recomputes the times of one source's files, in the order of their segments.
///
/// Only the end of each track is carried from file to file, so that audio that was end to end across a cut remains so.
struct SourceRetimer {
    private var timelines: [EpochID: SourceTimeline]
    /// The end of each track in the previous file, ticks of the session's timeline: as recorded, and after retiming.
    private var ends: [TrackKind: (recordedTicks: Int64, ticks: Int64)] = [:]
    /// The last run of each track in the previous file.
    private var lastRuns: [TrackKind: PlacedRun] = [:]
    /// The timestamps of a network camera, if times follow them.
    private var camera: CameraTimes?
    /// The state of each track's timestamps at the beginning of the next file.
    private var sequences: [TrackKind: StampSequence] = [:]

    /// A run's first sample: its stamp, and session times of it.
    private struct PlacedRun {
        var epoch: EpochID
        var stampNanoseconds: Int64
        var recordedNanoseconds: Int64
        var movedNanoseconds: Int64
        /// Delay of its file's first samples.
        var delayNanoseconds: Int64
        /// Its place among the camera's timestamps; nil without any.
        var camera: StampSequence.Located?
    }

    /// - Parameters:
    ///   - timelines: of the source's epochs, from their clocks to session time.
    ///   - camera: the timestamps of a network camera; nil: times do not follow any.
    init(timelines: [EpochID: SourceTimeline], camera: CameraTimes? = nil) {
        self.timelines = timelines
        self.camera = camera
    }

    /// A file's new index.
    struct Index {
        var movie: [UInt8]
        var record: RetimingRecord
        /// The shifts of the runs, nanoseconds, sorted.
        var shifts: [UInt64]
        /// Decoding times of the first samples of runs after retiming, by those before: ticks of the file's media timeline.
        fileprivate var moved: [TrackKind: [Int64: Int64]]
    }

    /// The index of the next file; nil if its clocks were not measured, or it is empty.
    /// - Parameters:
    ///   - next: the file after it.
    ///   - nextPath: that file.
    mutating func index(
        of source: DescriptorSource, _ evidence: ClockEvidence, next: FileOpening? = nil,
        path: String, nextPath: String? = nil
    ) throws(ArchiveError) -> Index? {
        let placed = camera?.placed(evidence, path: path)
        var next = next
        if let nextPath, let opening = next {
            next = camera?.placed(opening, path: nextPath) ?? opening
        }
        guard var record = mapping(placed?.evidence ?? evidence, next: next) else {
            ends.removeAll()
            return nil
        }
        let index: Index
        let retiming: FileRetiming
        do throws(MP4Error) {
            for index in record.tracks.indices {
                record.tracks[index].camera = placed?.uses[record.tracks[index].kind]
            }
            var (first, delayed) = try rewrite(source, evidence, record)
            if record.concede(delayed, evidence) {
                (first, delayed) = try rewrite(source, evidence, record)
            }
            (index, retiming) = (first, delayed)
        } catch {
            if case .noSamples = error { return nil }
            throw .malformed(path: path, reason: "cannot be retimed: \(error)")
        }
        keepEnds(retiming, evidence)
        try checkDistances(index, retiming, evidence, path: path)
        return index
    }

    /// Rejects times that contradict the stamps, if the recorded ones agree with them.
    private mutating func checkDistances(
        _ index: Index, _ retiming: FileRetiming, _ evidence: ClockEvidence, path: String
    ) throws(ArchiveError) {
        for (kind, track) in evidence.tracks {
            var sequence = sequences[kind] ?? StampSequence()
            defer { sequences[kind] = sequence }
            sequence.beginFile()
            let base = sessionBase(track, evidence)
            // Samples that would begin before their file are delayed, and converge to their times soon after.
            let delay = track.timescale.nanoseconds(retiming.greatestDelayTicks(kind))
            for run in track.runs {
                let located = run.clock.flatMap { clock in
                    sequence.locate(run.isInOrder ? run.camera : nil, epoch: clock.epoch)
                }
                guard let clock = run.clock, let moved = index.moved[kind]?[run.firstTicks] else {
                    continue
                }
                let next = PlacedRun(
                    epoch: clock.epoch, stampNanoseconds: run.stampNanoseconds,
                    recordedNanoseconds: track.timescale.nanoseconds(run.firstTicks &+ base),
                    movedNanoseconds: track.timescale.nanoseconds(moved &+ base),
                    delayNanoseconds: delay, camera: camera == nil ? nil : located)
                defer { lastRuns[kind] = next }
                guard let last = lastRuns[kind], last.epoch == next.epoch else { continue }
                let stamps = next.stampNanoseconds.clampedSubtracting(last.stampNanoseconds)
                guard
                    StampDistances.excess(
                        stamps,
                        next.recordedNanoseconds.clampedSubtracting(last.recordedNanoseconds))
                        == nil,
                    let excess = StampDistances.excess(
                        next.movedNanoseconds.clampedSubtracting(last.movedNanoseconds),
                        agent: stamps, camera: StampSequence.distance(last.camera, next.camera),
                        delay: max(delay, last.delayNanoseconds))
                else { continue }
                throw .malformed(
                    path: path,
                    reason: "not retimed: new times would move two \(kind) samples "
                        + "\(excess.magnitude / 1_000_000) ms "
                        + "\(excess < 0 ? "towards" : "away from") each other against the stamps of "
                        + "the agent's clock; the session stays as it is")
            }
        }
    }

    private func rewrite(
        _ source: DescriptorSource, _ evidence: ClockEvidence, _ record: RetimingRecord
    ) throws(MP4Error) -> (Index, FileRetiming) {
        var retiming = FileRetiming(record, movie: evidence.layout.initialMovie)
        var shifts: [UInt64] = []
        var starts: [TrackKind: [Int64: Int64]] = [:]
        var scanner = try FragmentScanner(source)
        var builder = try FinalMovieBuilder(initialMovie: evidence.layout.initialMovie)
        while var fragment = try scanner.next() {
            let before = fragment.runs.map { ($0.track, $0.samples.first?.dts ?? 0) }
            retiming.apply(to: &fragment)
            for (run, (kind, dts)) in zip(fragment.runs, before) {
                guard let scale = evidence.tracks[kind]?.timescale,
                    let moved = run.samples.first?.dts
                else { continue }
                shifts.append(scale.nanoseconds(moved &- dts).magnitude)
                starts[kind, default: [:]][dts] = moved
            }
            try builder.append(fragment)
        }
        let box = UserBox(userType: RetimingRecord.userType, payload: record.encoded())
        let movie = try builder.movie(
            primingSamples: retiming.primingSamples, trailingBox: box.bytes)
        let index = Index(
            movie: movie, record: record, shifts: shifts.sorted(), moved: starts)
        return (index, retiming)
    }

    private mutating func mapping(
        _ evidence: ClockEvidence, next: FileOpening?
    ) -> RetimingRecord? {
        let clocks = evidence.tracks.values.flatMap { $0.runs.compactMap(\.clock) }
        guard clocks.contains(where: { timelines[$0.epoch] != nil }),
            let before = RetimingRecord.Bounds(evidence.boundsNanoseconds)
        else { return nil }
        var tracks: [RetimingRecord.Track] = []
        for kind in TrackKind.allCases {
            guard let track = evidence.tracks[kind], let first = track.runs.first else { continue }
            let builder = MappingBuilder(
                kind, track, originNanoseconds: evidence.originNanoseconds,
                boundBefore: before.greatest, next: next?.tracks[kind])
            guard let knots = builder.mapping(&timelines) else { continue }
            tracks.append(
                RetimingRecord.Track(
                    kind: kind,
                    startTicks: start(of: first, kind, track, evidence, knots[0].shiftNanoseconds),
                    knots: knots))
        }
        guard let after = RetimingRecord.Bounds(tracks.flatMap(\.knots).map(\.boundNanoseconds))
        else { return nil }
        return RetimingRecord(before: before, after: after, tracks: tracks)
    }

    /// The decoding time of a file's first sample of a track. It follows the same rule as for any other sample, and in
    /// addition the first presented sample must not be before the file's start. Priming keeps its distance to that
    /// sample: with a longer distance, players would cut off that much audio, because they skip the number of samples
    /// in the edit list.
    private func start(
        of run: RecordedRun, _ kind: TrackKind, _ track: ClockEvidence.Track,
        _ evidence: ClockEvidence, _ shift: Int64
    ) -> Int64 {
        let base = sessionBase(track, evidence)
        var mapping = RetimingRecord.Track(
            kind: kind, startTicks: 0,
            knots: [
                RetimingRecord.Knot(
                    ticks: run.firstTicks, shiftNanoseconds: shift, boundNanoseconds: 0)
            ])
        mapping.startTicks = TrackRetiming.target(
            run.firstTicks, shiftNanoseconds: shift, timescale: track.timescale)
        var place = mapping.startTicks
        if let end = ends[kind], run.firstTicks > end.recordedTicks &- base {
            var retiming = TrackRetiming(
                mapping, timescale: track.timescale, mediaTimeShift: track.mediaTimeShift,
                after: (end.recordedTicks &- base, end.ticks &- base))
            place = retiming.place(
                run.firstTicks, compositionOffset: run.compositionOffset, isFirstPresented: false)
        }
        return max(place, track.earliestTicks ?? place)
    }

    private mutating func keepEnds(_ retiming: FileRetiming, _ evidence: ClockEvidence) {
        for (kind, track) in evidence.tracks {
            guard let last = retiming.last(kind) else { continue }
            let base = sessionBase(track, evidence)
            ends[kind] = (last.recordedTicks &+ base, last.ticks &+ base)
        }
    }

    /// The difference between a tick of the session's timeline and one of the file's media timeline.
    private func sessionBase(_ track: ClockEvidence.Track, _ evidence: ClockEvidence) -> Int64 {
        do {
            return try rescale(
                evidence.originNanoseconds, from: .nanoseconds, to: track.timescale)
                &- track.mediaTimeShift
        } catch {
            return 0
        }
    }
}

extension RetimingRecord {
    /// Widens the bounds by the delay of a file's first samples, which are not presented before the file begins;
    /// returns whether there was any.
    fileprivate mutating func concede(_ retiming: FileRetiming, _ evidence: ClockEvidence) -> Bool {
        var isAny = false
        for index in tracks.indices {
            guard let displacement = retiming.displacement(tracks[index].kind),
                let scale = evidence.tracks[tracks[index].kind]?.timescale
            else { continue }
            isAny = true
            // An additional knot in the mapping may move a time by a tick.
            tracks[index].concede(
                UInt64(scale.nanoseconds(displacement.greatestTicks + 1).magnitude),
                until: displacement.ticks.upperBound,
                recorded: evidence.tracks[tracks[index].kind]?.runs ?? [])
        }
        let bounds = tracks.flatMap(\.knots).map(\.boundNanoseconds)
        if let bounds = Bounds(bounds) { after = bounds }
        return isAny
    }
}

extension RetimingRecord.Track {
    /// Widens the bound of times up to `ticks`, and only of those.
    ///
    /// A delayed sample lies between its recorded and its computed time. If the two bounds agree, its error is not
    /// above the recorded bound.
    fileprivate mutating func concede(
        _ nanoseconds: UInt64, until ticks: Int64, recorded: [RecordedRun]
    ) {
        if let before = knots.lastIndex(where: { $0.ticks <= ticks }),
            ticks < .max, knots.dropFirst(before + 1).first?.ticks != ticks + 1
        {
            var knot = knots[before]
            if before + 1 < knots.count {
                knot.shiftNanoseconds = RetimingRecord.Knot.shift(
                    between: knot, and: knots[before + 1], at: ticks + 1)
            }
            knot.ticks = ticks + 1
            knots.insert(knot, at: before + 1)
        }
        // Times before the first knot have its bound.
        for index in knots.indices where index == 0 || knots[index].ticks <= ticks {
            let wide = knots[index].boundNanoseconds.clampedAdding(nanoseconds)
            let end = index + 1 < knots.count ? knots[index + 1].ticks : .max
            let begin = index == 0 ? .min : knots[index].ticks
            let limit = recorded.filter { $0.lastTicks >= begin && $0.firstTicks < end }
                .map(\.boundNanoseconds).min()
            let agrees = knots[index].shiftNanoseconds.magnitude <= limit ?? 0
            knots[index].boundNanoseconds =
                agrees
                ? max(knots[index].boundNanoseconds, min(wide, limit ?? wide)) : wide
        }
    }
}
