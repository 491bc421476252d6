import Media

/// The session times, ns, that a sample may get when it is retimed: those with a bound of at most the recorded one.
///
/// The true time is within the recorded bound of the recorded time, and within the computed bound of the computed time.
struct TimeChoice {
    let computed: Int64
    private let computedBound: UInt64
    private let recordedBound: UInt64
    /// The interval of the true time.
    private let truth: ClosedRange<Int64>
    private let times: ClosedRange<Int64>

    init(recorded: Int64, recordedBound: UInt64, computed: Int64, computedBound: UInt64) {
        self.computed = computed
        self.computedBound = computedBound
        self.recordedBound = recordedBound
        let limit = Int64(clamping: recordedBound)
        let own = Int64(clamping: computedBound)
        let lowest = max(recorded.clampedSubtracting(limit), computed.clampedSubtracting(own))
        let highest = min(recorded.clampedAdding(limit), computed.clampedAdding(own))
        if lowest <= highest {
            truth = lowest...highest
            // The recorded time is always among them.
            times = highest.clampedSubtracting(limit)...lowest.clampedAdding(limit)
        } else if computedBound <= recordedBound {
            // They contradict each other: the smaller bound applies.
            truth = computed.clampedSubtracting(own)...computed.clampedAdding(own)
            times = computed...computed
        } else {
            truth = recorded.clampedSubtracting(limit)...recorded.clampedAdding(limit)
            times = recorded...recorded
        }
    }

    /// The time nearest to the computed one.
    var nearest: Int64 { min(max(computed, times.lowerBound), times.upperBound) }

    /// Admissible deviations from the computed time, nanoseconds.
    var deviations: ClosedRange<Int64> {
        times.lowerBound.clampedSubtracting(
            computed)...times.upperBound.clampedSubtracting(computed)
    }

    /// The bound of one of the times.
    func boundNanoseconds(at time: Int64) -> UInt64 {
        let bound = UInt64(
            clamping: max(
                time.clampedSubtracting(truth.lowerBound),
                truth.upperBound.clampedSubtracting(time)))
        return time == computed && computedBound <= recordedBound ? computedBound : bound
    }
}
