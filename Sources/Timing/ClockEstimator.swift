import Media

/// Estimates an agent's clock from exchanges with it: one estimator per epoch.
package struct ClockEstimator: Sendable {
    /// The verdict on an exchange.
    package enum Verdict: Hashable, Sendable {
        /// It is consistent, and the model was updated.
        case accepted
        /// It is impossible.
        case rejected(ClockExchange.Rejection)
        /// Not newer than the last accepted one: repeated after a reconnect.
        case repeated
        /// It contradicts the model by this much; it is not used unless the next ones agree with it.
        case outlier(byNanoseconds: Int64)
        /// It is consistent with the skew limit, but not with the assumed rate of change of the skew: the skew was changed, for
        /// example by a time daemon. The history was discarded; the model has moved by this much.
        case skewChanged(byNanoseconds: Int64)
        /// Several consecutive exchanges agree with each other and contradict the model by this much: the clock jumped.
        /// Everything older was discarded; the caller opens a new epoch.
        case jump(byNanoseconds: Int64)
    }

    /// Number of exchanges by verdict.
    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        package var rejected: [ClockExchange.Rejection: Int] = [:]
        package var repeated = 0
        package var outliers = 0
        package var skewChanges = 0
        package var jumps = 0
    }

    /// Number of consecutive exchanges that contradict the model and agree with each other, from which on they are a jump.
    package static let suspectsForJump = 4

    package private(set) var counts = Counts()
    private var constraints: ClockConstraints?
    /// The latest exchanges that contradict the model and agree with each other.
    private var suspects: [ClockExchange] = []

    package init() {}

    /// Adds a finished exchange. Costs some microseconds.
    package mutating func add(_ exchange: ClockExchange) -> Verdict {
        if let rejection = exchange.rejection {
            counts.rejected[rejection, default: 0] += 1
            return .rejected(rejection)
        }
        guard var known = constraints else {
            constraints = ClockConstraints(exchange)
            counts.accepted += 1
            return .accepted
        }
        switch known.add(exchange) {
        case .contradicts(let nanoseconds):
            return suspect(exchange, byNanoseconds: nanoseconds)
        case .old:
            counts.repeated += 1
            return .repeated
        case .fits:
            counts.accepted += 1
            suspects.removeAll(keepingCapacity: true)
            constraints = known
            return .accepted
        case .fitsSkewLimitOnly(let nanoseconds):
            counts.accepted += 1
            counts.skewChanges += 1
            suspects.removeAll(keepingCapacity: true)
            constraints = known
            return .skewChanged(byNanoseconds: nanoseconds)
        }
    }

    /// The model for a moment of the agent's clock; nil before the first accepted exchange.
    package func model(at agentNanoseconds: Int64) -> ClockModel? {
        constraints?.model(at: agentNanoseconds)
    }

    /// Accepts an exchange that contradicts the model only when others agree with it.
    private mutating func suspect(_ exchange: ClockExchange, byNanoseconds: Int64) -> Verdict {
        counts.outliers += 1
        suspects.append(exchange)
        var other = ClockConstraints(suspects[0])
        for suspect in suspects.dropFirst() {
            switch other.add(suspect) {
            case .fits, .fitsSkewLimitOnly:
                continue
            case .old, .contradicts:
                suspects = [exchange]
                return .outlier(byNanoseconds: byNanoseconds)
            }
        }
        guard suspects.count >= Self.suspectsForJump else {
            return .outlier(byNanoseconds: byNanoseconds)
        }
        let before = model(at: exchange.t4Nanoseconds)?.offsetNanoseconds ?? 0
        suspects.removeAll(keepingCapacity: true)
        constraints = other
        counts.jumps += 1
        let after = other.model(at: exchange.t4Nanoseconds).offsetNanoseconds
        return .jump(byNanoseconds: after.clampedSubtracting(before))
    }
}
