// `timespec` is in the headers of both, and the compiler takes it for either's.
import CALSA
import Glibc

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

    package var nowNanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    package func sleep(untilNanoseconds: Int64) {
        var until = timespec(
            tv_sec: Int(untilNanoseconds / 1_000_000_000),
            tv_nsec: Int(untilNanoseconds % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nil) == EINTR {}
    }

    /// What has to be added to this clock to get UTC (nanoseconds since 1970), as of now.
    package var utcOffsetNanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) - nowNanoseconds
    }
}
