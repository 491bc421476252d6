/// Speed of a replay.
package enum ReplaySpeed: Hashable, Sendable {
    /// Millionths: 1,000,000 is real time.
    case millionths(Int64)
    /// As fast as the receiver accepts it.
    case unlimited

    package static let normal = ReplaySpeed.millionths(1_000_000)

    /// Allowed speeds: a thousandth to a thousand times.
    package static let range: ClosedRange<Int64> = 1_000...1_000_000_000
}

/// Says when each moment of a recording is due: a value, the clock is the caller's.
///
/// Due times are counted from one anchor, never from the previous item, so that lateness does not accumulate. A pause moves
/// the anchor.
package struct ReplayPacer: Hashable, Sendable {
    private enum State: Hashable {
        case running
        /// Paused since a time; nothing after the limit is due.
        case paused(since: Int64, limit: Int64?)
    }

    package let speed: ReplaySpeed
    private var anchorMedia: Int64
    private var anchorTime: Int64
    private var state = State.running

    /// - Parameters:
    ///   - media: recorded time that is due at `now`, nanoseconds.
    ///   - now: the caller's clock, nanoseconds.
    package init(speed: ReplaySpeed, from media: Int64, now: Int64) {
        self.speed = speed
        anchorMedia = media
        anchorTime = now
    }

    package var isPaused: Bool {
        if case .paused = state { true } else { false }
    }

    /// Due time of a moment of the recording, on the caller's clock; nil: not before ``resume(now:)``.
    package func due(_ media: Int64) -> Int64? {
        if case .paused(_, let limit) = state {
            guard let limit, media <= limit else { return nil }
            return .min
        }
        return time(of: media)
    }

    /// Due time of a moment of the recording without further pauses, on the caller's clock.
    package func time(of media: Int64) -> Int64 {
        guard case .millionths(let factor) = speed else { return .min }
        let elapsed = Int128(media) - Int128(anchorMedia)
        return Int64(clamping: Int128(anchorTime) + elapsed * 1_000_000 / Int128(factor))
    }

    /// Nothing more is due from now on.
    package mutating func pause(now: Int64) {
        guard !isPaused else { return }
        state = .paused(since: now, limit: nil)
    }

    /// Ends a pause.
    /// - Parameter media: the next time of the recording, so that steps are not waited for again.
    package mutating func resume(now: Int64, next media: Int64) {
        guard case .paused(let since, let limit) = state else { return }
        state = .running
        if limit != nil {
            anchorMedia = media
            anchorTime = now
        } else {
            anchorTime += now - since
        }
    }

    /// Advances to a time of the recording, and stays paused.
    package mutating func step(to media: Int64, now: Int64) {
        pause(now: now)
        guard case .paused(let since, _) = state else { return }
        state = .paused(since: since, limit: media)
    }
}
