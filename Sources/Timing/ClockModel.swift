import Media

/// A model of an agent's clock around one moment: its offset as a straight line, and the maximum error of that line.
///
/// Plain integers, so that a recording can store it, and the two formulas below suffice to use it.
package struct ClockModel: Hashable, Sendable {
    /// Agent's clock at the reference point of the line.
    package var referenceAgentNanoseconds: Int64
    /// Clock offset (collector − agent) at the reference.
    package var offsetNanoseconds: Int64
    /// The growth of the offset, in parts per 10⁹ of the agent's time.
    package var skewPPB: Int64
    /// Maximum error of the offset at the reference.
    package var boundNanoseconds: Int64
    /// The growth of the bound away from the reference, in either direction; the skew's own change
    /// (``ClockLimits/wanderPPBPerSecond``) is added to it.
    package var boundGrowthPPB: Int64
    /// Agent's clock at the oldest exchange that the line is based on.
    package var validFromAgentNanoseconds: Int64

    package init(
        referenceAgentNanoseconds: Int64, offsetNanoseconds: Int64, skewPPB: Int64,
        boundNanoseconds: Int64, boundGrowthPPB: Int64, validFromAgentNanoseconds: Int64
    ) {
        self.referenceAgentNanoseconds = referenceAgentNanoseconds
        self.offsetNanoseconds = offsetNanoseconds
        self.skewPPB = skewPPB
        self.boundNanoseconds = boundNanoseconds
        self.boundGrowthPPB = boundGrowthPPB
        self.validFromAgentNanoseconds = validFromAgentNanoseconds
    }

    /// The offset (collector − agent) at a moment of the agent's clock:
    /// offset + ⌊skew × (t − reference)⌋.
    package func offset(at agentNanoseconds: Int64) -> Int64 {
        let elapsed = agentNanoseconds.clampedSubtracting(referenceAgentNanoseconds)
        return offsetNanoseconds.clampedAdding(drift(over: elapsed, ppb: skewPPB))
    }

    /// Converts a moment of the agent's clock to the collector's clock.
    package func collectorNanoseconds(at agentNanoseconds: Int64) -> Int64 {
        agentNanoseconds.clampedAdding(offset(at: agentNanoseconds))
    }

    /// The same clock against a collector's clock that shows this much more.
    /// - Parameter errorNanoseconds: maximum error of that difference.
    package func advanced(by nanoseconds: Int64, errorNanoseconds: Int64 = 0) -> ClockModel {
        var model = self
        model.offsetNanoseconds = offsetNanoseconds.clampedAdding(nanoseconds)
        model.boundNanoseconds = boundNanoseconds.clampedAdding(errorNanoseconds)
        return model
    }

    /// Maximum error of ``offset(at:)``, never less than the actual error under ``ClockLimits``: bound + min(growth × Δt + wander
    /// × Δt² ÷ 2, (skew limit + |skew|) × Δt).
    package func bound(at agentNanoseconds: Int64) -> Int64 {
        let elapsed = distance(from: referenceAgentNanoseconds, to: agentNanoseconds)
        let steepest = drift(
            over: elapsed,
            ppb: ClockLimits.skewPPB.clampedAdding(Int64(clamping: skewPPB.magnitude)))
        let wandered = drift(
            over: elapsed, ppb: drift(over: elapsed, ppb: ClockLimits.wanderPPBPerSecond) / 2 + 1)
        let expected = drift(over: elapsed, ppb: boundGrowthPPB).clampedAdding(wandered)
        return boundNanoseconds.clampedAdding(min(expected, steepest)).clampedAdding(2)
    }
}

/// |b − a|, clamped to 64 bits.
func distance(from a: Int64, to b: Int64) -> Int64 {
    Int64(clamping: b.clampedSubtracting(a).magnitude)
}
