import Media

/// The clock that paces and stamps captures.
package protocol CaptureClock: Sendable {
    /// Nanoseconds since the clock's zero.
    var nowNanoseconds: Int64 { get }
    /// Blocks the calling thread until the clock reaches that time; returns immediately if it has passed.
    func sleep(untilNanoseconds: Int64)
}

/// The kernel's `CLOCK_MONOTONIC`, which drivers also use for stamps.
package struct MonotonicClock: CaptureClock {
    package init() {}

    package var nowNanoseconds: Int64 { SystemClock.monotonic.nowNanoseconds }

    package func sleep(untilNanoseconds: Int64) {
        SystemClock.sleep(untilMonotonicNanoseconds: untilNanoseconds)
    }

    /// The present offset from this clock to UTC (nanoseconds since 1970).
    package var utcOffsetNanoseconds: Int64 {
        SystemClock.utc.nowNanoseconds - nowNanoseconds
    }
}
