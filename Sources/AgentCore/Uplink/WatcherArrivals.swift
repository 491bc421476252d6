/// Notices that somebody begins to watch a source live, who can decode nothing before the next keyframe.
struct WatcherArrivals {
    /// Whoever comes and goes all the time costs one keyframe in so long, nanoseconds.
    static let pauseNanoseconds: Int64 = 10_000_000_000

    private var isWatched = false
    private var lastKeyframe: Int64?

    /// - Parameters:
    ///   - isWatched: whether anybody watches now.
    ///   - now: monotonic, nanoseconds.
    /// - Returns: whether a keyframe should be made for somebody who has come.
    mutating func arrives(isWatched: Bool, now: Int64) -> Bool {
        defer { self.isWatched = isWatched }
        guard isWatched, !self.isWatched else { return false }
        if let lastKeyframe, now - lastKeyframe < Self.pauseNanoseconds { return false }
        lastKeyframe = now
        return true
    }
}
