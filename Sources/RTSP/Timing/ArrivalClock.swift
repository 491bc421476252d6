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
/// timestamps drift or run at another rate than stated, arrival times prevail.
package struct ArrivalClock: Hashable, Sendable {
    /// Findings since the last call.
    package struct Findings: Hashable, Sendable {
        /// Ignored timestamps.
        package var strayStamps = 0
        /// Restarts of the timestamp sequence, and pauses in it.
        package var steps = 0
        /// A new estimate of the timestamps' rate, in ppm of the nominal rate; nil if unchanged.
        package var ratePPM: Int64?
    }

    private struct Second: Hashable {
        var number: Int64
        /// Least delay of a packet.
        var least: Int64
    }

    /// A larger deviation is outside the sequence.
    private static let jumpNanoseconds: Int64 = 1_000_000_000
    /// Minimum distance of the times of growing timestamps.
    private static let leastStepNanoseconds: Int64 = 1_000
    /// A smaller deviation from a constant distance is jitter.
    private static let leastShiftNanoseconds: Int64 = 20_000_000
    /// Consistent timestamps that start a new sequence.
    private static let newCountStamps = 8
    /// Window for the least delay.
    private static let windowSeconds = 8
    /// Maximum correction per second: 1 %, far above the drift of a crystal.
    private static let slewNanoseconds: Int64 = 10_000_000
    /// A rate that deviates by more than 1/100 is a new rate.
    private static let rateTolerance: Int64 = 100
    /// Plausible rates: 1/200 to 200 times the nominal rate.
    private static let rates: ClosedRange<Int64> = 5_000...200_000_000

    private let clockRate: UInt32
    /// The last accepted timestamp, and its value without wraps.
    private var last: (stamp: UInt32, ticks: Int64)?
    /// One instant on both clocks, nanoseconds.
    private var anchor: (media: Int64, local: Int64) = (0, 0)
    /// Rate of the timestamps, in ppm of the nominal rate.
    private var ratePPM: Int64 = 1_000_000
    /// The last returned time, and its arrival.
    private var given: (time: Int64, arrival: Int64)?
    private var rhythm = StampRhythm()
    private var strays = 0
    private var stray: (ticks: Int64, arrival: Int64)?
    private var seconds: [Second] = []
    private var findings = Findings()

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
            anchor = (nanoseconds(Int64(timestamp)), arrival)
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
        self.last = (timestamp, ticks)
        if late < 0 {
            // A capture time is not later than its arrival.
            anchor.local += late
            for index in seconds.indices { seconds[index].least -= late }
        }
        note(late: max(0, late), at: arrival)
        let time = min(local(ticks), arrival)
        // Where packets arrive sooner than those before, the time would stand still or go back.
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
            // The sequence continues whose distance is closer to a multiple of the constant one, whatever the delay; if both are
            // multiples, the one whose delay changes less.
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

    /// Continues the sequence at another timestamp.
    private mutating func step(to ticks: Int64, _ timestamp: UInt32, at time: Int64) {
        last = (timestamp, ticks)
        anchor = (nanoseconds(ticks), time)
        seconds = []
        strays = 0
        stray = nil
        findings.steps += 1
    }

    private mutating func give(_ time: Int64, _ arrival: Int64) -> Int64 {
        given = (time, arrival)
        return time
    }

    // MARK: Conversion

    private func nanoseconds(_ ticks: Int64) -> Int64 {
        saturatingRescale(ticks, from: Timescale(clockRate), to: .nanoseconds)
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

    // MARK: Drift

    /// Observes a packet's delay, and corrects the offset once a second.
    private mutating func note(late: Int64, at arrival: Int64) {
        let number = arrival / 1_000_000_000
        if let current = seconds.last, current.number == number {
            seconds[seconds.count - 1].least = min(current.least, late)
            return
        }
        seconds.append(Second(number: number, least: late))
        guard seconds.count > Self.windowSeconds else { return }
        seconds.removeFirst(seconds.count - Self.windowSeconds - 1)
        correct()
    }

    private mutating func correct() {
        // Excludes the current second, which is incomplete.
        let whole = seconds.dropLast()
        guard let first = whole.first, let end = whole.last else { return }
        let least = whole.reduce(Int64.max) { min($0, $1.least) }
        let span = (end.number - first.number) * 1_000_000_000
        let growth = end.least - first.least
        // Only a window with packets in every second is used.
        let isGapless = end.number - first.number == Int64(Self.windowSeconds - 1)
        let isSteady = zip(whole, whole.dropFirst()).allSatisfy { $0.least <= $1.least }
        if isGapless, isSteady, growth > span / Self.rateTolerance, growth < span {
            // By the camera's timestamps, less time has passed.
            let factor = Int128(span) * 1_000_000 / Int128(span - growth)
            let due = end.least + growth / Int64(Self.windowSeconds - 1)
            changeRate(by: Int64(factor), late: min(due, seconds.last?.least ?? due))
        } else if least > Self.jumpNanoseconds {
            // The timestamps paused.
            move(by: least)
            findings.steps += 1
        } else if least > 0 {
            move(by: min(least, Self.slewNanoseconds))
        }
    }

    private mutating func move(by step: Int64) {
        anchor.local += step
        for index in seconds.indices { seconds[index].least -= step }
    }

    /// Changes the rate from the last timestamp on.
    private mutating func changeRate(by factorPPM: Int64, late: Int64) {
        guard let last else { return }
        let rate = Int64(clamping: Int128(ratePPM) * Int128(factorPPM) / 1_000_000)
        let wanted = min(max(rate, Self.rates.lowerBound), Self.rates.upperBound)
        anchor = (nanoseconds(last.ticks), local(last.ticks) + late)
        ratePPM = wanted
        seconds = []
        findings.ratePPM = 1_000_000 * 1_000_000 / wanted
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
