import Media

/// Selects the pictures of a preview: every n-th one, so that the rate is at most 15 pictures per second and their distance
/// regular.
struct PreviewPace {
    static let maximumRate = FrameRate(15)

    /// When the next picture is due; nil: at once.
    private var dueNanoseconds: Int64?

    /// The distance of selected pictures, in pictures of the source.
    static func divisor(durationNanoseconds duration: Int64) -> Int64 {
        guard duration > 0 else { return 1 }
        // Durations are rounded to nanoseconds.
        let shortest = maximumRate.nanoseconds(ofPicture: 1) - duration / 64
        return max(1, (shortest + duration - 1) / duration)
    }

    /// The rate of selected pictures.
    static func rate(of source: FrameRate) -> FrameRate {
        let divisor = divisor(durationNanoseconds: source.nanoseconds(ofPicture: 1))
        let (denominator, isOverflow) = source.denominator.multipliedReportingOverflow(
            by: Int32(clamping: divisor))
        return isOverflow ? maximumRate : FrameRate(source.numerator, per: denominator)
    }

    /// Duration of a picture in the preview; nil: it is left out.
    /// - Parameters:
    ///   - time: of its capture, increasing.
    ///   - duration: until the source's next picture, or as far as the picture before; 0: unknown.
    mutating func admits(
        atNanoseconds time: Int64, durationNanoseconds duration: Int64
    ) -> Int64? {
        let duration = max(0, duration)
        let shortest = Self.maximumRate.nanoseconds(ofPicture: 1)
        let divisor = Self.divisor(durationNanoseconds: duration)
        let own = duration > 0 ? divisor * duration : shortest
        // Of a variable rate, the next picture may come sooner.
        let interval = divisor > 1 ? own : shortest
        // Capture times jitter: a picture may be up to half a picture duration early.
        if let due = dueNanoseconds, time < due - duration / 2 { return nil }
        let next = (dueNanoseconds ?? time) + interval
        dueNanoseconds = next > time + duration / 2 ? next : time + interval
        return own
    }

    /// Selects the next picture: there is a gap before it.
    mutating func restart() { dueNanoseconds = nil }
}
