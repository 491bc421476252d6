import Media

/// The constraints on an agent's clock from a series of consistent exchanges.
///
/// There are two sets, one for each assumption. By the skew limit alone, the offset is in ``range``, whatever the
/// delays were. If the skew also changes within ``ClockLimits``, the offset is near a straight line: every
/// reading, widened by the possible change of the skew since, excludes lines, and ``possible`` contains the remaining
/// ones. The bound is the most distant corner of that polygon. The estimate is the centre of the polygon that remains
/// when the skew is assumed to change much less.
struct ClockConstraints: Sendable {
    /// Shares of the limits by which the skew is assumed to change: the estimate uses the first share that contradicts no
    /// reading. Most clocks are this stable; the last share is the limit itself.
    static let calmness = [1.0 / 8, 1.0]

    /// The relation of an exchange to earlier ones.
    enum Relation {
        /// It is consistent.
        case fits
        /// It is consistent with the skew limit but not with the wander limit; earlier constraints were discarded, and
        /// the estimate has moved by this much.
        case fitsSkewLimitOnly(movedNanoseconds: Int64)
        /// It is consistent, but not newer than the accepted exchanges. It is not used.
        case old
        /// It cannot come from the same clock: it differs from the estimate by this much. Nothing was changed.
        case contradicts(byNanoseconds: Int64)
    }

    private var newestProbeNanoseconds: Int64
    private var range: OffsetRange
    private var above = OffsetEnvelope(.above)
    private var below = OffsetEnvelope(.below)
    /// Lines that are possible within the limits; relative to the end of the newest exchange, and to `origin`.
    private var possible: FeasibleLines
    private var originNanoseconds: Int64
    private var skewPPB: Int64 = 0
    private var offsetNanoseconds: Int64

    /// Starts with a first exchange.
    init(_ exchange: ClockExchange) {
        newestProbeNanoseconds = exchange.t1Nanoseconds
        range = OffsetRange(exchange)
        originNanoseconds = range.middleNanoseconds
        offsetNanoseconds = originNanoseconds
        possible = FeasibleLines(offsets: 0...0, skewLimit: 0)
        append(exchange)
        fit()
    }

    /// The reference of the estimate: the end of the newest exchange.
    private var referenceNanoseconds: Int64 { range.agentNanoseconds }

    /// Adds an exchange, unless it is contradictory.
    mutating func add(_ exchange: ClockExchange) -> Relation {
        let newer = OffsetRange(exchange)
        let expected = offset(at: exchange.t4Nanoseconds)
        guard let both = range.intersected(with: newer) else {
            return .contradicts(
                byNanoseconds: newer.middleNanoseconds.clampedSubtracting(expected))
        }
        guard exchange.t1Nanoseconds > newestProbeNanoseconds,
            exchange.t4Nanoseconds >= referenceNanoseconds
        else { return .old }
        newestProbeNanoseconds = exchange.t1Nanoseconds
        range = both
        append(exchange)
        fit()
        guard possible.isEmpty else { return .fits }
        above.keepNewest()
        below.keepNewest()
        fit()
        return .fitsSkewLimitOnly(
            movedNanoseconds: offsetNanoseconds.clampedSubtracting(expected))
    }

    /// The estimate and its bound, with a moment of the agent's clock as reference.
    func model(at agentNanoseconds: Int64) -> ClockModel {
        let elapsed = distance(from: referenceNanoseconds, to: agentNanoseconds)
        let seconds =
            Double(agentNanoseconds.clampedSubtracting(referenceNanoseconds)) * 1e-9
        let line = estimate
        let here = possible.furthest(from: line)
        let steepest = Double(ClockLimits.skewPPB) + abs(line.skew)
        let bound = min(
            possible.furthest(from: line, after: seconds) + Self.slack(seconds, share: 1),
            here.offset + steepest * abs(seconds))
        let wandered = drift(over: elapsed, ppb: ClockLimits.wanderPPBPerSecond)
        return ClockModel(
            referenceAgentNanoseconds: agentNanoseconds,
            offsetNanoseconds: offset(at: agentNanoseconds),
            skewPPB: skewPPB,
            boundNanoseconds: Self.rounded(bound.rounded(.up)).clampedAdding(2),
            boundGrowthPPB: Self.rounded(here.skew.rounded(.up))
                .clampedAdding(ClockLimits.skewStepPPB).clampedAdding(wandered).clampedAdding(1),
            validFromAgentNanoseconds: min(oldest(above), oldest(below)))
    }

    private func offset(at agentNanoseconds: Int64) -> Int64 {
        let elapsed = agentNanoseconds.clampedSubtracting(referenceNanoseconds)
        return offsetNanoseconds.clampedAdding(drift(over: elapsed, ppb: skewPPB))
    }

    private func oldest(_ envelope: OffsetEnvelope) -> Int64 {
        envelope.points.first?.agentNanoseconds ?? referenceNanoseconds
    }

    private mutating func append(_ exchange: ClockExchange) {
        above.append(
            OffsetEnvelope.Point(
                agentNanoseconds: exchange.t1Nanoseconds,
                offsetNanoseconds: exchange.highestOffsetNanoseconds))
        below.append(
            OffsetEnvelope.Point(
                agentNanoseconds: exchange.t4Nanoseconds,
                offsetNanoseconds: exchange.lowestOffsetNanoseconds))
    }

    // MARK: The fit

    /// The estimate as a line in the plane of ``possible``.
    private var estimate: FeasibleLines.Line {
        FeasibleLines.Line(
            offset: Double(offsetNanoseconds - originNanoseconds), skew: Double(skewPPB))
    }

    private mutating func fit() {
        originNanoseconds = range.middleNanoseconds
        possible = lines(share: 1)
        guard !possible.isEmpty else { return }
        for share in Self.calmness {
            let calm = share == 1 ? possible : lines(share: share)
            guard let centre = calm.centre else { continue }
            offsetNanoseconds = originNanoseconds.clampedAdding(Self.rounded(centre.offset))
            skewPPB = Self.rounded(centre.skew)
            return
        }
    }

    /// The lines that no reading excludes when the skew changes by this share of the limits.
    private func lines(share: Double) -> FeasibleLines {
        let low = Double(range.lowestNanoseconds - originNanoseconds)
        let high = Double(range.highestNanoseconds - originNanoseconds)
        var lines = FeasibleLines(offsets: low...high, skewLimit: Double(ClockLimits.skewPPB))
        for envelope in [above, below] {
            for point in envelope.points.reversed() {
                let seconds = Double(point.agentNanoseconds - referenceNanoseconds) * 1e-9
                let offset = Double(point.offsetNanoseconds - originNanoseconds)
                let slack = Self.slack(seconds, share: share)
                let widened = envelope.side == .above ? offset + slack : offset - slack
                lines.cut(envelope.side, offset: widened, seconds: seconds)
                if lines.isEmpty { return lines }
            }
        }
        return lines
    }

    /// Maximum distance of a clock from its own tangent after this many seconds.
    static func slack(_ seconds: Double, share: Double) -> Double {
        let step = Double(ClockLimits.skewStepPPB) * abs(seconds)
        let wander = Double(ClockLimits.wanderPPBPerSecond) * seconds * seconds / 2
        return share * (step + wander)
    }

    /// The nearest integer, clamped to 64 bits.
    private static func rounded(_ value: Double) -> Int64 {
        Int64(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
    }
}
