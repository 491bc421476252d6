import Media

/// Why a running capture receives no data of some tracks at present.
struct CaptureTrouble: Hashable, Sendable {
    enum State: Hashable, Sendable {
        /// Connected.
        case connected
        /// An attempt to connect is under way.
        case connecting
        /// The next attempt is at this time of the capture's clock.
        case waiting(untilNanoseconds: Int64)
    }

    /// The missing tracks: `video`, `video or audio`.
    var missing: String
    /// The beginning of their absence, on the capture's clock.
    var sinceNanoseconds: Int64
    /// The last error, one line.
    var reason: String
    var state: State

    /// One line that stays the same while the reason does.
    var summary: String { "no \(missing): \(reason)" }

    /// One line; the time until the next attempt is ``retrySeconds(now:)``.
    func text(now: Int64) -> String {
        let seconds = max(0, now.clampedSubtracting(sinceNanoseconds)) / 1_000_000_000
        let connecting = state == .connecting ? "; connecting" : ""
        return "no \(missing) for \(seconds) s: \(reason)\(connecting)"
    }

    /// Time until the next attempt, rounded up; nil if none is planned.
    func retrySeconds(now: Int64) -> UInt64? {
        guard case .waiting(let end) = state else { return nil }
        return (UInt64(max(0, end.clampedSubtracting(now))) + 999_999_999) / 1_000_000_000
    }
}
