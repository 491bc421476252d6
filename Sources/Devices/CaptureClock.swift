import Media

/// The clock that captures are paced and stamped by.
package protocol CaptureClock: Sendable {
    /// Nanoseconds of the clock's own zero.
    var nowNanoseconds: Int64 { get }
    /// Blocks the calling thread until the clock shows that time; not at all when it is past.
    func sleep(untilNanoseconds: Int64)
}

/// The kernel's `CLOCK_MONOTONIC`, which drivers stamp with as well.
package struct MonotonicClock: CaptureClock {
    package init() {}

    package var nowNanoseconds: Int64 { SystemClock.monotonic.nowNanoseconds }

    package func sleep(untilNanoseconds: Int64) {
        SystemClock.sleep(untilMonotonicNanoseconds: untilNanoseconds)
    }

    /// What has to be added to this clock to get UTC (nanoseconds since 1970), as of now.
    package var utcOffsetNanoseconds: Int64 {
        SystemClock.utc.nowNanoseconds - nowNanoseconds
    }
}
