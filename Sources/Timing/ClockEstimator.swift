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

    package private(set) var counts = Counts()

    package init() {}

    /// Takes in a finished exchange; cheap enough for thousands a second.
    package mutating func add(_ exchange: ClockExchange) -> Verdict {
        if let rejection = exchange.rejection {
            counts.rejected[rejection, default: 0] += 1
            return .rejected(rejection)
        }
        counts.accepted += 1
        return .accepted
    }

    /// What is known for a moment of the agent's clock; nil before the first accepted exchange.
    package func model(at agentNanoseconds: Int64) -> ClockModel? { nil }
}
