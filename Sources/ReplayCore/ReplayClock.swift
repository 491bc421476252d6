import Glibc

/// `CLOCK_MONOTONIC` and UTC, nanoseconds.
enum ReplayClock {
    static func now() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }
    static func utc() -> Int64 { nanoseconds(CLOCK_REALTIME) }

    /// Blocks until the monotonic clock shows that time.
    static func sleep(until time: Int64) {
        var until = timespec(
            tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nil) == EINTR {}
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
