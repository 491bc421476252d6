import Media

/// Maps the session times of a playback to the times at which it is played. Long gaps are shortened, and another start continues the
/// times of what was played before.
///
/// RTP timestamps and the pace use the played times: players wait as the timestamps require, whenever the packets arrive.
/// Sender reports map them to UTC.
struct PlaybackTimeline {
    /// Longer gaps are shortened.
    static let longestGapNanoseconds: Int64 = 10_000_000_000
    /// Duration of a shortened gap. Longer than the tracks are apart, so that no track goes back in time.
    static let shortenedGapNanoseconds: Int64 = 1_000_000_000

    /// Distance of another start from the end of what was played before: sound and leading pictures of open groups precede the
    /// start, and must not go back in time.
    static let seekGapNanoseconds: Int64 = 200_000_000

    /// Session time that was left out so far; negative after a start at an earlier time.
    private(set) var skippedNanoseconds: Int64 = 0
    /// Decoding time of the newest sample, session time.
    private var newest: Int64?

    init() {}

    /// Another start.
    /// - Parameters:
    ///   - start: nanoseconds of session time.
    ///   - end: the end of what was played before, nanoseconds.
    init(from start: Int64, playedAfter end: Int64) {
        skippedNanoseconds = start.clampedSubtracting(
            end.clampedAdding(Self.seekGapNanoseconds))
    }

    /// Notes a sample that is to be played.
    /// - Parameter decoding: decoding time, nanoseconds of session time.
    /// - Returns: true if the gap before it is shortened.
    mutating func note(_ decoding: Int64) -> Bool {
        defer { newest = max(newest ?? decoding, decoding) }
        guard let newest else { return false }
        let gap = decoding.clampedSubtracting(newest)
        guard gap > Self.longestGapNanoseconds else { return false }
        skippedNanoseconds = skippedNanoseconds.clampedAdding(gap - Self.shortenedGapNanoseconds)
        return true
    }

    /// The time at which a session time is played, nanoseconds.
    func played(_ sessionNanoseconds: Int64) -> Int64 {
        sessionNanoseconds.clampedSubtracting(skippedNanoseconds)
    }

    /// ``played(_:)`` in ticks of a track.
    func played(ticks: Int64, _ timescale: Timescale) -> Int64 {
        ticks.clampedSubtracting(
            saturatingRescale(skippedNanoseconds, from: .nanoseconds, to: timescale))
    }
}
