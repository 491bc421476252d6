/// Detects new live viewers, who need a keyframe to start decoding.
struct WatcherArrivals {
    /// Minimum interval of keyframes for new viewers, nanoseconds.
    static let pauseNanoseconds: Int64 = 10_000_000_000

    private var isWatched = false
    private var lastKeyframe: Int64?

    /// - Parameters:
    ///   - isWatched: whether there are viewers.
    ///   - now: monotonic, nanoseconds.
    /// - Returns: whether a keyframe should be encoded for a new viewer.
    mutating func arrives(isWatched: Bool, now: Int64) -> Bool {
        defer { self.isWatched = isWatched }
        guard isWatched, !self.isWatched else { return false }
        if let lastKeyframe, now - lastKeyframe < Self.pauseNanoseconds { return false }
        lastKeyframe = now
        return true
    }
}
