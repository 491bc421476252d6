import ObjectStore

/// Circuit breaker for a store: while the store is unavailable, only an occasional request probes it, and all others fail
/// immediately. It has no clock.
struct StoreAvailability: Sendable {
    /// Interval of probes.
    static let absenceNanoseconds: Int64 = 30_000_000_000

    private enum State: Sendable {
        case present
        /// Unavailable; probed again from that time.
        case away(ObjectStoreError, untilNanoseconds: Int64)
    }

    private var state = State.present

    /// The reason why a request must fail now; nil if it may be sent, and its outcome must be reported.
    mutating func refusal(nowNanoseconds: Int64) -> ObjectStoreError? {
        guard case .away(let error, let until) = state else { return nil }
        guard nowNanoseconds >= until else { return error }
        // Other requests wait for the outcome of this one.
        state = .away(error, untilNanoseconds: nowNanoseconds + Self.absenceNanoseconds)
        return nil
    }

    /// A request succeeded.
    mutating func answered() { state = .present }

    /// A request failed after all retries.
    mutating func failed(_ error: ObjectStoreError, nowNanoseconds: Int64) {
        switch error.kind {
        case .unreachable, .busy:
            state = .away(error, untilNanoseconds: nowNanoseconds + Self.absenceNanoseconds)
        case .denied, .clock, .noBucket, .gone, .exists, .changed, .digest, .full, .refused:
            answered()
        case .stopped: break
        }
    }
}
