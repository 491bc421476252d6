import Media

/// What an agent's clock does, learnt from exchanges with it: one per epoch.
package struct ClockEstimator: Sendable {
    /// What an exchange said.
    package enum Verdict: Hashable, Sendable {
        /// It fits, and the model has been renewed.
        case accepted
        /// It cannot have happened as it says.
        case rejected(ClockExchange.Rejection)
        /// Not newer than the last one taken: a repetition after a reconnect.
        case repeated
        /// It contradicts what is known, by this much; not used unless the next ones agree with it.
        case outlier(byNanoseconds: Int64)
        /// It fits, but no clock whose rate changes as slowly as assumed can have come here: its rate was
        /// changed, by a time daemon for instance. The history was forgotten; the model is now off the old one
        /// by this much.
        case skewChanged(byNanoseconds: Int64)
        /// Several in a row agree with each other and contradict what was known before by this much: the
        /// clock jumped. Everything older was forgotten; the caller opens a new epoch.
        case jump(byNanoseconds: Int64)
    }

    /// How many exchanges came to what.
    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        package var rejected: [ClockExchange.Rejection: Int] = [:]
        package var repeated = 0
        package var outliers = 0
        package var skewChanges = 0
        package var jumps = 0
    }

    /// An agent that lies once is not believed; so many exchanges in a row that agree are a clock that jumped.
    package static let suspectsForJump = 4

    package private(set) var counts = Counts()
    private var knowledge: Knowledge?
    /// The latest exchanges that contradict the knowledge and agree with each other.
    private var suspects: [ClockExchange] = []

    package init() {}

    /// Takes in a finished exchange. Costs some microseconds.
    package mutating func add(_ exchange: ClockExchange) -> Verdict {
        if let rejection = exchange.rejection {
            counts.rejected[rejection, default: 0] += 1
            return .rejected(rejection)
        }
        guard var known = knowledge else {
            knowledge = Knowledge(exchange)
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
            knowledge = known
            return .accepted
        case .fitsSkewLimitOnly(let nanoseconds):
            counts.accepted += 1
            counts.skewChanges += 1
            suspects.removeAll(keepingCapacity: true)
            knowledge = known
            return .skewChanged(byNanoseconds: nanoseconds)
        }
    }

    /// What is known for a moment of the agent's clock; nil before the first accepted exchange.
    package func model(at agentNanoseconds: Int64) -> ClockModel? {
        knowledge?.model(at: agentNanoseconds)
    }

    /// Believes an exchange that contradicts everything only when it does not stand alone.
    private mutating func suspect(_ exchange: ClockExchange, byNanoseconds: Int64) -> Verdict {
        counts.outliers += 1
        suspects.append(exchange)
        var other = Knowledge(suspects[0])
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
        knowledge = other
        counts.jumps += 1
        let after = other.model(at: exchange.t4Nanoseconds).offsetNanoseconds
        return .jump(byNanoseconds: after.clampedSubtracting(before))
    }
}
