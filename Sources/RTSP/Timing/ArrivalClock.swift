import Media

/// Maps a track's RTP timestamps to the receiver's clock, based on arrival times.
///
/// Timestamps determine the distance of pictures, and the packet with the least delay in the last seconds determines their
/// offset. A time is at most the arrival of its packet, and at least that arrival minus the packet's additional delay. Times of
/// growing timestamps stay 1 µs apart, even if they exceed the arrival. The least network delay and the camera's encoding delay
/// are unknown, and not subtracted.
///
/// A single implausible timestamp is ignored; several consistent ones start a new sequence. Implausible is a timestamp that is far
/// from the others, or, where their distance is constant, one that is set back or forth while packets arrive regularly. If the
/// timestamps drift, run at another rate than stated or do not grow, arrival times prevail.
///
/// If packets begin to arrive late, either the network is slow, or the timestamps stood still or were set back. A network that was
/// slow delivers faster than its packets were captured until the delay is over. So a constant additional delay is a step of the
/// timestamps (*lag*), and times follow it at once: after ``lagSeconds`` whole seconds, or where the caller holds the units
/// (``isDoubtful``), before the first one is used. A delay that decreases is the network's. One that grows for ``lagSeconds`` is
/// followed, too: the rate may be wrong. A rate far below the stated one is known after ``paceParts`` parts of the first seconds, other
/// ones after ``windowSeconds``.
///
/// Steps, corrections and new rates apply from a timestamp that is greater than all before, so that reordered pictures keep their
/// presentation order.
package struct ArrivalClock: Hashable, Sendable {
    /// Findings since the last call.
    package struct Findings: Hashable, Sendable {
        /// Ignored timestamps.
        package var strayStamps = 0
        /// Restarts of the timestamp sequence, and lags.
        package var steps = 0
        /// Sum of the lags: the time by which the timestamps fell behind.
        package var lagNanoseconds: Int64 = 0
        /// Whether the timestamps stopped growing while packets arrive.
        package var isStanding = false
        /// Whether the timestamps contradict the lengths of the packets, which are counted instead (``SoundStamps``).
        package var isCounting = false
        /// Sum of the forward moves of times while packets arrived: they are not pauses of the camera.
        package var forwardNanoseconds: Int64 = 0
        /// A new estimate of the timestamps' rate, in ppm of the nominal rate; nil if unchanged.
        package var ratePPM: Int64?
    }

    /// Numbers of changes so far.
    struct Changes: Hashable, Sendable {
        /// New sequences of timestamps.
        var sequences = 0
        var lags = 0
        var rates = 0
    }

    private struct Second: Hashable {
        var number: Int64
        /// Least and greatest delay of a packet.
        var least: Int64
        var most: Int64
        /// By how much packets arrived before their times.
        var early: Int64 = 0
    }

    /// Packets that arrive late, after others that did not.
    private struct Doubt: Hashable {
        /// A packet with a greater delay is late.
        var limit: Int64
        /// Arrival of the first late packet after one that was not.
        var since: Int64
        /// Least delays of late packets in the first ``halfNanoseconds`` and after it.
        var first = Int64.max
        var second = Int64.max
        /// Consecutive packets that were not late.
        var onTime = 0
    }

    /// The first packets, from which a rate far below the stated one follows.
    private struct Pace: Hashable {
        struct Point: Hashable {
            var part: Int64
            var arrival: Int64
            var late: Int64
        }
        let began: Int64
        /// The packet with the least delay of each part.
        var points: [Point] = []
    }

    /// A larger deviation is outside the sequence.
    private static let jumpNanoseconds: Int64 = 1_000_000_000
    /// Minimum distance of the times of growing timestamps.
    private static let leastStepNanoseconds: Int64 = 1_000
    /// A smaller deviation from a constant distance is jitter.
    private static let leastShiftNanoseconds: Int64 = 20_000_000
    /// Consistent timestamps that start a new sequence.
    private static let newCountStamps = 8
    /// A smaller lag is corrected slowly.
    private static let leastLagNanoseconds: Int64 = 100_000_000
    /// Tolerated change of a constant delay; of a small delay, an eighth of it.
    private static let levelNanoseconds: Int64 = 50_000_000
    /// Whole seconds with a constant delay that are a lag.
    private static let lagSeconds = 3
    /// Half of the time in which a doubt is decided.
    private static let halfNanoseconds: Int64 = 1_000_000_000
    /// Time in which a doubt is decided.
    package static let doubtNanoseconds = 2 * halfNanoseconds
    /// Consecutive packets that are not late and end a doubt: more than the pictures between two that are not late, where pictures are
    /// reordered.
    private static let onTimePackets = 4
    /// Packets before the first doubt: their delays are the usual ones.
    private static let usualPackets = 16
    /// Consecutive equal timestamps that stand still.
    private static let standingStamps = 8
    /// Parts of the first seconds that show a rate far below the stated one, and their duration.
    private static let paceParts: Int64 = 4
    private static let partNanoseconds: Int64 = 500_000_000
    /// Such a rate lets the delay grow by at least this in each second.
    private static let leastGrowthPerSecond: Int64 = 100_000_000
    /// Window for the least delay.
    private static let windowSeconds = 8
    /// Maximum correction per second: 1 %, far above the drift of a crystal.
    private static let slewNanoseconds: Int64 = 10_000_000
    /// A rate that deviates by more than 1/100 is a new rate.
    private static let rateTolerance: Int64 = 100
    /// The same once the rate is known to differ from the stated one: it was measured in a short time, and is not a crystal's.
    private static let measuredRateTolerance: Int64 = 2_000
    /// Plausible rates: 1/200 to 200 times the nominal rate.
    private static let plausibleRates: ClosedRange<Int64> = 5_000...200_000_000

    private let clockRate: UInt32
    /// The last accepted timestamp, and its value without wraps.
    private var last: (stamp: UInt32, ticks: Int64)?
    /// One instant on both clocks, nanoseconds.
    private var anchor: (media: Int64, local: Int64) = (0, 0)
    /// Rate of the timestamps, in ppm of the nominal rate.
    private var ratePPM: Int64 = 1_000_000
    /// The last one in the findings.
    private var reportedPPM: Int64 = 1_000_000
    /// The last returned time, and its arrival.
    private var given: (time: Int64, arrival: Int64)?
    private var rhythm = StampRhythm()
    private var strays = 0
    private var stray: (ticks: Int64, arrival: Int64)?
    private var seconds: [Second] = []
    /// The greatest timestamp of the sequence.
    private var greatest: Int64 = 0
    /// A second is over, and its correction is due.
    private var isDue = false
    private var doubt: Doubt?
    private var pace: Pace?
    /// Accepted packets of the sequence, up to ``usualPackets``.
    private var packets = 0
    /// Consecutive timestamps that equal the one before.
    private var standing = 0
    private var hasStood = false
    private var findings = Findings()
    private(set) var changes = Changes()

    package init(clockRate: UInt32) {
        self.clockRate = max(1, clockRate)
    }

    package mutating func takeFindings() -> Findings {
        defer { findings = Findings() }
        return findings
    }

    /// Observes a packet without returning its time.
    package mutating func observe(timestamp: UInt32, arrivalNanoseconds arrival: Int64) {
        _ = time(of: timestamp, arrivalNanoseconds: arrival)
    }

    /// Upper bound of a timestamp's capture time. Arrival times must not decrease.
    package mutating func time(of timestamp: UInt32, arrivalNanoseconds arrival: Int64) -> Int64 {
        guard let last else {
            self.last = (timestamp, Int64(timestamp))
            greatest = Int64(timestamp)
            anchor = (nanoseconds(Int64(timestamp)), arrival)
            pace = Pace(began: arrival)
            note(late: 0, at: arrival)
            return give(arrival, arrival)
        }
        let ticks = last.ticks + Int64(Int32(bitPattern: timestamp &- last.stamp))
        let late = arrival.clampedSubtracting(local(ticks))
        let isBack = nanoseconds(ticks - last.ticks) < -Self.jumpNanoseconds
        if isBack || late < -Self.jumpNanoseconds || isShifted(ticks, late: late, arrival) {
            return strayTime(timestamp, ticks, arrival)
        }
        if stray == nil { rhythm.note(ticks - last.ticks) }
        strays = 0
        stray = nil
        standing = ticks == last.ticks ? standing + 1 : 0
        self.last = (timestamp, ticks)
        if standing >= Self.standingStamps { return standTime(ticks, arrival, late: late) }
        // A capture time is not later than its arrival.
        if late < 0 { move(by: late) }
        note(late: max(0, late), at: arrival)
        if late < 0 { seconds[seconds.count - 1].early -= late }
        if ticks >= greatest {
            greatest = ticks
            correct(late: max(0, late), at: arrival)
        }
        let time = min(local(ticks), arrival)
        // For packets that arrive sooner than the previous ones, the time would stand still or go back.
        guard ticks > last.ticks, let given, time < given.time + Self.leastStepNanoseconds else {
            return give(time, arrival)
        }
        return give(given.time + Self.leastStepNanoseconds, arrival)
    }

    /// The time of an earlier timestamp, by the current estimate.
    package func time(of timestamp: UInt32) -> Int64 {
        guard let last else { return 0 }
        return local(last.ticks + Int64(Int32(bitPattern: timestamp &- last.stamp)))
    }

    /// Whether a timestamp is outside the sequence although it is near. Where the distance of timestamps is constant, it distinguishes
    /// one that was set back or forth from a delayed packet.
    private func isShifted(_ ticks: Int64, late: Int64, _ arrival: Int64) -> Bool {
        guard let last, let given, let interval = intervalNanoseconds else { return false }
        if let stray {
            // Continues the sequence whose distance is closer to a multiple of the constant one, regardless of the delay; if
            // both are multiples, the one whose delay changes less.
            let own = rhythm.deviation(of: ticks - stray.ticks)
            let other = rhythm.deviation(of: ticks - last.ticks)
            if let own, let other, (own - other).magnitude > 0.125 { return own < other }
            let step = distance(stray.ticks, ticks)
                .clampedSubtracting(arrival.clampedSubtracting(stray.arrival))
            return step.magnitude < late.magnitude
        }
        let distance = distance(last.ticks, ticks)
        let gap = arrival.clampedSubtracting(given.arrival)
        let least = max(interval / 4, Self.leastShiftNanoseconds)
        let isBack =
            distance < 0
            || distance < interval - interval / 4 && gap.clampedSubtracting(distance) > least
        // After a delay, packets arrive faster than their timestamps grow.
        let isForth =
            distance > interval + interval / 4 && distance.clampedSubtracting(gap) > least
            && late < -least
            && gap > interval / 2
        return isBack || isForth
    }

    private mutating func strayTime(
        _ timestamp: UInt32, _ ticks: Int64, _ arrival: Int64
    ) -> Int64 {
        var time = given.map { $0.time + (arrival - $0.arrival) } ?? arrival
        if let before = stray {
            let distance = distance(before.ticks, ticks)
            let step = distance.clampedSubtracting(arrival.clampedSubtracting(before.arrival))
            let isConsistent = step.magnitude < Self.jumpNanoseconds.magnitude
            strays = isConsistent ? strays + 1 : 1
            if isConsistent, distance > 0, let given, intervalNanoseconds != nil {
                time = given.time.clampedAdding(distance)
            }
        } else {
            strays = 1
            if let given, let interval = intervalNanoseconds {
                let intervals =
                    (arrival.clampedSubtracting(given.arrival) + interval / 2) / interval
                time = given.time.clampedAdding(max(1, intervals) * interval)
            }
        }
        time = min(time, arrival)
        stray = (ticks, arrival)
        if strays >= Self.newCountStamps {
            step(to: ticks, timestamp, at: time)
        } else {
            findings.strayStamps += 1
        }
        return give(time, arrival)
    }

    /// The time of a timestamp that has stopped growing: its arrival.
    private mutating func standTime(_ ticks: Int64, _ arrival: Int64, late: Int64) -> Int64 {
        anchor = (nanoseconds(ticks), arrival)
        noteForward(max(0, late))
        findings.isStanding = !hasStood || findings.isStanding
        hasStood = true
        forgetDelays()
        return give(arrival, arrival)
    }

    /// Continues the sequence at another timestamp.
    private mutating func step(to ticks: Int64, _ timestamp: UInt32, at time: Int64) {
        last = (timestamp, ticks)
        greatest = ticks
        anchor = (nanoseconds(ticks), time)
        forgetDelays()
        strays = 0
        stray = nil
        findings.steps += 1
        changes.sequences += 1
    }

    private mutating func forgetDelays() {
        seconds = []
        doubt = nil
        pace = nil
        packets = 0
        isDue = false
    }

    private mutating func give(_ time: Int64, _ arrival: Int64) -> Int64 {
        given = (time, arrival)
        return time
    }

    // MARK: Conversion

    private func nanoseconds(_ ticks: Int64) -> Int64 {
        Timescale(clockRate).nanoseconds(ticks)
    }

    private func local(_ ticks: Int64) -> Int64 {
        anchor.local.clampedAdding(atRate(nanoseconds(ticks) - anchor.media))
    }

    /// The distance of two timestamps on the receiver's clock.
    private func distance(_ first: Int64, _ second: Int64) -> Int64 {
        atRate(nanoseconds(second) - nanoseconds(first))
    }

    private func atRate(_ media: Int64) -> Int64 {
        Int64(clamping: Int128(media) * Int128(ratePPM) / 1_000_000)
    }

    /// The constant distance of timestamps; nil: it is not constant.
    private var intervalNanoseconds: Int64? {
        rhythm.interval.map { max(1, distance(0, $0)) }
    }

    // MARK: Delay

    /// Whether packets are late, and it is not decided why.
    var isDoubtful: Bool { doubt != nil }

    /// Whether the last packet was late.
    var isLate: Bool { doubt?.onTime == 0 }

    /// Whether the first packets are being compared with the stated rate.
    var isJudgingRate: Bool { pace != nil }

    /// Observes a packet's delay.
    private mutating func note(late: Int64, at arrival: Int64) {
        packets = min(packets + 1, Self.usualPackets)
        question(late: late, at: arrival)
        notePace(late: late, at: arrival)
        let number = arrival / 1_000_000_000
        if let current = seconds.last, current.number == number {
            seconds[seconds.count - 1].least = min(current.least, late)
            seconds[seconds.count - 1].most = max(current.most, late)
            return
        }
        seconds.append(Second(number: number, least: late, most: late))
        if seconds.count > Self.windowSeconds + 1 { seconds.removeFirst() }
        isDue = true
    }

    /// Moves later times.
    private mutating func move(by step: Int64) {
        anchor.local = anchor.local.clampedAdding(step)
        for index in seconds.indices {
            seconds[index].least = seconds[index].least.clampedSubtracting(step)
            seconds[index].most = seconds[index].most.clampedSubtracting(step)
        }
        for index in pace?.points.indices ?? 0..<0 {
            let late = pace?.points[index].late ?? 0
            pace?.points[index].late = late.clampedSubtracting(step)
        }
    }

    private mutating func noteForward(_ step: Int64) {
        findings.forwardNanoseconds = findings.forwardNanoseconds.clampedAdding(step)
    }

    /// Whether these delays are the same.
    private static func isLevel(_ least: Int64, _ most: Int64) -> Bool {
        most - least <= min(levelNanoseconds, least / 8)
    }

    /// The timestamps fell behind.
    private mutating func lag(by lag: Int64) {
        move(by: lag)
        forgetDelays()
        findings.steps += 1
        findings.lagNanoseconds = findings.lagNanoseconds.clampedAdding(lag)
        changes.lags += 1
    }

    // MARK: Doubt

    private mutating func question(late: Int64, at arrival: Int64) {
        guard var doubt else {
            guard packets == Self.usualPackets, late > Self.leastLagNanoseconds else { return }
            let usual = seconds.suffix(2).map(\.most).max() ?? 0
            let limit = max(0, usual) + Self.leastLagNanoseconds
            if late > limit { self.doubt = Doubt(limit: limit, since: arrival, first: late) }
            return
        }
        defer { self.doubt = doubt.onTime < Self.onTimePackets ? doubt : nil }
        guard late > doubt.limit else {
            doubt.onTime += 1
            return
        }
        if doubt.onTime > 0 { doubt = Doubt(limit: doubt.limit, since: arrival) }
        if arrival.clampedSubtracting(doubt.since) < Self.halfNanoseconds {
            doubt.first = min(doubt.first, late)
        } else {
            doubt.second = min(doubt.second, late)
        }
    }

    /// Decides a doubt: a delay that has become constant is a lag.
    mutating func decide() {
        guard let doubt else { return }
        self.doubt = nil
        guard doubt.onTime == 0, doubt.second < .max else { return }
        let least = min(doubt.first, doubt.second)
        guard Self.isLevel(least, max(doubt.first, doubt.second)) else { return }
        lag(by: least)
    }

    // MARK: Drift

    /// Corrects the offset once a second.
    private mutating func correct(late: Int64, at arrival: Int64) {
        if judgePace(late: late, at: arrival) { return }
        guard isDue else { return }
        isDue = false
        // Excludes the current second, which is incomplete.
        let whole = Array(seconds.dropLast())
        if let late = Self.latest(whole.suffix(Self.lagSeconds)) {
            noteForward(late.least)
            if Self.isLevel(late.least, late.most) { return lag(by: late.least) }
            // The timestamps keep falling behind: the window may show their rate.
            move(by: late.least)
        }
        guard whole.count == Self.windowSeconds, let first = whole.first, let end = whole.last
        else { return }
        let least = whole.reduce(Int64.max) { min($0, $1.least) }
        let span = (end.number - first.number) * 1_000_000_000
        // Only a window with packets in every second is used.
        let isGapless = end.number - first.number == Int64(Self.windowSeconds - 1)
        let growth = end.least.clampedSubtracting(first.least)
        let steps = zip(whole, whole.dropFirst()).map { $1.least.clampedSubtracting($0.least) }
        let isSteady = steps.allSatisfy { $0 >= -growth / 20 && $0 < growth / 5 * 2 }
        let tolerance = ratePPM == 1_000_000 ? Self.rateTolerance : Self.measuredRateTolerance
        // The first second may be incomplete.
        let early = whole.dropFirst().map(\.early)
        if isGapless, isSteady, growth > span / tolerance, growth < span {
            // The camera's timestamps are slow.
            let factor = Int128(span) * 1_000_000 / Int128(span - growth)
            let due = end.least.clampedAdding(growth / Int64(Self.windowSeconds - 1))
            changeRate(by: Int64(clamping: factor), late: min(due, seconds.last?.least ?? due))
        } else if isGapless, early.allSatisfy({ $0 > 1_000_000_000 / tolerance }) {
            // The camera's timestamps are fast.
            let factor = Int128(span) * 1_000_000 / Int128(span + early.reduce(0, +))
            changeRate(by: Int64(clamping: factor), late: 0)
        } else if least > Self.jumpNanoseconds {
            noteForward(least)
            lag(by: least)
        } else if least > 0 {
            move(by: min(least, Self.slewNanoseconds))
        }
    }

    /// The least delays of consecutive whole seconds whose packets were all late; nil: some were not, or they are catching up.
    private static func latest(_ seconds: ArraySlice<Second>) -> (least: Int64, most: Int64)? {
        guard seconds.count == lagSeconds, let first = seconds.first, let last = seconds.last,
            last.number - first.number == Int64(lagSeconds - 1),
            let least = seconds.map(\.least).min(), let most = seconds.map(\.least).max(),
            least > leastLagNanoseconds
        else { return nil }
        let isCatchingUp = zip(seconds, seconds.dropFirst()).contains {
            !isLevel($1.least, max($0.least, $1.least))
        }
        return isCatchingUp ? nil : (least, most)
    }

    private mutating func notePace(late: Int64, at arrival: Int64) {
        guard var pace else { return }
        defer { self.pace = pace }
        let part = arrival.clampedSubtracting(pace.began) / Self.partNanoseconds
        guard part < Self.paceParts else { return }
        let point = Pace.Point(part: part, arrival: arrival, late: late)
        if let last = pace.points.last, last.part == part {
            if late < last.late { pace.points[pace.points.count - 1] = point }
        } else {
            pace.points.append(point)
        }
    }

    /// Changes the rate if the delay has grown evenly from the first packet on.
    /// - Returns: whether it was changed.
    private mutating func judgePace(late: Int64, at arrival: Int64) -> Bool {
        guard let pace,
            arrival.clampedSubtracting(pace.began) >= Self.paceParts * Self.partNanoseconds
        else { return false }
        self.pace = nil
        guard pace.points.count == Int(Self.paceParts), let first = pace.points.first,
            let last = pace.points.last
        else { return false }
        let span = last.arrival - first.arrival
        let growth = last.late.clampedSubtracting(first.late)
        let slopes = zip(pace.points, pace.points.dropFirst()).map {
            Int64(
                clamping: (Int128($1.late) - Int128($0.late)) * 1_000_000_000
                    / Int128($1.arrival - $0.arrival))
        }
        guard let least = slopes.min(), let most = slopes.max(), growth < span,
            least >= Self.leastGrowthPerSecond,
            most.clampedSubtracting(least) <= 2 * Self.leastGrowthPerSecond
        else { return false }
        let due = last.late.clampedAdding(
            Int64(clamping: Int128(growth) * Int128(arrival - last.arrival) / Int128(span)))
        changeRate(
            by: Int64(clamping: Int128(span) * 1_000_000 / Int128(span - growth)),
            late: min(due, late))
        return true
    }

    /// Changes the rate from the last timestamp on.
    private mutating func changeRate(by factorPPM: Int64, late: Int64) {
        guard let last else { return }
        let rate = Int64(clamping: Int128(ratePPM) * Int128(factorPPM) / 1_000_000)
        let wanted = min(max(rate, Self.plausibleRates.lowerBound), Self.plausibleRates.upperBound)
        anchor = (nanoseconds(last.ticks), local(last.ticks).clampedAdding(late))
        ratePPM = wanted
        forgetDelays()
        // A more exact value is not reported.
        if (wanted - reportedPPM).magnitude > (reportedPPM / Self.rateTolerance).magnitude {
            reportedPPM = wanted
            findings.ratePPM = 1_000_000 * 1_000_000 / wanted
        }
        noteForward(late)
        changes.rates += 1
    }

    package static func == (left: ArrivalClock, right: ArrivalClock) -> Bool {
        left.last?.ticks == right.last?.ticks && left.anchor.local == right.anchor.local
            && left.ratePPM == right.ratePPM && left.seconds == right.seconds
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(last?.ticks)
        hasher.combine(anchor.local)
    }
}
