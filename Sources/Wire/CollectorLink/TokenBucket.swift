/// Permits a number of events per second, and a burst.
package struct TokenBucket: Hashable, Sendable {
    private let nanosecondsPerToken: Int64
    private let capacityNanoseconds: Int64
    /// The accumulated time.
    private var savedNanoseconds: Int64
    private var lastRefill: Int64

    /// A full bucket.
    package init(perSecond: Int64, burst: Int64, now: Int64) {
        self.init(nanosecondsEach: 1_000_000_000 / perSecond, burst: burst, now: now)
    }

    package init(nanosecondsEach: Int64, burst: Int64, now: Int64) {
        nanosecondsPerToken = nanosecondsEach
        capacityNanoseconds = nanosecondsPerToken * burst
        savedNanoseconds = capacityNanoseconds
        lastRefill = now
    }

    /// Uses one token; false when there is none.
    package mutating func take(now: Int64) -> Bool { take(1, now: now) }

    /// Uses this many tokens if there is at least one, possibly into debt; false when there is none.
    package mutating func take(_ count: Int64, now: Int64) -> Bool {
        savedNanoseconds = min(
            capacityNanoseconds, savedNanoseconds + max(0, now - lastRefill))
        lastRefill = max(now, lastRefill)
        guard savedNanoseconds >= nanosecondsPerToken else { return false }
        savedNanoseconds -= nanosecondsPerToken * count
        return true
    }
}
