import Media
import Timing

/// A clock that was measured against two clocks of one collector, for example before and after its restart. Each step has the
/// measured clock's offsets from session time and from the second clock, at an instant between the two measurements.
/// Together they give the session's zero on the second clock.
struct ClockSteps {
    struct Step {
        /// Moment of the measured clock, nanoseconds.
        var moment: Int64
        /// Its offset from session time.
        var placed: RetroTimeline.Estimate
        /// Its offset from the second clock.
        var measured: RetroTimeline.Estimate
    }

    let all: [Step]

    /// Measurements of an agent's clock.
    init<Agent>(
        from before: ClockHistory, zero: ZeroTie<Agent>.Zero, to history: ClockHistory
    ) {
        var one = RetroTimeline(
            sessionZeroNanoseconds: 0, history: before,
            commonErrorNanoseconds: zero.errorNanoseconds)
        var other = RetroTimeline(sessionZeroNanoseconds: 0, history: history)
        all = Self.moments(before.extent, history.extent).map { moment in
            var placed = one.estimate(at: moment)
            placed.offsetNanoseconds = placed.offsetNanoseconds
                .clampedSubtracting(zero.nanoseconds)
            return Step(moment: moment, placed: placed, measured: other.estimate(at: moment))
        }
    }

    /// Measurements of another collector's clock.
    init<Agent>(
        from before: ClockDifference, zero: ZeroTie<Agent>.Zero, to present: ClockDifference
    ) {
        var (one, other) = (before, present)
        all = Self.moments(before.extent, present.extent).map { moment in
            var placed = one.estimate(at: moment)
            placed.offsetNanoseconds = placed.offsetNanoseconds
                .clampedSubtracting(zero.nanoseconds)
            placed.boundNanoseconds.addClamped(zero.errorNanoseconds)
            return Step(moment: moment, placed: placed, measured: other.estimate(at: moment))
        }
    }

    /// The end of the first measurement, the start of the second one, and the middle.
    private static func moments(
        _ before: ClosedRange<Int64>, _ present: ClosedRange<Int64>
    ) -> [Int64] {
        let isLater = before.lowerBound <= present.lowerBound
        let end = isLater ? before.upperBound : before.lowerBound
        let start = isLater ? present.lowerBound : present.upperBound
        return [end, end.clampedAdding(start.clampedSubtracting(end) / 2), start]
    }

    /// The range of zero by all moments; nil: they contradict each other.
    var zeroRange: ClosedRange<Int64>? {
        var range = Int64.min...Int64.max
        for step in all {
            let one = RetroTimeline.Estimate(
                offsetNanoseconds: step.measured.offsetNanoseconds
                    .clampedSubtracting(step.placed.offsetNanoseconds),
                boundNanoseconds: step.measured.boundNanoseconds
                    .clampedAdding(step.placed.boundNanoseconds)
            ).range
            guard range.overlaps(one) else { return nil }
            range = range.clamped(to: one)
        }
        return range
    }
}

/// The names of the site's other collectors, by their clocks.
struct PeerNames {
    private let site: SiteClocks
    private let peers: [PeerEvidence]

    init(_ site: SiteClocks, _ peers: [PeerEvidence]) {
        self.site = site
        self.peers = peers
    }

    func name(of clock: String) -> String {
        peers.first { $0.clocks.zeros[clock] != nil }?.name ?? site.name(of: clock)
            ?? "another collector"
    }
}
