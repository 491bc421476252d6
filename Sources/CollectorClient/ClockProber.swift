import Timing
package import Wire

/// Decides when to send clock probes, and forms exchanges from the answers. A value: the caller sends.
///
/// A burst directly after connecting gives the collector a first offset before the first sample. The skew of the two clocks
/// becomes known only with time; until then, times are off by up to some hundred ppm of the elapsed time. So 50 probes per
/// second are sent for the first 2 s, 10 per second until 10 s, and then one every 2 s.
///
/// If even the quickest round trip is slow, quick ones must be found among many: 50 probes per second are sent for the first
/// 10 s, and 20 per second until 60 s. More probes would queue behind each other on the connection. The source starts when
/// the uncertainty is small or no longer decreases: an offset error that remains then takes 2 s per millisecond to slew
/// away.
package struct ClockProber: Sendable {
    /// Probes of the burst: the quickest one counts.
    static let burst = 8
    /// Minimum duration of the burst where round trips are slow.
    static let burstNanoseconds: Int64 = 300_000_000
    /// Maximum wait of the source for a better first estimate.
    static let searchBurstNanoseconds: Int64 = 3_000_000_000
    /// The search ends when the bound has not decreased for this long: the link is slow, but steady.
    static let gainNanoseconds: Int64 = 1_000_000_000
    /// A decrease counts if it is at least this part of the bound.
    private static let gainDivisor: Int64 = 16
    /// A bound this small needs no further improvement.
    static let smallBoundNanoseconds: Int64 = 400_000
    /// Maximum wait for the first answer. The clock's connection may be established two seconds after the other one. A
    /// backlog sent without any answer would be placed by its arrival, and be wrong by any delay of an overloaded machine.
    /// Nothing is lost meanwhile; a collector closes connections that have been silent for ten seconds.
    static let firstAnswerNanoseconds: Int64 = 6_000_000_000
    private static let burstPauseNanoseconds: Int64 = 5_000_000
    /// At a shorter interval, probes queue behind each other and become as slow as the slowest of them. This interval is within
    /// the collector's limit per connection (`clockProbesPerSecond` in proto/README.md).
    private static let searchBurstPauseNanoseconds: Int64 = 12_000_000
    /// Duration of the initial phase, in which the clocks' rate difference is learned.
    private static let learningNanoseconds: Int64 = 2_000_000_000
    private static let learningPauseNanoseconds: Int64 = 20_000_000
    private static let settlingNanoseconds: Int64 = 10_000_000_000
    private static let searchNanoseconds: Int64 = 60_000_000_000
    private static let searchPauseNanoseconds: Int64 = 50_000_000
    private static let settlingPauseNanoseconds: Int64 = 100_000_000
    private static let intervalNanoseconds: Int64 = 2_000_000_000
    /// A round trip this quick leaves at most half a millisecond of uncertainty: no search is needed.
    private static let quickNanoseconds: Int64 = 1_000_000
    /// Later answers are ignored.
    private static let patienceNanoseconds: Int64 = 5_000_000_000

    /// Time without answers after which the probes' connection is replaced; doubled after each replacement.
    private static let silenceNanoseconds: Int64 = 2_500_000_000
    private static let silenceMaximumNanoseconds: Int64 = 60_000_000_000
    /// Minimum number of unanswered probes before the connection is replaced.
    private static let silentProbes = 3

    private let epoch: UInt32
    private let startedNanoseconds: Int64
    private var nextNanoseconds: Int64
    private var outstanding: Set<Int64> = []
    private var probes = 0
    private var answers = 0
    /// Start of the time without an answer, and the probes and replaced connections since.
    private var silence: (sinceNanoseconds: Int64, probes: Int, replacements: Int)
    private var quickestNanoseconds: Int64?
    /// Computes what the collector will conclude from the burst's exchanges.
    private var estimator = ClockEstimator()
    /// Elapsed time since the first answer.
    private var searchedNanoseconds: Int64?
    /// The bound of the first estimate, and when it last decreased clearly.
    private var bound: (nanoseconds: Int64, sinceNanoseconds: Int64)?
    /// Round trip of the last exchange.
    package private(set) var roundTripNanoseconds: Int64?

    /// - Parameter epoch: the number of the agent's clock in the exchanges.
    package init(epoch: UInt32, now: Int64) {
        self.epoch = epoch
        startedNanoseconds = now
        nextNanoseconds = now
        silence = (now, 0, 0)
    }

    /// Whether the connection for probes is to be replaced, because none of them was answered for too long. The caller then
    /// replaces it.
    package mutating func takeReplacement(now: Int64) -> Bool {
        let patience = min(
            Self.silenceNanoseconds << min(silence.replacements, 8), Self.silenceMaximumNanoseconds)
        guard silence.probes >= Self.silentProbes, now - silence.sinceNanoseconds >= patience
        else { return false }
        silence = (now, 0, silence.replacements + 1)
        return true
    }

    /// Whether the first estimate is final: waiting longer would improve it little.
    package func isBurstOver(now: Int64) -> Bool {
        let elapsed = now - startedNanoseconds
        if isQuick, answers >= Self.burst { return true }
        guard let searchedNanoseconds, let bound else {
            return elapsed >= Self.firstAnswerNanoseconds
        }
        return bound.nanoseconds <= Self.smallBoundNanoseconds && elapsed >= Self.burstNanoseconds
            || now - searchedNanoseconds >= Self.searchBurstNanoseconds
            || now - bound.sinceNanoseconds >= Self.gainNanoseconds
    }

    /// When the next probe is due.
    package var dueNanoseconds: Int64 { nextNanoseconds }

    /// A probe to send now, if one is due.
    package mutating func probe(now: Int64) -> ClockProbe? {
        guard now >= nextNanoseconds else { return nil }
        nextNanoseconds = now + pause(now: now)
        silence.probes += 1
        outstanding = outstanding.filter { now - $0 < Self.patienceNanoseconds }
        outstanding.insert(now)
        return ClockProbe(t1: now)
    }

    private var isQuick: Bool {
        quickestNanoseconds.map { $0 <= Self.quickNanoseconds } ?? false
    }

    /// Whether exchanges now determine the times of the first samples, and should not wait for a heartbeat.
    package func isLearning(now: Int64) -> Bool {
        let length = isQuick ? Self.learningNanoseconds : Self.settlingNanoseconds
        return now - startedNanoseconds < length
    }

    private mutating func pause(now: Int64) -> Int64 {
        guard isBurstOver(now: now) else {
            probes += 1
            return isQuick || probes <= Self.burst
                ? Self.burstPauseNanoseconds : Self.searchBurstPauseNanoseconds
        }
        if isLearning(now: now) { return Self.learningPauseNanoseconds }
        let elapsed = now - startedNanoseconds
        if isQuick, elapsed < Self.settlingNanoseconds { return Self.settlingPauseNanoseconds }
        if !isQuick, elapsed < Self.searchNanoseconds { return Self.searchPauseNanoseconds }
        return Self.intervalNanoseconds
    }

    /// Processes an answer.
    /// - Returns: the finished exchange; nil when no such probe is pending.
    package mutating func finish(_ reply: ClockReply, receivedAt now: Int64) -> ReportedExchange? {
        guard outstanding.remove(reply.t1) != nil else { return nil }
        answers += 1
        silence = (now, 0, 0)
        let roundTrip = now - reply.t1 - (reply.t3 - reply.t2)
        roundTripNanoseconds = roundTrip
        quickestNanoseconds = min(quickestNanoseconds ?? roundTrip, roundTrip)
        let searched = searchedNanoseconds ?? now
        searchedNanoseconds = searched
        if now - searched < Self.searchBurstNanoseconds { narrow(reply, now: now) }
        return ReportedExchange(t1: reply.t1, t2: reply.t2, t3: reply.t3, t4: now, epoch: epoch)
    }

    /// Updates the bound from an answer.
    private mutating func narrow(_ reply: ClockReply, now: Int64) {
        let exchange = ClockExchange(
            t1Nanoseconds: reply.t1, t2Nanoseconds: reply.t2, t3Nanoseconds: reply.t3,
            t4Nanoseconds: now)
        _ = estimator.add(exchange)
        let open = estimator.model(at: now)?.boundNanoseconds ?? .max
        if let bound, open > bound.nanoseconds - bound.nanoseconds / Self.gainDivisor { return }
        bound = (open, now)
    }
}
