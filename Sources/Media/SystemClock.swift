import Glibc

/// A clock of the kernel (clock_gettime(2)).
package enum SystemClock: Sendable {
    /// `CLOCK_MONOTONIC`. Readings are comparable only within one boot and one time namespace.
    case monotonic
    /// `CLOCK_BOOTTIME`: it also runs while the machine sleeps.
    case boot
    /// `CLOCK_REALTIME`: UTC since 1970. It can be set.
    case utc
    /// `CLOCK_THREAD_CPUTIME_ID`: processor time of the calling thread.
    case threadProcessorTime

    /// The clock's present time, nanoseconds.
    package var nowNanoseconds: Int64 {
        var time = timespec()
        clock_gettime(identifier, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Blocks the calling thread until ``monotonic`` shows that time; returns at once when it is past.
    package static func sleep(untilMonotonicNanoseconds time: Int64) {
        var until = timespec(
            tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nil) == EINTR {}
    }

    private var identifier: clockid_t {
        switch self {
        case .monotonic: CLOCK_MONOTONIC
        case .boot: CLOCK_BOOTTIME
        case .utc: CLOCK_REALTIME
        case .threadProcessorTime: CLOCK_THREAD_CPUTIME_ID
        }
    }
}
