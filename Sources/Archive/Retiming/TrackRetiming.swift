import Media
package import MP4

/// Moves the decoding times of one track of a file along a mapping.
///
/// The rules are those of ``TrackClock``. Times increase by at least a tick. Audio packets keep their distances as long
/// as the mapping is within two ticks of that, so that audio that was end to end remains so; beyond that they move by
/// whole ticks. The distance from a picture's decoding to its presentation is unchanged: over such a short time, two
/// mappings do not differ.
///
/// Nothing is presented before its file begins. If that delays a file's first picture or audio, later samples are
/// delayed as much, and converge to their own times by a twentieth of the elapsed time: nothing is hidden, and the
/// order does not change.
struct TrackRetiming: Sendable {
    /// Maximum distance of the mapping from the end of the previous audio packet.
    private static let soundToleranceTicks: Int64 = 2
    /// A picture is presented at most 16 pictures after its decoding (ISO/IEC 14496-10 §A.3.1): over that distance, a twentieth
    /// is less than one picture.
    private static let returnDivisor: Int64 = 20

    /// The delay of a file's first samples relative to the mapping.
    struct Displacement: Hashable {
        /// Recorded decoding times of the delayed samples.
        var ticks: ClosedRange<Int64>
        var greatestTicks: Int64
    }

    private let mapping: RetimingRecord.Track
    private let timescale: Timescale
    /// Ticks of the media timeline at the file's beginning: samples are presented after that.
    private let originTicks: Int64
    private var knot = 0
    private(set) var last: (recordedTicks: Int64, ticks: Int64)?
    /// The time of the last sample if the file had no start.
    private var lastUndisplacedTicks: Int64 = 0
    /// Present delay, in ticks.
    private var displacementTicks: Int64 = 0
    private(set) var displacement: Displacement?
    /// Delay of the first sample relative to the mapping.
    private var startDelayTicks: Int64 = 0

    /// - Parameter last: the end of the track so far, ticks of the file's media timeline; nil at a file's start.
    init(
        _ mapping: RetimingRecord.Track, timescale: Timescale, mediaTimeShift: Int64,
        after last: (recordedTicks: Int64, ticks: Int64)? = nil
    ) {
        self.mapping = mapping
        self.timescale = timescale
        self.last = last
        lastUndisplacedTicks = last?.ticks ?? 0
        originTicks = mediaTimeShift
    }

    /// The time of a sample without any previous samples.
    static func target(
        _ dts: Int64, shiftNanoseconds: Int64, timescale: Timescale
    ) -> Int64 {
        do {
            return dts &+ (try rescale(shiftNanoseconds, from: .nanoseconds, to: timescale))
        } catch {
            return dts
        }
    }

    /// The earliest time of a track's first presented sample: nothing is presented before its file begins.
    static func earliest(originTicks: Int64, compositionOffset: Int32) -> Int64 {
        originTicks - Int64(compositionOffset)
    }

    /// Maximum delay of samples relative to the mapping, because the file cannot begin earlier.
    var greatestDelayTicks: Int64 { max(startDelayTicks, displacement?.greatestTicks ?? 0) }

    /// The decoding time of the track's next sample.
    mutating func place(
        _ dts: Int64, compositionOffset: Int32, isFirstPresented: Bool
    ) -> Int64 {
        let target = Self.target(dts, shiftNanoseconds: shift(at: dts), timescale: timescale)
        let start =
            mapping.startTicks == RetimingRecord.Track.startsByMapping
            ? target : mapping.startTicks
        var undisplaced = start
        var place = start
        if last == nil { startDelayTicks = max(0, place &- target) }
        if let last {
            let elapsed = dts &- last.recordedTicks
            displacementTicks -= min(displacementTicks, max(0, elapsed / Self.returnDivisor))
            let end = lastUndisplacedTicks &+ elapsed
            let runsOn = mapping.kind == .audio && abs(target &- end) <= Self.soundToleranceTicks
            undisplaced = runsOn ? end : max(target, lastUndisplacedTicks + 1)
            place = max(undisplaced &+ displacementTicks, last.ticks + 1)
        }
        if isFirstPresented {
            let earliest = Self.earliest(
                originTicks: originTicks, compositionOffset: compositionOffset)
            // The recorded time was moved to the file's beginning; the mapping would have given this one.
            if last == nil, place == earliest { undisplaced = min(place, target) }
            place = max(place, earliest)
            displacementTicks = place &- undisplaced
        }
        note(place &- undisplaced, at: dts)
        last = (dts, place)
        lastUndisplacedTicks = undisplaced
        return place
    }

    private mutating func note(_ late: Int64, at dts: Int64) {
        guard late > 0 else { return }
        let before = displacement
        displacement = Displacement(
            ticks: min(
                before?.ticks.lowerBound ?? dts, dts)...max(
                    before?.ticks.upperBound ?? dts, dts),
            greatestTicks: max(before?.greatestTicks ?? 0, late))
    }

    /// The shift of a time, nanoseconds; to be called in the order of time.
    private mutating func shift(at ticks: Int64) -> Int64 {
        let knots = mapping.knots
        while knot + 1 < knots.count, knots[knot + 1].ticks <= ticks { knot += 1 }
        let from = knots[knot]
        guard knot + 1 < knots.count, ticks > from.ticks else { return from.shiftNanoseconds }
        return RetimingRecord.Knot.shift(between: from, and: knots[knot + 1], at: ticks)
    }
}

extension RetimingRecord.Knot {
    /// The shift of a time between two knots, nanoseconds, rounded down.
    static func shift(between from: Self, and to: Self, at ticks: Int64) -> Int64 {
        let rise = Int128(to.shiftNanoseconds) - Int128(from.shiftNanoseconds)
        let run = Int128(to.ticks) - Int128(from.ticks)
        let part = rise * (Int128(ticks) - Int128(from.ticks))
        let floor = part / run - (part % run < 0 ? 1 : 0)
        return Int64(clamping: Int128(from.shiftNanoseconds) + floor)
    }
}

/// Moves all times of a file.
package struct FileRetiming: Sendable {
    private var tracks: [TrackKind: TrackRetiming] = [:]
    private var priming = PrimingCounter()
    /// Whether a picture at which decoding can start has occurred.
    private var hasSync = false
    private var counts: [TrackKind: Int] = [:]
    private var presented: Set<TrackKind> = []

    package init(_ record: RetimingRecord, movie: Movie) {
        for track in movie.tracks {
            guard let kind = track.kind, let mapping = record.track(kind) else { continue }
            tracks[kind] = TrackRetiming(
                mapping, timescale: track.timescale, mediaTimeShift: track.mediaTimeShift)
        }
    }

    /// Number of leading samples so far that are decoded but not presented.
    var primingSamples: [TrackKind: Int] { priming.counts }

    /// The delay of a track's first samples relative to its mapping.
    func displacement(_ kind: TrackKind) -> TrackRetiming.Displacement? {
        tracks[kind]?.displacement
    }

    /// See ``TrackRetiming/greatestDelayTicks``.
    func greatestDelayTicks(_ kind: TrackKind) -> Int64 { tracks[kind]?.greatestDelayTicks ?? 0 }

    /// The end of a track, ticks of the file's media timeline: as recorded, and after retiming.
    func last(_ kind: TrackKind) -> (recordedTicks: Int64, ticks: Int64)? { tracks[kind]?.last }

    /// Moves the times of the next fragment.
    package mutating func apply(to fragment: inout ScannedFragment) {
        priming.add(fragment)
        for run in fragment.runs.indices {
            let kind = fragment.runs[run].track
            guard var track = tracks.removeValue(forKey: kind) else { continue }
            for index in fragment.runs[run].samples.indices {
                let sample = fragment.runs[run].samples[index]
                let isFirst = isFirstPresented(kind, isSync: sample.isSync)
                fragment.runs[run].samples[index].dts = track.place(
                    sample.dts, compositionOffset: sample.compositionOffset,
                    isFirstPresented: isFirst)
            }
            tracks[kind] = track
        }
    }

    private mutating func isFirstPresented(_ kind: TrackKind, isSync: Bool) -> Bool {
        let index = counts[kind, default: 0]
        counts[kind] = index + 1
        guard !presented.contains(kind) else { return false }
        hasSync = hasSync || kind == .video && isSync
        let isPresented =
            switch kind {
            case .video: hasSync && index >= priming.counts[kind, default: 0]
            case .audio: index >= priming.counts[kind, default: 0]
            }
        if isPresented { presented.insert(kind) }
        return isPresented
    }
}
