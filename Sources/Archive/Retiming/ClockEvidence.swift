import Media
import MP4
import Timing

/// Whose clock, against which of the collector's: a collector that has been rebooted has another one.
struct ClockKey: Hashable {
    var epoch: EpochID
    /// The session's zero on the collector's clock, nanoseconds.
    var collectorZeroNanoseconds: Int64
}

/// Where a run of samples begins, as it was recorded.
struct RecordedRun {
    /// Nil in what was recorded before exchanges were kept.
    var clock: ClockKey?
    /// Decoding times of the first and the last sample, ticks of the file's media timeline.
    var firstTicks: Int64
    var lastTicks: Int64
    /// The first one's as the agent stamped it, nanoseconds of its clock, and the offset that was applied to that.
    var stampNanoseconds: Int64
    var appliedOffsetNanoseconds: Int64
    /// Of the first sample.
    var compositionOffset: Int32
}

/// What a file's fragments say of clocks.
struct ClockEvidence {
    /// A track's runs, and what its ticks mean.
    struct Track {
        var timescale: Timescale
        var mediaTimeShift: Int64
        var runs: [RecordedRun] = []
        /// From the first sample's decoding to that of the first behind the priming; nil while there is only priming.
        var primingTicks: Int64?
    }

    var layout: RecordingLayout
    /// The byte behind the last fragment.
    var fragmentsEnd: Int64
    var originNanoseconds: Int64 = 0
    var tracks: [TrackKind: Track] = [:]
    /// How well the clock was known when each fragment was written.
    var boundsNanoseconds: [UInt64] = []
    /// Exchanges by clock, in the order in which they came.
    var exchanges: [(clock: ClockKey, exchange: ClockExchange)] = []

    /// Reads the heads of all fragments.
    /// - Throws: when the file is not a finished and whole recording; the error says what to do.
    init(_ source: DescriptorSource, path: String) throws(ArchiveError) {
        do throws(MP4Error) {
            var scanner = try FragmentScanner(source)
            layout = scanner.layout
            fragmentsEnd = scanner.validEnd
            for track in layout.initialMovie.tracks {
                guard let kind = track.kind else { continue }
                tracks[kind] = Track(
                    timescale: track.timescale, mediaTimeShift: track.mediaTimeShift)
            }
            while let fragment = try scanner.next() { try add(fragment) }
            fragmentsEnd = scanner.validEnd
            switch scanner.stop {
            case .damaged(let error): throw error
            case .torn(let offset):
                throw MP4Error.invalid(box: "mdat", offset: offset, reason: "cut short")
            case .end, .finalMovie, nil: break
            }
        } catch {
            throw .malformed(path: path, reason: "cannot be retimed: \(error)")
        }
        guard layout.isFinished else {
            throw .malformed(
                path: path,
                reason: "not finished, so it cannot be retimed: let the collector finish it first")
        }
    }

    private mutating func add(_ fragment: ScannedFragment) throws(MP4Error) {
        guard let box = fragment.userBoxes.first(where: { $0.userType == FragmentRecord.userType })
        else {
            throw .missing("uuid", in: "moof", offset: fragment.moof.lowerBound)
        }
        let record: FragmentRecord
        do throws(MalformedRecord) {
            record = try FragmentRecord(parsing: box.payload)
        } catch {
            throw .invalid(
                box: "uuid", offset: fragment.moof.lowerBound, reason: error.description)
        }
        originNanoseconds = record.segmentOriginNanoseconds
        boundsNanoseconds.append(record.clock.boundNanoseconds)
        let clock = record.collectorZeroNanoseconds.map {
            ClockKey(epoch: record.epoch, collectorZeroNanoseconds: $0)
        }
        if let clock { exchanges += record.exchanges.map { (clock, $0) } }
        for kind in TrackKind.allCases {
            try addRuns(
                record.pieces.flatMap(\.runs).filter { $0.track == kind },
                samples: fragment.runs.filter { $0.track == kind }.flatMap(\.samples), kind, clock,
                at: fragment.moof.lowerBound)
        }
    }

    private mutating func addRuns(
        _ runs: [FragmentRecord.Run], samples: [ScannedSample], _ kind: TrackKind,
        _ clock: ClockKey?, at offset: Int64
    ) throws(MP4Error) {
        var rest = samples[...]
        for run in runs {
            let own = rest.prefix(Int(run.samples))
            rest = rest.dropFirst(Int(run.samples))
            guard let first = own.first, let last = own.last, own.count == Int(run.samples) else {
                throw .invalid(
                    box: "moof", offset: offset, reason: "its record speaks of other samples")
            }
            tracks[kind]?.runs.append(
                RecordedRun(
                    clock: clock, firstTicks: first.dts, lastTicks: last.dts,
                    stampNanoseconds: run.firstDTSNanoseconds,
                    appliedOffsetNanoseconds: run.appliedOffsetNanoseconds,
                    compositionOffset: first.compositionOffset))
            if tracks[kind]?.primingTicks == nil, run.primingSamples < own.count,
                let begin = tracks[kind]?.runs.first?.firstTicks
            {
                let presented = own[own.startIndex + Int(run.primingSamples)]
                tracks[kind]?.primingTicks = presented.dts &- begin
            }
        }
        guard rest.isEmpty else {
            throw .invalid(
                box: "moof", offset: offset, reason: "its record speaks of fewer samples")
        }
    }
}
