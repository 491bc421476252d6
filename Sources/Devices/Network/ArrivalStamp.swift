import Media

/// Converts the kernel's stamp of an arrival, which is of the clock of UTC, to the monotonic clock.
///
/// Both clocks are read one after the other, and the thread may be interrupted in between. The monotonic clock is read last,
/// so an interruption makes the arrival later, never earlier than it was: an arrival is an upper bound of the capture.
enum ArrivalStamp {
    /// Readings of the monotonic clock, that of UTC, and the monotonic clock again, nanoseconds.
    struct Reading {
        var before: Int64
        var utc: Int64
        var after: Int64

        static var now: Reading {
            let before = SystemClock.monotonic.nowNanoseconds
            let utc = SystemClock.utc.nowNanoseconds
            return Reading(before: before, utc: utc, after: SystemClock.monotonic.nowNanoseconds)
        }
    }

    /// The kernel's stamp is not older than this; otherwise the system's clock has been set in between.
    private static let oldestNanoseconds: Int64 = 5_000_000_000
    /// Two readings without an interruption take less.
    private static let quickNanoseconds: Int64 = 20_000
    /// Readings for one arrival. On a machine that interrupts all of them, the quickest one counts.
    private static let mostReadings = 4

    /// The arrival, nanoseconds of the monotonic clock.
    /// - Parameter stamp: nanoseconds of UTC; 0: the kernel has none.
    static func monotonicNanoseconds(
        _ stamp: Int64, reading: () -> Reading = { .now }
    ) -> Int64 {
        var best = reading()
        for _ in 1..<mostReadings where best.after - best.before > quickNanoseconds {
            let next = reading()
            if next.after - next.before < best.after - best.before { best = next }
        }
        let age = best.utc.clampedSubtracting(stamp)
        guard stamp > 0, age >= 0, age <= oldestNanoseconds else { return best.after }
        return best.after - age
    }
}
