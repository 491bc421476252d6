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

    /// - Parameter moved: how far a sample was moved from its time, nanoseconds, which adds to its bound.
    mutating func add(_ new: FragmentContext?, moved: UInt64) {
        let widest = context?.clock.boundNanoseconds ?? 0
        let bound = new?.clock.boundNanoseconds ?? 0
        context = new
        // 0 stands for times that no clock has measured.
        context?.clock.boundNanoseconds = max(widest, bound == 0 ? 0 : bound.clampedAdding(moved))
    }
}
