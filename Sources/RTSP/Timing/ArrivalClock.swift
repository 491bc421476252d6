import Media

/// Places a track's RTP timestamps on the receiver's clock by when packets arrive.
///
/// The camera's stamps say how far pictures are apart; the packet that was quickest within the last seconds says where they are. So a
/// time is never later than the arrival of its packet, and earlier than it by no more than what the network delayed that packet beyond
/// the quickest one. What no receiver can know is not taken off: the quickest packet's own way, and the time that the camera needed to
/// encode the picture.
///
/// A stamp that is hours away is not believed; several that agree are a new count. Where stamps run at another rate than the camera
/// says, or drift, arrival is what counts.
package struct ArrivalClock: Hashable, Sendable {
    /// What the clock has found, since it was last asked.
    package struct Findings: Hashable, Sendable {
        /// Stamps that were not believed.
        package var strayStamps = 0
        /// The camera's count has begun anew, or stood still.
        package var steps = 0
        /// The camera's clock runs at this rate, in millionths of what it should; nil: nothing new.
        package var ratePPM: Int64?
    }

    private struct Second: Hashable {
        var number: Int64
        /// By how much the quickest packet came after its time.
        var least: Int64
    }

    /// What is this far off is not on the same count.
    private static let jumpNanoseconds: Int64 = 1_000_000_000
    /// Stamps in a row that agree with each other and not with the count, until they are a new one.
    private static let newCountStamps = 8
    /// The quickest packet of so long counts.
    private static let windowSeconds = 8
    /// Times are moved later by no more in a second: 1 %, what any crystal is better than by far.
    private static let slewNanoseconds: Int64 = 10_000_000
    /// A rate that is off by more than one in so many is another one.
    private static let rateTolerance: Int64 = 100
    /// Within what a rate is believed: 1/200 to 200 times.
    private static let rates: ClosedRange<Int64> = 5_000...200_000_000

    private let clockRate: UInt32
    /// The last believed stamp, and the same without wraps.
    private var last: (stamp: UInt32, ticks: Int64)?
    /// One instant on both scales, nanoseconds.
    private var anchor: (media: Int64, local: Int64) = (0, 0)
    /// Millionths of the camera's seconds for a second.
    private var ratePPM: Int64 = 1_000_000
    /// The last time that was given, and its arrival.
    private var given: (time: Int64, arrival: Int64)?
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

    /// Learns from a packet without giving its time yet.
    package mutating func observe(timestamp: UInt32, arrivalNanoseconds arrival: Int64) {
        _ = time(of: timestamp, arrivalNanoseconds: arrival)
    }

    /// When what a packet holds was captured, at the latest. Arrivals do not go back.
    package mutating func time(of timestamp: UInt32, arrivalNanoseconds arrival: Int64) -> Int64 {
        guard let last else {
            self.last = (timestamp, Int64(timestamp))
            anchor = (nanoseconds(Int64(timestamp)), arrival)
            note(late: 0, at: arrival)
            return give(arrival, arrival)
        }
        let ticks = last.ticks + Int64(Int32(bitPattern: timestamp &- last.stamp))
        let late = arrival - local(ticks)
        let isBack = nanoseconds(ticks - last.ticks) < -Self.jumpNanoseconds
        if isBack || late < -Self.jumpNanoseconds {
            return strayTime(timestamp, ticks, arrival)
        }
        strays = 0
        stray = nil
        self.last = (timestamp, ticks)
        if late < 0 {
            // Nothing arrives before it was captured.
            anchor.local += late
            for index in seconds.indices { seconds[index].least -= late }
        }
        note(late: max(0, late), at: arrival)
        return give(min(local(ticks), arrival), arrival)
    }

    /// The time that an earlier stamp has by what is known now.
    package func time(of timestamp: UInt32) -> Int64 {
        guard let last else { return 0 }
        return local(last.ticks + Int64(Int32(bitPattern: timestamp &- last.stamp)))
    }

    private mutating func strayTime(
        _ timestamp: UInt32, _ ticks: Int64, _ arrival: Int64
    ) -> Int64 {
        if let before = stray {
            let step = nanoseconds(ticks - before.ticks) - (arrival - before.arrival)
            strays = step.magnitude < Self.jumpNanoseconds.magnitude ? strays + 1 : 1
        } else {
            strays = 1
        }
        stray = (ticks, arrival)
        let time = given.map { $0.time + (arrival - $0.arrival) } ?? arrival
        if strays >= Self.newCountStamps {
            step(to: ticks, timestamp, at: time)
        } else {
            findings.strayStamps += 1
        }
        return give(min(time, arrival), arrival)
    }

    /// The count goes on from here.
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

    // MARK: Scales

    private func nanoseconds(_ ticks: Int64) -> Int64 {
        saturatingRescale(ticks, from: Timescale(clockRate), to: .nanoseconds)
    }

    private func local(_ ticks: Int64) -> Int64 {
        let distance = Int128(nanoseconds(ticks) - anchor.media) * Int128(ratePPM) / 1_000_000
        return anchor.local.clampedAdding(Int64(clamping: distance))
    }

    // MARK: Drift

    /// Takes by how much a packet came after its time. Once a second, the times are corrected.
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
        // The newest second has only begun.
        let whole = seconds.dropLast()
        guard let first = whole.first, let end = whole.last else { return }
        let least = whole.reduce(Int64.max) { min($0, $1.least) }
        let span = (end.number - first.number) * 1_000_000_000
        let growth = end.least - first.least
        // A second in which nothing came is no measure.
        let isGapless = end.number - first.number == Int64(Self.windowSeconds - 1)
        let isSteady = zip(whole, whole.dropFirst()).allSatisfy { $0.least <= $1.least }
        if isGapless, isSteady, growth > span / Self.rateTolerance, growth < span {
            // By the camera's stamps, less time has passed.
            let factor = Int128(span) * 1_000_000 / Int128(span - growth)
            let due = end.least + growth / Int64(Self.windowSeconds - 1)
            changeRate(by: Int64(factor), late: min(due, seconds.last?.least ?? due))
        } else if least > Self.jumpNanoseconds {
            // It stood still, and went on.
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

    /// From the last stamp on.
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
