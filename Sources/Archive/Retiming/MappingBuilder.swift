import Media
import Timing

/// Makes a file's mapping: for every run of samples, where its first one belongs now that all exchanges are known, thinned to the
/// corners that matter.
struct MappingBuilder {
    /// A mapping's corners are left out where a straight line is as near as this; the bound pays for it, and for what it may
    /// do within a run.
    static let toleranceNanoseconds: Int64 = 1_000
    /// What a clock's offset changes by from run to run is less than this; more is a jump, and happens between them.
    private static let stepNanoseconds: Int64 = 1_000_000
    /// How far from its stamp a sample is written: half a tick for pictures, and two more for sound that runs on.
    private static func toleranceTicks(_ kind: TrackKind) -> Int64 { kind == .audio ? 3 : 1 }

    private let origin: Int64
    private let kind: TrackKind
    private let track: ClockEvidence.Track
    /// How well times of an unmeasured clock are known.
    private let boundBefore: UInt64

    init(
        _ kind: TrackKind, _ track: ClockEvidence.Track, originNanoseconds: Int64,
        boundBefore: UInt64
    ) {
        self.kind = kind
        self.track = track
        self.boundBefore = boundBefore
        origin = originNanoseconds
    }

    /// A run with what is known of it.
    private struct Place {
        var run: RecordedRun
        /// Nil when the sample's stamp cannot be true.
        var shiftNanoseconds: Int64?
        var boundNanoseconds: UInt64
        /// Whether the sample was written where its stamp said.
        var isAsStamped: Bool
        /// Session time of the stamp on the new timeline.
        var sessionNanoseconds: Int64
    }

    /// The mapping; nil when the track has no run, or none that can be placed.
    /// - Parameter timelines: of the epochs whose clock was measured; they learn what has been asked.
    func mapping(_ timelines: inout [ClockKey: RetroTimeline]) -> [RetimingRecord.Knot]? {
        var places = track.runs.map { place($0, &timelines) }
        settleOddities(&places)
        var corners: [RetimingRecord.Knot] = []
        var previous: Place?
        for place in places {
            guard let shift = place.shiftNanoseconds else { continue }
            if let previous, let before = previous.shiftNanoseconds, previous.isAsStamped,
                place.isAsStamped, distance(before, shift) > Self.stepNanoseconds,
                previous.run.lastTicks > previous.run.firstTicks
            {
                corners.append(
                    RetimingRecord.Knot(
                        ticks: previous.run.lastTicks, shiftNanoseconds: before,
                        boundNanoseconds: previous.boundNanoseconds))
            }
            corners.append(
                RetimingRecord.Knot(
                    ticks: place.run.firstTicks, shiftNanoseconds: shift,
                    boundNanoseconds: place.boundNanoseconds))
            previous = place
        }
        return corners.isEmpty ? nil : Self.thinned(corners)
    }

    private func place(
        _ run: RecordedRun, _ timelines: inout [ClockKey: RetroTimeline]
    ) -> Place {
        let recorded = sessionNanoseconds(run.firstTicks)
        guard let clock = run.clock,
            let estimate = timelines[clock]?.estimate(at: run.stampNanoseconds)
        else {
            // Nothing is known of its clock: it stays where it is.
            return Place(
                run: run, shiftNanoseconds: 0, boundNanoseconds: boundBefore, isAsStamped: true,
                sessionNanoseconds: recorded)
        }
        let zero = clock.collectorZeroNanoseconds
        let stamped = run.stampNanoseconds &+ run.appliedOffsetNanoseconds &- zero
        let belongs = run.stampNanoseconds &+ estimate.offsetNanoseconds &- zero
        let tick = 1_000_000_000 / Int64(track.timescale.ticksPerSecond) + 1
        let isAsStamped =
            distance(recorded, stamped) <= tick * Self.toleranceTicks(kind)
        return Place(
            run: run,
            shiftNanoseconds: isAsStamped
                ? estimate.offsetNanoseconds &- run.appliedOffsetNanoseconds
                : belongs &- recorded,
            boundNanoseconds: UInt64(clamping: estimate.boundNanoseconds)
                + UInt64(2 * Self.toleranceNanoseconds),
            isAsStamped: isAsStamped, sessionNanoseconds: belongs)
    }

    /// A sample that was not written where its stamp said is placed by its stamp only if that lies between those of its sound
    /// neighbours: a clock that was taken to be ahead, and put back. A stamp that was absurd stays so.
    private func settleOddities(_ places: inout [Place]) {
        var earliest = Int64.min
        var latest: [Int64] = []
        var next = Int64.max
        for place in places.reversed() {
            if place.isAsStamped { next = place.sessionNanoseconds }
            latest.append(next)
        }
        latest.reverse()
        for index in places.indices {
            let session = places[index].sessionNanoseconds
            if places[index].isAsStamped {
                earliest = session
            } else if session > earliest, session < latest[index], earliest > .min {
                earliest = session
            } else {
                places[index].shiftNanoseconds = nil
            }
        }
    }

    /// The session time of a recorded time.
    private func sessionNanoseconds(_ ticks: Int64) -> Int64 {
        do {
            let start = try rescale(origin, from: .nanoseconds, to: track.timescale)
            return try rescale(
                ticks &- track.mediaTimeShift &+ start, from: track.timescale, to: .nanoseconds)
        } catch {
            return .max
        }
    }

    /// As few corners as are needed to stay within the tolerance of all of them; a corner's bound is that of all it stands for.
    static func thinned(_ corners: [RetimingRecord.Knot]) -> [RetimingRecord.Knot] {
        var kept: [RetimingRecord.Knot] = []
        var start = 0
        while start < corners.count {
            var from = corners[start]
            var end = start + 1
            // Slopes that pass all corners since `start` within the tolerance, ns per tick.
            var lowest = -Double.infinity
            var highest = Double.infinity
            var reached = start
            while end < corners.count {
                let run = Double(corners[end].ticks - from.ticks)
                guard run > 0 else { break }
                let rise = Double(corners[end].shiftNanoseconds - from.shiftNanoseconds)
                guard rise / run >= lowest, rise / run <= highest else { break }
                reached = end
                let tolerance = Double(toleranceNanoseconds)
                lowest = max(lowest, (rise - tolerance) / run)
                highest = min(highest, (rise + tolerance) / run)
                end += 1
            }
            for corner in corners[start...reached] {
                from.boundNanoseconds = max(from.boundNanoseconds, corner.boundNanoseconds)
            }
            kept.append(from)
            if reached == start {
                start += 1
            } else if reached == corners.count - 1 {
                kept.append(corners[reached])
                break
            } else {
                start = reached
            }
        }
        return kept
    }
}

/// |a − b|, within 64 bits.
private func distance(_ a: Int64, _ b: Int64) -> Int64 {
    let (difference, overflow) = a.subtractingReportingOverflow(b)
    return overflow ? .max : Int64(clamping: difference.magnitude)
}
