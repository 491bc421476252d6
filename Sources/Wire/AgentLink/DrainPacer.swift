/// Limits the rate at which a backlog drains to ten times the capture rate, so that a camera with a backlog does not starve the
/// others of network and collector capacity.
struct DrainPacer: Hashable, Sendable {
    /// Media time per elapsed time. The backlog of a one-minute outage is drained in seven seconds, that of a night in an hour
    /// and a half.
    static let multiple: Int64 = 10
    /// Burst: media time that may be sent immediately.
    static let burstNanoseconds: Int64 = 2_000_000_000
    /// Maximum cost of a pause in the media: nothing was captured in it.
    private static let longestStepNanoseconds: Int64 = 1_000_000_000

    private var budgetNanoseconds = Self.burstNanoseconds
    private var updatedNanoseconds: Int64?
    private var newestNanoseconds: Int64?

    /// Whether media of this time may be sent now; if so, it counts as sent.
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
