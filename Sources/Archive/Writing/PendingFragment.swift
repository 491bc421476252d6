import Media

/// The fragment that is being collected.
struct PendingFragment: Sendable {
    var pieces: [PlannedPiece] = []
    var sizeBytes = 0
    /// Total of all pieces.
    var samples = 0
    /// First DTS of each track, session time.
    var startNanoseconds = PerTrack<Int64>()
    /// Arrival of its first piece, on the caller's clock.
    var sinceNanoseconds: Int64?
    /// The context of its newest piece, with the widest bound of all.
    private(set) var context: FragmentContext?

    mutating func add(_ new: FragmentContext?) {
        let widest = context?.clock.boundNanoseconds ?? 0
        context = new
        context?.clock.boundNanoseconds = max(widest, new?.clock.boundNanoseconds ?? 0)
    }
}
