/// Bounds how fast a backlog drains: at most ten times as fast as it was captured, so that one camera that was away does not
/// take the network and the collector from those that were not.
struct DrainPacer: Hashable, Sendable {
    /// Media time per time. A minute's outage is over in seven seconds, a night's in an hour and a half.
    static let multiple: Int64 = 10
    /// Media time that may be sent at once.
    static let burstNanoseconds: Int64 = 2_000_000_000
    /// A pause in the media costs no more than this: nothing was captured in it.
    private static let longestStepNanoseconds: Int64 = 1_000_000_000

    private var budgetNanoseconds = Self.burstNanoseconds
    private var updatedNanoseconds: Int64?
    private var newestNanoseconds: Int64?

    /// Whether media of this time may be sent now; then it counts as sent.
    mutating func admits(mediaNanoseconds: Int64, now: Int64) -> Bool {
        if let updatedNanoseconds, now > updatedNanoseconds {
            let earned = min(now - updatedNanoseconds, Self.burstNanoseconds) * Self.multiple
            budgetNanoseconds = min(Self.burstNanoseconds, budgetNanoseconds + earned)
        }
        updatedNanoseconds = now
        let step = newestNanoseconds.map { newest in
            let (distance, overflow) = mediaNanoseconds.subtractingReportingOverflow(newest)
            return overflow ? 0 : max(0, min(distance, Self.longestStepNanoseconds))
        }
        guard budgetNanoseconds >= step ?? 0 else { return false }
        budgetNanoseconds -= step ?? 0
        newestNanoseconds = mediaNanoseconds
        return true
    }
}
