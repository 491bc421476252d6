import Media
import MP4
import Timing

/// Identifies a clock: the agent's epoch and the collector's clock, which changes when the collector's host is rebooted.
struct ClockKey: Hashable {
    var epoch: EpochID
    /// The session's zero on the collector's clock, nanoseconds.
    var collectorZeroNanoseconds: Int64
}

/// The recorded start of a run of samples.
struct RecordedRun {
    /// Nil in recordings made before exchanges were recorded.
    var clock: ClockKey?
    /// Decoding times of the first and the last sample, ticks of the file's media timeline.
    var firstTicks: Int64
    var lastTicks: Int64
    /// The first sample's stamp, nanoseconds of the agent's clock, and the offset that was applied to it.
    var stampNanoseconds: Int64
    var appliedOffsetNanoseconds: Int64
    /// Composition offset of the first sample, ticks.
    var compositionOffset: Int32
    /// Maximum error of its times as recorded.
    var boundNanoseconds: UInt64
    /// The timestamps of a network camera, one for each sample; nil for other sources.
    var camera: CameraStamps?
    /// Decoding times of all samples, ticks of the file's media timeline; empty without timestamps of a camera.
    var sampleTicks: [Int64] = []
    /// Whether all samples are presented in decoding order.
    var isInOrder = true
    /// The first sample is a file's first picture, whose presentation may have been moved.
    var moved: MovedPicture?
    /// Distance of the first sample's time by the camera's timestamps from its stamp, nanoseconds.
    var cameraShiftNanoseconds: Int64 = 0

    /// The first sample's time on the agent's clock: its stamp, or what the camera's timestamps make of it.
    var timeNanoseconds: Int64 { stampNanoseconds &+ cameraShiftNanoseconds }

    /// The stamp of one of its samples, nanoseconds of the agent's clock. Only the first one is stored.
    func stampNanoseconds(at index: Int, _ timescale: Timescale) -> Int64 {
        stampNanoseconds.clampedAdding(
            timescale.nanoseconds(sampleTicks[index] &- firstTicks))
    }

    /// A run for each sample, at the times by the camera's timestamps.
    func divided(shifts: [Int64], _ timescale: Timescale) -> [RecordedRun] {
        shifts.indices.map { index in
            var run = self
            run.firstTicks = sampleTicks[index]
            run.lastTicks = sampleTicks[index]
            run.stampNanoseconds = stampNanoseconds(at: index, timescale)
            run.cameraShiftNanoseconds = shifts[index]
            if index > 0 { run.moved = nil }
            run.camera = nil
            run.sampleTicks = []
            return run
        }
    }
}

/// A file's first picture, presented at the file's beginning and stamped slightly before it (``Segmenter``). Its decoding
/// time was not moved.
struct MovedPicture {
    /// How far its presentation was moved.
    var ticks: Int64
    /// How far it may have been moved in addition: with reordering, pictures are presented after their decoding anyway.
    var unsureNanoseconds: UInt64
}

/// The mapping of a fragment's clock while it was recorded.
struct RecordedMapping {
    var clock: ClockKey
    var stampNanoseconds: Int64
    /// The offset from that stamp to session time.
    var offsetNanoseconds: Int64
    var boundNanoseconds: UInt64
}

/// The clock data in a file's fragments.
struct ClockEvidence {
    /// A track's runs, and the timescale of their ticks.
    struct Track {
        var timescale: Timescale
        var mediaTimeShift: Int64
        var runs: [RecordedRun] = []
        /// Time from the decoding of the first sample to that of the first one after the priming; nil while there is
        /// only priming.
        var primingTicks: Int64?

        /// The earliest decoding time of the first sample: nothing is presented before the file begins. Nil without samples.
        var earliestTicks: Int64? {
            runs.first.map {
                TrackRetiming.earliest(
                    originTicks: mediaTimeShift, compositionOffset: $0.compositionOffset)
                    - (primingTicks ?? 0)
            }
        }

        /// How far the presentation of a file's first picture was moved.
        /// - Parameter samples: of the next run.
        func moved(_ kind: TrackKind, _ samples: ArraySlice<ScannedSample>) -> MovedPicture? {
            guard kind == .video, runs.isEmpty, let first = samples.first,
                first.compositionOffset > 0,
                first.dts &+ Int64(first.compositionOffset) == mediaTimeShift
            else { return nil }
            let tick = 1_000_000_000 / Int64(timescale.ticksPerSecond) + 1
            let limit = SegmenterSettings(segmentNanoseconds: 1).toleranceNanoseconds + tick
            let delay = timescale.nanoseconds(Int64(first.compositionOffset))
            let others = samples.dropFirst().map(\.compositionOffset)
            if delay <= limit, others.allSatisfy({ $0 == 0 }) {
                return MovedPicture(ticks: Int64(first.compositionOffset), unsureNanoseconds: 0)
            }
            // The delays of other pictures are the reordering's, to within a tick of rounding.
            let differences = others.map {
                timescale.nanoseconds(Int64(first.compositionOffset) - Int64($0))
            }
            let unsure =
                others.isEmpty ? limit : differences.filter { tick + 1...limit ~= $0 }.max() ?? 0
            return MovedPicture(ticks: 0, unsureNanoseconds: UInt64(unsure))
        }

        /// The session time of a recorded time.
        func sessionNanoseconds(_ ticks: Int64, originNanoseconds: Int64) -> Int64 {
            do {
                let start = try rescale(originNanoseconds, from: .nanoseconds, to: timescale)
                return try rescale(
                    ticks &- mediaTimeShift &+ start, from: timescale, to: .nanoseconds)
            } catch {
                return .max
            }
        }

        /// Whether the first sample of a run was written at the time of its stamp: to within half a tick for pictures, and
        /// two more ticks for audio that is placed end to end.
        func isAsStamped(_ run: RecordedRun, _ kind: TrackKind, originNanoseconds: Int64) -> Bool {
            guard let clock = run.clock else { return true }
            let stamped =
                run.stampNanoseconds &+ run.appliedOffsetNanoseconds
                &- clock.collectorZeroNanoseconds
            let tick = 1_000_000_000 / Int64(timescale.ticksPerSecond) + 1
            let recorded = sessionNanoseconds(run.firstTicks, originNanoseconds: originNanoseconds)
            return recorded.clampedSubtracting(stamped).magnitude
                <= UInt64(tick * (kind == .audio ? 3 : 1))
        }
    }

    var layout: RecordingLayout
    /// The byte after the last fragment.
    var fragmentsEnd: Int64
    var originNanoseconds: Int64 = 0
    var tracks: [TrackKind: Track] = [:]
    /// The bound of the clock model when each fragment was written.
    var boundsNanoseconds: [UInt64] = []
    /// Recorded mapping of each fragment that stores a zero.
    var places: [RecordedMapping] = []
    /// Exchanges by clock, in the order in which they arrived.
    var exchanges: [(clock: ClockKey, exchange: ClockExchange)] = []

    /// Reads the headers of all fragments.
    /// - Parameter isWhole: whether it has to be finished and complete; if not, what can be read counts.
    /// - Throws: when the file is not a finished and complete recording; the error has the remedy.
    init(
        _ source: DescriptorSource, path: String, isWhole: Bool = true
    ) throws(ArchiveError) {
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
            guard isWhole else { return }
            switch scanner.stop {
            case .damaged(let error): throw error
            case .torn(let offset):
                throw MP4Error.invalid(box: "mdat", offset: offset, reason: "truncated")
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
        if let clock {
            exchanges += record.exchanges.map { (clock, $0) }
            if let run = record.pieces.lazy.flatMap(\.runs).first {
                places.append(
                    RecordedMapping(
                        clock: clock, stampNanoseconds: run.firstDTSNanoseconds,
                        offsetNanoseconds: run.appliedOffsetNanoseconds
                            &- clock.collectorZeroNanoseconds,
                        boundNanoseconds: record.clock.boundNanoseconds))
            }
        }
        for kind in TrackKind.allCases {
            try addRuns(
                record.pieces.flatMap(\.runs).filter { $0.track == kind },
                samples: fragment.runs.filter { $0.track == kind }.flatMap(\.samples), kind, clock,
                boundNanoseconds: record.clock.boundNanoseconds, at: fragment.moof.lowerBound)
        }
    }

    private mutating func addRuns(
        _ runs: [FragmentRecord.Run], samples: [ScannedSample], _ kind: TrackKind,
        _ clock: ClockKey?, boundNanoseconds: UInt64, at offset: Int64
    ) throws(MP4Error) {
        var rest = samples[...]
        for run in runs {
            let own = rest.prefix(Int(run.samples))
            rest = rest.dropFirst(Int(run.samples))
            guard let first = own.first, let last = own.last, own.count == Int(run.samples) else {
                throw .invalid(
                    box: "moof", offset: offset, reason: "its record describes other samples")
            }
            let moved = tracks[kind]?.moved(kind, own)
            tracks[kind]?.runs.append(
                RecordedRun(
                    clock: clock, firstTicks: first.dts, lastTicks: last.dts,
                    stampNanoseconds: run.firstDTSNanoseconds,
                    appliedOffsetNanoseconds: run.appliedOffsetNanoseconds,
                    compositionOffset: first.compositionOffset,
                    boundNanoseconds: boundNanoseconds, camera: run.camera,
                    sampleTicks: run.camera == nil ? [] : own.map(\.dts),
                    isInOrder: own.allSatisfy { $0.compositionOffset == 0 }, moved: moved))
            if tracks[kind]?.primingTicks == nil, run.primingSamples < own.count,
                let begin = tracks[kind]?.runs.first?.firstTicks
            {
                let presented = own[own.startIndex + Int(run.primingSamples)]
                tracks[kind]?.primingTicks = presented.dts &- begin
            }
        }
        guard rest.isEmpty else {
            throw .invalid(
                box: "moof", offset: offset, reason: "its record describes fewer samples")
        }
    }
}
