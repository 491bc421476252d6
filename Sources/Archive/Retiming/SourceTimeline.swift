import Media
import Timing

/// Maps moments of one epoch of an agent's clock to session time: by its exchanges with this archive's collector, and by
/// those with other collectors of the site, whose clocks are compared with this one's.
///
/// Each collector's exchanges give a range that contains the true offset, and so does the intersection of these ranges. Without
/// another collector, and at moments at which another one contradicts the own exchanges, the estimate is that of the own ones.
struct SourceTimeline: Sendable {
    private var own: RetroTimeline
    private var ways: [RetroTimeline] = []
    /// The timeline by all exchanges together: tighter if each collector has few.
    private var all: RetroTimeline?

    init(_ own: RetroTimeline) { self.own = own }

    /// - Parameters:
    ///   - ways: timelines via one other collector each.
    ///   - all: the timeline by these and the own exchanges.
    init(_ own: RetroTimeline, ways: [RetroTimeline], all: RetroTimeline?) {
        self.own = own
        self.ways = ways
        self.all = all
    }

    /// The offset from a moment of the agent's clock to session time, and its maximum error.
    mutating func estimate(at agentNanoseconds: Int64) -> RetroTimeline.Estimate {
        let own = self.own.estimate(at: agentNanoseconds)
        guard !ways.isEmpty else { return own }
        var range = own.range
        // Each way's own estimate has this bound; none of them becomes worse.
        var limit = own.boundNanoseconds
        for index in ways.indices {
            let way = ways[index].estimate(at: agentNanoseconds)
            guard range.overlaps(way.range) else { return own }
            range = range.clamped(to: way.range)
            limit = min(limit, way.boundNanoseconds)
        }
        var centre = own.offsetNanoseconds
        if let together = all?.estimate(at: agentNanoseconds), range.overlaps(together.range) {
            range = range.clamped(to: together.range)
            limit = min(limit, together.boundNanoseconds)
            centre = together.offsetNanoseconds
        }
        let lowest = max(range.lowerBound, range.upperBound.clampedSubtracting(limit))
        let highest = min(range.upperBound, range.lowerBound.clampedAdding(limit))
        let offset = max(lowest, min(highest, centre))
        return RetroTimeline.Estimate(
            offsetNanoseconds: offset,
            boundNanoseconds: max(
                offset.clampedSubtracting(range.lowerBound),
                range.upperBound.clampedSubtracting(offset)))
    }
}

extension RetroTimeline.Estimate {
    /// The offsets within the bound.
    var range: ClosedRange<Int64> {
        let bound = max(0, boundNanoseconds)
        return offsetNanoseconds.clampedSubtracting(bound)...offsetNanoseconds.clampedAdding(bound)
    }
}
