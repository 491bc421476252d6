import ObjectStore

/// Whether a store is worth asking. One that was away is asked again by one question now and then, and all others fail at once
/// instead of waiting for it too. Has no clock of its own.
struct StoreAvailability: Sendable {
    /// How long a store that was away is not asked.
    static let absenceNanoseconds: Int64 = 30_000_000_000

    private enum State: Sendable {
        case present
        /// It is asked again from then on.
        case away(ObjectStoreError, untilNanoseconds: Int64)
    }

    private var state = State.present

    /// Why it is not to be asked now; nil: it may be asked, and what comes of it is to be noted.
    mutating func refusal(nowNanoseconds: Int64) -> ObjectStoreError? {
        guard case .away(let error, let until) = state else { return nil }
        guard nowNanoseconds >= until else { return error }
        // Others wait for what comes of this question.
        state = .away(error, untilNanoseconds: nowNanoseconds + Self.absenceNanoseconds)
        return nil
    }

    /// It has answered something.
    mutating func answered() { state = .present }

    /// A question has failed, after all tries.
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
