/// Detects new live viewers of a source, who can decode nothing before the next keyframe.
struct WatcherArrivals {
    /// Minimum interval of keyframes for viewers that come and go, nanoseconds.
    static let pauseNanoseconds: Int64 = 10_000_000_000

    private var isWatched = false
    private var lastKeyframe: Int64?

    /// - Parameters:
    ///   - isWatched: whether anybody watches now.
    ///   - now: monotonic, nanoseconds.
    /// - Returns: whether a keyframe should be made for a new viewer.
    mutating func arrives(isWatched: Bool, now: Int64) -> Bool {
        defer { self.isWatched = isWatched }
        guard isWatched, !self.isWatched else { return false }
        if let lastKeyframe, now - lastKeyframe < Self.pauseNanoseconds { return false }
        lastKeyframe = now
        return true
    }
}
