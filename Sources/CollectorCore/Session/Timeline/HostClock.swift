import Archive
import CLinux
import Glibc
import Media
import Timing

/// The system's clocks: which boot's monotonic clock is in use, and how accurate the wall clock is.
struct HostClock: Hashable, Sendable {
    /// Boot and time namespace: two readings of `CLOCK_MONOTONIC` are comparable only if both are the same. Empty where the
    /// system does not report them.
    var boot: String = ""
    /// Maximum error of the wall clock (adjtimex(2), `maxerror`), nanoseconds.
    var wallErrorNanoseconds: Int64 = unknownErrorNanoseconds

    /// The kernel's value for a clock that is not synchronised.
    static let unknownErrorNanoseconds: Int64 = 16_000_000_000

    /// Reads the system's clocks.
    static func current() -> HostClock {
        // Without its identity, a resumed session determines its zero by the wall clock, and logs that.
        HostClock(boot: SystemClock.monotonicIdentity() ?? "", wallErrorNanoseconds: wallError())
    }

    /// The present maximum error of the wall clock, nanoseconds.
    static func wallError() -> Int64 {
        var state = timex()
        guard adjtimex(&state) >= 0 else { return unknownErrorNanoseconds }
        return Int64(state.maxerror) * 1_000
    }
}

extension SessionManifest {
    /// Minimum change of the wall clock against the monotonic one that is recorded, nanoseconds.
    private static let wallToleranceNanoseconds: Int64 = 20_000_000

    /// Updates the position of zero on the wall clock, if it has changed.
    /// - Returns: whether it has.
    mutating func follow(_ host: HostClock, at now: Instant) -> Bool {
        let zero = now.utc.nanoseconds - (now.monotonic - presentZeroNanoseconds)
        if let clock, clock.boot == host.boot,
            abs(clock.zeroWallNanoseconds - zero) <= Self.wallToleranceNanoseconds
        {
            return false
        }
        clock = CollectorClock(
            boot: host.boot, zeroWallNanoseconds: zero,
            wallErrorNanoseconds: host.wallErrorNanoseconds,
            zeroErrorNanoseconds: clock?.zeroErrorNanoseconds ?? 0,
            correctionNanoseconds: clock?.correctionNanoseconds)
        return true
    }

    /// Distance beyond its stated error by which a synchronised wall clock may be wrong: it may be set to TAI, or stepped.
    private static let wallDoubtNanoseconds: Int64 = 60_000_000_000

    /// The possible positions of zero that ``findZero(_:at:)`` determined by a synchronised wall clock; nil: all, because
    /// the clock was not synchronised.
    var zeroLimit: ClosedRange<Int64>? {
        guard let clock, clock.zeroErrorNanoseconds < HostClock.unknownErrorNanoseconds else {
            return nil
        }
        let width = clock.zeroErrorNanoseconds.clampedAdding(Self.wallDoubtNanoseconds)
        return zeroMonotonicNanoseconds.clampedSubtracting(
            width)...zeroMonotonicNanoseconds
            .clampedAdding(width)
    }

    /// Moves zero within ``zeroLimit`` if the wall clock would put the present before the end of the recorded media, which was
    /// captured before the server was started.
    mutating func placeZero(soThatNowIsAfter endNanoseconds: Int64, at now: Instant) {
        let latest = max(
            now.monotonic.clampedSubtracting(endNanoseconds), zeroLimit?.lowerBound ?? .min)
        guard presentZeroNanoseconds > latest else { return }
        clock?.correctionNanoseconds = zeroMonotonicNanoseconds.clampedSubtracting(latest)
    }

    /// Applies the position of zero that the agents' clocks determine.
    mutating func correct(to zero: ZeroTie<PlacedClock>.Zero) {
        clock?.correctionNanoseconds = zeroMonotonicNanoseconds - zero.nanoseconds
        clock?.zeroErrorNanoseconds = zero.errorNanoseconds
    }

    /// Determines zero on this collector's monotonic clock: unchanged within a boot, by the wall clock after a reboot.
    /// - Returns: one line when the wall clock was used.
    mutating func findZero(_ host: HostClock, at now: Instant) -> String? {
        if let clock, !clock.boot.isEmpty, clock.boot == host.boot { return nil }
        let wall = clock?.zeroWallNanoseconds ?? zeroUTCNanoseconds
        zeroMonotonicNanoseconds = now.monotonic - (now.utc.nanoseconds - wall)
        let error =
            (clock?.wallErrorNanoseconds ?? HostClock.unknownErrorNanoseconds)
            + host.wallErrorNanoseconds + Self.wallToleranceNanoseconds
        clock = CollectorClock(
            boot: host.boot, zeroWallNanoseconds: wall,
            wallErrorNanoseconds: host.wallErrorNanoseconds,
            zeroErrorNanoseconds: (clock?.zeroErrorNanoseconds ?? 0) + error)
        return
            "the server was restarted: the session's zero is placed by the wall clock, to within "
            + "\(error / 1_000_000) ms, until a source connects whose clock ran on"
    }
}
