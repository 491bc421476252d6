import Media

/// The time from capture to transmission, over the last second of transmission.
struct ForwardLatency: Sendable {
    /// Samples arrive in batches: the last one of a batch is much younger than the first one.
    private static let windowNanoseconds: Int64 = 1_000_000_000

    private struct Sent {
        var at: Int64
        var latency: Int64
    }

    /// In the order of transmission. Those before a greater latency are removed, so latencies fall.
    private var recent: [Sent] = []
    private var newest: Int64?

    /// A sample was sent.
    /// - Parameters:
    ///   - capturedNanoseconds: capture time by the same clock as `now`.
    ///   - now: monotonic, nanoseconds.
    mutating func sent(capturedNanoseconds: Int64, now: Int64) {
        newest = now
        let latency = max(0, now.clampedSubtracting(capturedNanoseconds))
        while let last = recent.last, last.latency <= latency { recent.removeLast() }
        recent.append(Sent(at: now, latency: latency))
        recent.removeAll { now.clampedSubtracting($0.at) > Self.windowNanoseconds }
    }

    /// The longest latency in the second up to the newest sample; nil if nothing was sent for
    /// ``FeedAccess/silenceNanoseconds``.
    func worstNanoseconds(now: Int64) -> Int64? {
        guard let newest, now.clampedSubtracting(newest) < FeedAccess.silenceNanoseconds else {
            return nil
        }
        return recent.first?.latency
    }
}
