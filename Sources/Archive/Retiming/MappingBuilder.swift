import Media
import Timing

/// Builds a file's mapping: for every run of samples, the time of its first sample according to all exchanges, thinned
/// to the necessary knots.
struct MappingBuilder {
    /// Knots are omitted if a straight line is this close; the bound includes this error, and the deviation within a
    /// run.
    static let toleranceNanoseconds: Int64 = 1_000
    /// The same where times follow a camera's timestamps: recorded times, from which shifts are counted, are rounded to
    /// ticks, one by one.
    private static func cameraTolerance(_ timescale: Timescale) -> Int64 {
        toleranceNanoseconds + 1_000_000_000 / Int64(timescale.ticksPerSecond)
    }
    /// A clock's offset changes by less than this from run to run; a larger change is a jump between them.
    private static let stepNanoseconds: Int64 = 1_000_000
    private let origin: Int64
    private let kind: TrackKind
    private let track: ClockEvidence.Track
    /// The track's beginning in the source's next file.
    private let next: FileOpening.Track?
    /// The bound of the times of an unmeasured clock.
    private let boundBefore: UInt64
    private let tolerance: Int64

    init(
        _ kind: TrackKind, _ track: ClockEvidence.Track, originNanoseconds: Int64,
        boundBefore: UInt64, next: FileOpening.Track? = nil
    ) {
        self.kind = kind
        self.track = track
        self.boundBefore = boundBefore
        self.next = next
        origin = originNanoseconds
        tolerance =
            track.runs.contains { $0.cameraShiftNanoseconds != 0 }
            ? Self.cameraTolerance(track.timescale) : Self.toleranceNanoseconds
    }

    /// A run with its computed shift.
    private struct ShiftedRun {
        var run: RecordedRun
        /// Nil when the sample's stamp is not plausible.
        var shiftNanoseconds: Int64?
        var boundNanoseconds: UInt64
        /// Whether the sample was written at the time of its stamp.
        var isAsStamped: Bool
        /// Session time of the stamp on the new timeline.
        var sessionNanoseconds: Int64
        /// Admissible times of the sample; nil if its clock was not measured.
        var choice: TimeChoice?
        /// The shift and the bound at the end of the file's last run, where the next file's beginning moves it.
        var end: (shiftNanoseconds: Int64, boundNanoseconds: UInt64)?
    }

    /// The mapping; nil when the track has no run, or none that can be placed.
    /// - Parameter timelines: of the epochs whose clock was measured; they cache the computed moments.
    func mapping(_ timelines: inout [EpochID: SourceTimeline]) -> [RetimingRecord.Knot]? {
        var places = track.runs.map { place($0, &timelines) }
        settleOddities(&places)
        limitSlew(&places, next: opening(&timelines))
        var corners: [RetimingRecord.Knot] = []
        var limits: [UInt64] = []
        var previous: ShiftedRun?
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
                limits.append(previous.run.boundNanoseconds)
            }
            let moved = place.choice == nil ? nil : place.run.moved
            if let moved {
                // It is decoded as much earlier as it was moved, and so presented at its own time; the next samples are not moved.
                corners.append(
                    RetimingRecord.Knot(
                        ticks: place.run.firstTicks,
                        shiftNanoseconds: shift.clampedSubtracting(
                            track.timescale.nanoseconds(moved.ticks)),
                        boundNanoseconds: place.boundNanoseconds
                            .clampedAdding(moved.unsureNanoseconds)))
                limits.append(place.run.boundNanoseconds)
            }
            corners.append(
                RetimingRecord.Knot(
                    ticks: place.run.firstTicks.clampedAdding(moved == nil ? 0 : 1),
                    shiftNanoseconds: shift, boundNanoseconds: place.boundNanoseconds))
            limits.append(place.run.boundNanoseconds)
            if let end = place.end, let start = corners.last, place.run.lastTicks > start.ticks {
                corners.append(
                    RetimingRecord.Knot(
                        ticks: place.run.lastTicks, shiftNanoseconds: end.shiftNanoseconds,
                        boundNanoseconds: end.boundNanoseconds))
                limits.append(place.run.boundNanoseconds)
            }
            previous = place
        }
        return corners.isEmpty
            ? nil : Self.thinned(corners, limits: limits, tolerance: tolerance)
    }

    private func place(
        _ run: RecordedRun, _ timelines: inout [EpochID: SourceTimeline]
    ) -> ShiftedRun {
        let recorded = sessionNanoseconds(run.firstTicks)
        guard let clock = run.clock,
            let estimate = timelines[clock.epoch]?.estimate(at: run.timeNanoseconds)
        else {
            // Its clock was not measured: it is not moved.
            return ShiftedRun(
                run: run, shiftNanoseconds: 0, boundNanoseconds: boundBefore, isAsStamped: true,
                sessionNanoseconds: recorded)
        }
        let stamped =
            run.stampNanoseconds &+ run.appliedOffsetNanoseconds
            &- clock.collectorZeroNanoseconds
        // The recorded mapping of the time by the camera's timestamps, which is so near that both clocks' rates apply.
        var recordedTime = stamped
        if run.cameraShiftNanoseconds != 0,
            let stamp = timelines[clock.epoch]?.estimate(at: run.stampNanoseconds)
        {
            recordedTime &+=
                run.cameraShiftNanoseconds &+ estimate.offsetNanoseconds &- stamp.offsetNanoseconds
        }
        let choice = TimeChoice(
            recorded: recordedTime, recordedBound: run.boundNanoseconds,
            computed: run.timeNanoseconds &+ estimate.offsetNanoseconds,
            computedBound: UInt64(clamping: estimate.boundNanoseconds)
                .clampedAdding(UInt64(2 * tolerance)))
        let belongs = choice.nearest
        let isAsStamped = track.isAsStamped(run, kind, originNanoseconds: origin)
        return ShiftedRun(
            run: run,
            shiftNanoseconds: isAsStamped ? belongs &- stamped : belongs &- recorded,
            boundNanoseconds: choice.boundNanoseconds(at: belongs),
            isAsStamped: isAsStamped, sessionNanoseconds: belongs, choice: choice)
    }

    /// Handles samples that were not written at their stamps. Such a sample is moved to its stamp only if that lies
    /// between the stamps of neighbours that were written at theirs: the clock was considered ahead, and was set back.
    /// Any other such stamp is implausible and is not used.
    private func settleOddities(_ places: inout [ShiftedRun]) {
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

    /// The first sample of the source's next file, if its computed time is before that file's beginning, with the least deviation
    /// from it.
    private func opening(
        _ timelines: inout [EpochID: SourceTimeline]
    ) -> (place: ShiftedRun, deviation: Int64)? {
        guard let next else { return nil }
        let builder = MappingBuilder(
            kind, next.track, originNanoseconds: next.originNanoseconds, boundBefore: boundBefore)
        guard let place = next.track.runs.first.map({ builder.place($0, &timelines) }),
            place.isAsStamped, let deviation = builder.startDeviation(place)
        else { return nil }
        return (place, deviation)
    }

    /// The least deviation of a file's first sample from its computed time: nothing is presented before the file begins.
    private func startDeviation(_ first: ShiftedRun) -> Int64? {
        guard let choice = first.choice, let ticks = track.earliestTicks else { return nil }
        let begin = sessionNanoseconds(ticks &+ (first.run.moved?.ticks ?? 0))
        let deviation = begin.clampedSubtracting(choice.computed)
        return deviation > 0 ? deviation : nil
    }

    /// Moves runs beside one whose computed time cannot be used, so that times of one clock keep their distances.
    private func limitSlew(
        _ places: inout [ShiftedRun], next: (place: ShiftedRun, deviation: Int64)?
    ) {
        var chain: [Int] = []
        for index in places.indices
        where places[index].isAsStamped && places[index].choice != nil {
            if let last = chain.last, !isContinuous(places[last], places[index]) {
                limitSlew(&places, chain, next: nil)
                chain = []
            }
            chain.append(index)
        }
        guard let last = chain.last else { return }
        let goesOn = next.map { last == places.count - 1 && isContinuous(places[last], $0.place) }
        limitSlew(&places, chain, next: goesOn == true ? next : nil)
    }

    private func limitSlew(
        _ places: inout [ShiftedRun], _ chain: [Int], next: (place: ShiftedRun, deviation: Int64)?
    ) {
        let choices = chain.compactMap { places[$0].choice }
        let windows = choices.map(\.deviations)
        let times = chain.map { places[$0].run.timeNanoseconds }
        var found = windows.map { _ in Int64(0) }
        if choices.contains(where: { $0.nearest != $0.computed }) {
            guard let slewed = SlewLimit.deviations(windows, at: times) else { return }
            found = slewed
        }
        let start = chain.first == 0 ? startDeviation(places[0]) : nil
        // The deviation of the next file's first sample, and its time.
        var following: (deviation: Int64, nanoseconds: Int64)?
        // The beginning of this file, that of the next one, or both, as far as the time between them suffices.
        for (start, next) in [(start, next), (start, nil), (nil, next)] {
            var windows = windows
            var times = times
            if let start, !windows[0].raise(to: start) { continue }
            if let (place, deviation) = next, var window = place.choice?.deviations {
                guard window.raise(to: deviation) else { continue }
                windows.append(window)
                times.append(place.run.timeNanoseconds)
            }
            guard let slewed = SlewLimit.deviations(windows, at: times),
                zip(slewed, found).contains(where: ==)
            else { continue }
            found = Array(slewed.prefix(chain.count))
            following = next.map { (slewed[chain.count], $0.place.run.timeNanoseconds) }
            break
        }
        for ((index, choice), deviation) in zip(zip(chain, choices), found) {
            let time = choice.computed &+ deviation
            guard time != choice.nearest else { continue }
            places[index].shiftNanoseconds =
                places[index].shiftNanoseconds.map { $0 &+ time &- choice.nearest }
            places[index].sessionNanoseconds = time
            places[index].boundNanoseconds = choice.boundNanoseconds(at: time)
        }
        guard let following, let last = chain.last, let deviation = found.last,
            let choice = choices.last, let shift = places[last].shiftNanoseconds
        else { return }
        // The last run's later samples are on the way to the next file's first one.
        let run = places[last].run
        let length = track.timescale.nanoseconds(run.lastTicks &- run.firstTicks)
        let whole = following.nanoseconds.clampedSubtracting(run.timeNanoseconds)
        guard length > 0, length <= whole else { return }
        let part = Double(length) / Double(whole)
        let change = Int64(Double(following.deviation &- deviation) * part)
        guard windows[windows.count - 1].contains(deviation &+ change) else { return }
        places[last].end = (
            shift &+ change,
            choice.boundNanoseconds(at: choice.computed &+ deviation &+ change)
        )
    }

    /// Whether two consecutive runs are of one clock, whose computed offset did not jump between them.
    private func isContinuous(_ first: ShiftedRun, _ second: ShiftedRun) -> Bool {
        guard first.run.clock?.epoch == second.run.clock?.epoch,
            let before = first.choice, let after = second.choice
        else { return false }
        return distance(
            before.computed &- first.run.timeNanoseconds,
            after.computed &- second.run.timeNanoseconds) <= Self.stepNanoseconds
    }

    /// The session time of a recorded time.
    private func sessionNanoseconds(_ ticks: Int64) -> Int64 {
        track.sessionNanoseconds(ticks, originNanoseconds: origin)
    }

    /// Removes knots as far as the tolerance of all of them permits; a knot's bound is the maximum of those that it
    /// replaces, and not above the limit of any.
    static func thinned(
        _ corners: [RetimingRecord.Knot], limits: [UInt64],
        tolerance: Int64 = toleranceNanoseconds
    ) -> [RetimingRecord.Knot] {
        var kept: [RetimingRecord.Knot] = []
        var start = 0
        while start < corners.count {
            var from = corners[start]
            var end = start + 1
            // Slopes that pass all knots since `start` within the tolerance, ns per tick.
            var lowest = -Double.infinity
            var highest = Double.infinity
            var reached = start
            // The largest bound of the knots that this one replaces, itself included.
            var bound = from.boundNanoseconds
            var limit = limits[start]
            while end < corners.count {
                let run = Double(corners[end].ticks - from.ticks)
                guard run > 0 else { break }
                let rise = Double(corners[end].shiftNanoseconds - from.shiftNanoseconds)
                guard rise / run >= lowest, rise / run <= highest else { break }
                if reached > start {
                    let greatest = max(bound, corners[reached].boundNanoseconds)
                    let least = min(limit, limits[reached])
                    guard greatest <= least else { break }
                    (bound, limit) = (greatest, least)
                }
                reached = end
                lowest = max(lowest, (rise - Double(tolerance)) / run)
                highest = min(highest, (rise + Double(tolerance)) / run)
                end += 1
            }
            from.boundNanoseconds = max(bound, min(corners[reached].boundNanoseconds, limit))
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

extension ClosedRange<Int64> {
    /// Raises the lower bound; false if that is above the upper bound.
    fileprivate mutating func raise(to bound: Int64) -> Bool {
        guard bound <= upperBound else { return false }
        self = Swift.max(lowerBound, bound)...upperBound
        return true
    }
}
