import Media

/// What is known of an agent's clock at one moment: a line through its offset, and how wrong the line may be.
///
/// Plain integers, so that it can be stored in a recording and used again years later with nothing but this
/// page's two formulas.
package struct ClockModel: Hashable, Sendable {
    /// Agent's clock where the line is anchored.
    package var referenceAgentNanoseconds: Int64
    /// Clock offset (collector − agent) at the reference.
    package var offsetNanoseconds: Int64
    /// How much the offset grows, in parts per 10⁹ of the agent's time.
    package var skewPPB: Int64
    /// The offset is wrong by no more than this at the reference.
    package var boundNanoseconds: Int64
    /// How much the bound grows away from the reference, in either direction; the skew's own wander
    /// (``ClockLimits/wanderPPBPerSecond``) comes on top.
    package var boundGrowthPPB: Int64
    /// Agent's clock at the oldest exchange that the line rests on.
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

    /// A moment of the agent's clock on the collector's clock.
    package func collectorNanoseconds(at agentNanoseconds: Int64) -> Int64 {
        agentNanoseconds.clampedAdding(offset(at: agentNanoseconds))
    }

    /// How wrong ``offset(at:)`` may be, never less than the truth under ``ClockLimits``:
    /// bound + min(growth × Δt + wander × Δt² ÷ 2, (skew limit + |skew|) × Δt).
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
