import Media

/// Assigns times on the receiver's clock to a track's access units, in decoding order.
///
/// The first units are held for a moment: cameras start with a cached group of pictures, and the least delay is known only after it.
/// Units from before ``notBeforeNanoseconds``, which later ones may reference, get times shortly after it. The held units also
/// show whether pictures are reordered. Late units are held again until ``ArrivalClock`` has found the cause; if timestamps stood
/// still, times follow the arrivals from then on. Decoding times are the presentation times in ascending order, shifted by the
/// reorder depth (ISO/IEC 14496-10 §C.4.5.2).
package struct UnitTimes: Sendable {
    /// A unit with its times, nanoseconds of the receiver's clock.
    package struct Timed: Hashable, Sendable {
        package var unit: AccessUnit
        package var ptsNanoseconds: Int64
        package var dtsNanoseconds: Int64
        /// 0: unknown.
        package var durationNanoseconds: Int64
    }

    package enum Item: Hashable, Sendable {
        case unit(Timed)
        case hole(StreamHole)
    }

    /// The first units are held for this time, which is repeated while units arrive faster than they were captured.
    package static let settlingNanoseconds: Int64 = 300_000_000
    /// Maximum time, in total, for which the first units are held.
    static let longestSettlingNanoseconds: Int64 = 5_000_000_000
    /// Limit of held units.
    private static let mostHeld = 1_024
    /// Minimum distance of two pictures, nanoseconds.
    private static let leastStep: Int64 = 1_000
    /// Maximum reorder depth of H.264 (`max_num_reorder_frames`).
    private static let mostReordered = 16
    private static let usualDuration: Int64 = 40_000_000
    /// Distance given to held units that were captured before the earliest time, nanoseconds. Smaller ones would look like
    /// invented times (`PictureSpacing` of `Archive`).
    private static let crowdedStep: Int64 = 150_000
    /// The least distance that is reduced to ``crowdedStep``: units with smaller ones are reduced by the same factor.
    private static let leastCrowded: Int64 = 5_000_000
    /// Timestamps that are compared to keep the presentation order are at most this far apart, nanoseconds.
    private static let longestReordering: Int64 = 2_000_000_000
    /// Units that arrive in more than their duration by a tenth of it may have timestamps of another rate.
    private static let slowShare: Int64 = 10
    private static let leastDuration: Int64 = 1_000_000
    private static let longestDuration: Int64 = 60_000_000_000
    /// Between reordered pictures. A longer distance after shorter ones is a pause, unless another one follows.
    private static let longestStep: Int64 = 1_000_000_000

    private enum Held {
        case unit(HeldUnit)
        case hole(StreamHole)
    }

    private struct HeldUnit {
        var unit: AccessUnit
        /// By the clock.
        var stamp: UInt32
        /// By the count of samples.
        var counted: UInt32
        /// By the estimate at its arrival.
        var time: Int64
        /// It arrived late, for an unknown reason.
        var isLate = false
    }

    /// Earliest time of a unit; nil: no limit.
    package var notBeforeNanoseconds: Int64?
    private var clock: ArrivalClock
    private var sound: SoundStamps
    /// Samples are counted, which was not reported yet.
    private var isCountUntold = false
    /// Known delay from capture to arrival.
    private let delayNanoseconds: Int64
    /// Held units; nil: units are not held.
    private var held: [Held]? = []
    /// The first units are held.
    private var isBeginning = true
    /// The clock's changes before the first held unit, and before the first one of ``recent``.
    private var heldChanges = ArrivalClock.Changes()
    private var recentChanges = ArrivalClock.Changes()
    private var settledAt: Int64?
    /// Arrival of the first unit.
    private var beganAt: Int64 = 0
    /// The time that becomes the earliest one, and the distance that becomes ``crowdedStep``; nil before the first unit from before
    /// the earliest time.
    private var crowd: (first: Int64, step: Int64)?
    /// The last units, with their presentation times.
    private var recent: [(timestamp: UInt32, pts: Int64)] = []
    private let clockRate: UInt32
    /// Reorder depth: pictures that precede another one in decoding order and follow it in presentation order.
    private var depth: Int
    /// Presentation times that are not used as decoding times yet, ascending.
    private var unused: [Int64] = []
    /// Number of pictures whose decoding time precedes the first presentation time.
    private var early = 0
    private var lastDTS: Int64?
    private var lastPTS: Int64?
    private var duration: Int64
    private var isDurationKnown: Bool
    /// The last distance was longer than ``longestStep``.
    private var isLong = false
    /// Units are missing before the next one.
    private var isAfterHole = false
    /// The last distances of two pictures in presentation order, where pictures are reordered.
    private var steps: [Int64] = []
    /// The last presentation time that was used as a decoding time.
    private var lastUsed: Int64?

    /// - Parameters:
    ///   - clockRate: RTP clock rate, Hz.
    ///   - reorderDepth: from the parameter sets; 0 if unknown.
    ///   - usualDuration: of a unit, from the format; nil if unknown.
    ///   - length: of sound's units.
    ///   - delayNanoseconds: known delay from capture to arrival, which is subtracted.
    package init(
        clockRate: UInt32, reorderDepth: Int = 0, usualDuration: Int64? = nil,
        length: UnitLength = .unknown, delayNanoseconds: Int64 = 0
    ) {
        self.delayNanoseconds = delayNanoseconds
        self.clockRate = max(1, clockRate)
        clock = ArrivalClock(clockRate: clockRate)
        sound = SoundStamps(length, clockRate: clockRate)
        depth = min(max(0, reorderDepth), Self.mostReordered)
        duration = usualDuration ?? Self.usualDuration
        isDurationKnown = usualDuration != nil
    }

    /// The last unit's duration; nil: unknown.
    package var knownDuration: Int64? { isDurationKnown ? duration : nil }

    /// The distance that is assumed between reordered pictures.
    private var step: Int64 { min(duration, Self.longestStep) }

    package mutating func takeFindings() -> ArrivalClock.Findings {
        defer { isCountUntold = false }
        var findings = clock.takeFindings()
        findings.isCounting = isCountUntold
        return findings
    }

    /// When ``tick(now:)`` is due without new units; nil if none are held.
    package var deadlineNanoseconds: Int64? { held?.isEmpty == false ? settledAt : nil }

    /// - Returns: units whose times are known, in decoding order.
    package mutating func add(_ item: DepacketizedItem, now: Int64) -> [Item] {
        switch item {
        case .unit(let unit):
            let arrival = unit.firstArrivalNanoseconds
            let wasCounting = sound.isCounting
            let changes = clock.changes
            let counted = sound.count(unit)
            if sound.isCounting, !wasCounting { beginCount() }
            let stamp = sound.isCounting ? counted : unit.timestamp
            let time = clock.time(of: stamp, arrivalNanoseconds: arrival) - delayNanoseconds
            if settledAt == nil {
                beganAt = arrival
                settledAt = arrival + Self.settlingNanoseconds
            }
            if held == nil, clock.isDoubtful {
                held = []
                heldChanges = changes
                settledAt = arrival + ArrivalClock.doubtNanoseconds
            }
            guard held != nil else { return [.unit(timed(unit, at: uncrowded(time)))] }
            held?.append(
                .unit(
                    HeldUnit(
                        unit: unit, stamp: stamp, counted: counted, time: time,
                        isLate: clock.isLate)))
        case .hole(let hole):
            guard held != nil else {
                isAfterHole = true
                return [.hole(hole)]
            }
            held?.append(.hole(hole))
        }
        return tick(now: now)
    }

    /// Outputs the held units after the settling time.
    package mutating func tick(now: Int64) -> [Item] {
        guard let held, let settledAt else { return [] }
        let isDecided = !isBeginning && !clock.isDoubtful
        guard now >= settledAt || held.count > Self.mostHeld || isDecided else { return [] }
        if isBeginning, held.count <= Self.mostHeld, mayChange(settledAt),
            settledAt - beganAt < Self.longestSettlingNanoseconds
        {
            self.settledAt = settledAt + Self.settlingNanoseconds
            return []
        }
        return settle()
    }

    /// Whether more of the first units are needed for their times.
    private func mayChange(_ settledAt: Int64) -> Bool {
        isBurst(since: settledAt - Self.settlingNanoseconds) || clock.isJudgingRate && isSlow()
            || sound.isInDoubt
    }

    /// Whether the units were captured over a shorter time than they arrived in.
    private func isSlow() -> Bool {
        let units = heldUnits
        guard let first = units.first, let last = units.last else { return false }
        let arrival = last.unit.firstArrivalNanoseconds - first.unit.firstArrivalNanoseconds
        let media = units.map { distance(from: first, to: $0) }.max() ?? 0
        return arrival >= Self.settlingNanoseconds / 2
            && media < arrival - arrival / Self.slowShare
    }

    private var heldUnits: [HeldUnit] {
        (held ?? []).compactMap { if case .unit(let own) = $0 { own } else { nil } }
    }

    /// The distance of two units' timestamps, nanoseconds.
    private func distance(from first: HeldUnit, to last: HeldUnit) -> Int64 {
        let ticks = Int64(Int32(bitPattern: last.stamp &- first.stamp))
        return Timescale(clockRate).nanoseconds(ticks)
    }

    /// From now on, samples are counted: the clock restarts, with the first units if they are held.
    private mutating func beginCount() {
        isCountUntold = true
        clock = ArrivalClock(clockRate: clockRate)
        guard isBeginning, let items = held else { return }
        held = items.map { item -> Held in
            guard case .unit(var own) = item else { return item }
            own.stamp = own.counted
            own.time =
                clock.time(
                    of: own.stamp, arrivalNanoseconds: own.unit.firstArrivalNanoseconds)
                - delayNanoseconds
            return .unit(own)
        }
    }

    /// Whether the units that arrived since a time were captured over a much longer time.
    private func isBurst(since start: Int64) -> Bool {
        let units = heldUnits.filter { $0.unit.firstArrivalNanoseconds >= start }
        guard let first = units.first, let last = units.last,
            last.unit.firstArrivalNanoseconds >= start + Self.settlingNanoseconds / 2
        else { return false }
        return distance(from: first, to: last) > 2 * Self.settlingNanoseconds
    }

    /// Ends the stream: all held units.
    package mutating func flush() -> [Item] { settle() }

    private mutating func settle() -> [Item] {
        guard let items = held else { return [] }
        held = nil
        guard isBeginning else { return settleDoubt(items) }
        isBeginning = false
        var times = items.map { item -> Int64? in
            guard case .unit(let own) = item else { return nil }
            // With another rate, the first times were too early.
            if clock.changes.rates > heldChanges.rates { return latest(own) }
            let known = clock.time(of: own.stamp) - delayNanoseconds
            return (known - own.time).magnitude < 10_000_000_000 ? min(known, own.time) : own.time
        }
        let known = times.compactMap { $0 }
        for (index, time) in known.enumerated() {
            depth = max(depth, known[..<index].count { $0 > time })
        }
        depth = min(depth, Self.mostReordered)
        let ordered = known.sorted()
        let steps = zip(ordered, ordered.dropFirst()).map { $1 - $0 }.sorted()
        if let step = Self.usual(steps) { note(step: step) }
        if let first = ordered.first, let notBeforeNanoseconds, first < notBeforeNanoseconds {
            // Pictures between the held ones may follow.
            let step = min(duration, steps.first { $0 >= Self.leastStep } ?? duration)
            crowd = (first, max(step, Self.leastCrowded))
            times = times.map { $0.map { uncrowded($0) } }
        }
        return zip(items, times).map { item, time in
            switch item {
            case .unit(let own): return .unit(timed(own.unit, at: time ?? own.time))
            case .hole(let hole):
                isAfterHole = true
                return .hole(hole)
            }
        }
    }

    /// The held units after the clock has decided why they were late.
    private mutating func settleDoubt(_ items: [Held]) -> [Item] {
        clock.decide()
        // Timestamps from before another sequence are not on the present clock.
        let isLagging =
            clock.changes.lags > heldChanges.lags
            && clock.changes.sequences == heldChanges.sequences
        return items.map { item -> Item in
            switch item {
            case .unit(let own):
                let time = isLagging && own.isLate ? latest(own) : own.time
                return .unit(timed(own.unit, at: uncrowded(time)))
            case .hole(let hole):
                isAfterHole = true
                return .hole(hole)
            }
        }
    }

    /// A unit's time by the present estimate, at most its arrival.
    private func latest(_ own: HeldUnit) -> Int64 {
        min(clock.time(of: own.stamp), own.unit.firstArrivalNanoseconds) - delayNanoseconds
    }

    /// The usual distance of two pictures. Where pictures are missing, it is a multiple.
    private static func usual(_ steps: [Int64]) -> Int64? {
        // Smaller steps are of units that were moved to just after the earliest time.
        let sorted = steps.filter { $0 >= Self.leastDuration }.sorted()
        guard !sorted.isEmpty else { return nil }
        let small = sorted[sorted.count / 4]
        let single = sorted.filter { $0 <= small + small / 2 && $0 >= small / 2 }
        return single.reduce(0, +) / Int64(single.count)
    }

    /// Moves a time from before the earliest time after it. Later times keep their order, whether they are moved or not: with a known
    /// delay, and of reordered pictures, units from before the earliest time may come after the held ones.
    private mutating func uncrowded(_ time: Int64) -> Int64 {
        guard let notBeforeNanoseconds else { return time }
        if crowd == nil, time < notBeforeNanoseconds {
            crowd = (time, max(duration, Self.leastCrowded))
        }
        guard let crowd else { return time }
        let distance = max(0, time.clampedSubtracting(crowd.first))
        let (steps, rest) = distance.quotientAndRemainder(dividingBy: crowd.step)
        return max(
            time,
            notBeforeNanoseconds + steps * Self.crowdedStep
                + rest * Self.crowdedStep / crowd.step)
    }

    /// A presentation time between those of its neighbours in presentation order, whatever the clock's estimate was at each of them.
    private mutating func inOrder(_ timestamp: UInt32, _ time: Int64) -> Int64 {
        if clock.changes.lags != recentChanges.lags
            || clock.changes.sequences != recentChanges.sequences
        {
            // Timestamps from before a step are not comparable.
            recentChanges = clock.changes
            recent = []
        }
        var before: (ticks: Int64, pts: Int64)?
        var after: (ticks: Int64, pts: Int64)?
        for own in recent {
            let ticks = Int64(Int32(bitPattern: own.timestamp &- timestamp))
            let distance = Timescale(clockRate).nanoseconds(ticks)
            guard ticks != 0, distance.magnitude <= Self.longestReordering.magnitude else {
                continue
            }
            if ticks < 0, ticks > before?.ticks ?? .min { before = (ticks, own.pts) }
            if ticks > 0, ticks < after?.ticks ?? .max { after = (ticks, own.pts) }
        }
        var time = time
        if depth > 0, let before, let after, before.pts < after.pts,
            time <= before.pts || time >= after.pts
        {
            let ticks = Int128(-before.ticks) * Int128(after.pts - before.pts)
            let between =
                before.pts + Int64(clamping: ticks / Int128(after.ticks - before.ticks))
            // A larger difference is a timestamp that was set back.
            let limit = 2 * Int64(depth + 1) * self.step
            if (time - between).magnitude <= limit.magnitude { time = between }
        }
        recent.append((timestamp, time))
        if recent.count > Self.mostReordered { recent.removeFirst() }
        return time
    }

    /// Notes the next time in presentation order.
    private mutating func noteUsed(_ time: Int64) {
        defer { lastUsed = max(time, lastUsed ?? time) }
        guard let lastUsed else { return }
        steps.append(time - lastUsed)
        if steps.count > Self.mostReordered { steps.removeFirst() }
        if let step = Self.usual(steps) { note(step: step) }
    }

    private mutating func note(step: Int64) {
        guard step >= Self.leastDuration, step <= Self.longestDuration else { return }
        let isPause = step > Self.longestStep && !isLong && isDurationKnown
        isLong = step > Self.longestStep
        if isPause, duration <= Self.longestStep { return }
        duration = step
        isDurationKnown = true
    }

    private mutating func timed(_ unit: AccessUnit, at time: Int64) -> Timed {
        var pts = inOrder(unit.timestamp, time)
        if let lastPTS {
            if depth == 0, !isAfterHole { note(step: pts - lastPTS) }
            isAfterHole = false
            // After a pause, decoding times restart.
            if pts - lastPTS > Self.longestStep * Int64(1 + depth) {
                unused = []
                early = 0
                lastUsed = nil
            }
        }
        unused.insert(pts, at: unused.firstIndex { $0 > pts } ?? unused.count)
        var dts: Int64
        if early < depth {
            early += 1
            dts = (unused.first ?? pts) - Int64(depth - early + 1) * step
        } else {
            dts = unused.removeFirst()
            if depth > 0 { noteUsed(dts) }
        }
        if let lastDTS, dts < lastDTS + Self.leastStep {
            dts = lastDTS + Self.leastStep
            if dts > pts, pts + Int64(Self.mostReordered) * Self.longestStep > dts {
                // The reorder depth is larger than known: this picture is late.
                if let lastPTS, pts < lastPTS, depth < Self.mostReordered,
                    lastPTS - pts <= Int64(depth + 3) * step
                {
                    depth += 1
                    unused.insert(pts, at: 0)
                }
                pts = dts
            }
        }
        dts = min(dts, pts)
        lastDTS = dts
        lastPTS = max(lastPTS ?? pts, pts)
        return Timed(
            unit: unit, ptsNanoseconds: pts, dtsNanoseconds: dts,
            durationNanoseconds: knownDuration ?? 0)
    }
}
