import Timing
package import Wire

/// Decides when to ask for the collector's time, and makes exchanges of the answers. A value: sending is the caller's.
///
/// A burst right after connecting gives the collector a first offset before the first sample. How fast the two clocks run apart only shows with
/// time, and until it is known times are off by up to some hundred millionths of what has passed: so the first two seconds are asked
/// fifty times a second, the first ten seconds ten times; then a probe every two seconds keeps what is known.
///
/// Where even the quickest round trip is slow, or delays are random, quick ones have to be found among many: fifty a second for ten seconds,
/// twenty for the first minute. More would wait behind each other on a connection that keeps their order. The source begins when what its two
/// directions leave open is small, or does not get smaller: what is not known by then takes two seconds per millisecond to slew away.
package struct ClockProber: Sendable {
    /// Probes of the burst: the quickest of them counts.
    static let burst = 8
    /// How long the burst takes at least where round trips are slow.
    static let burstNanoseconds: Int64 = 300_000_000
    /// How long the source waits for a better first estimate before it begins with what there is.
    static let searchBurstNanoseconds: Int64 = 3_000_000_000
    /// The search ends when the bound has not become smaller for this long: a link that is slow, but steady.
    static let gainNanoseconds: Int64 = 1_000_000_000
    /// A smaller bound is one smaller by this part of itself.
    private static let gainDivisor: Int64 = 16
    /// A bound as small as this is not worth waiting for a smaller one.
    static let smallBoundNanoseconds: Int64 = 400_000
    /// How long the first answer is waited for: the clock's connection may come up two seconds after the other. A backlog
    /// that was sent without any would be placed by its arrival, off by as much as a starved machine is late. Nothing is lost meanwhile;
    /// a collector cuts connections that have said nothing for ten seconds.
    static let firstAnswerNanoseconds: Int64 = 6_000_000_000
    private static let burstPauseNanoseconds: Int64 = 5_000_000
    /// Closer together, probes wait behind each other and are as slow as the slowest of them. It is within what a collector takes from
    /// a connection (`clockProbesPerSecond` in proto/README.md).
    private static let searchBurstPauseNanoseconds: Int64 = 12_000_000
    /// While the rate of the clocks is learnt.
    private static let learningNanoseconds: Int64 = 2_000_000_000
    private static let learningPauseNanoseconds: Int64 = 20_000_000
    private static let settlingNanoseconds: Int64 = 10_000_000_000
    private static let searchNanoseconds: Int64 = 60_000_000_000
    private static let searchPauseNanoseconds: Int64 = 50_000_000
    private static let settlingPauseNanoseconds: Int64 = 100_000_000
    private static let intervalNanoseconds: Int64 = 2_000_000_000
    /// A round trip as quick as this leaves half a millisecond open at most: nothing to search for.
    private static let quickNanoseconds: Int64 = 1_000_000
    /// An answer later than this says nothing.
    private static let patienceNanoseconds: Int64 = 5_000_000_000

    private let epoch: UInt32
    private let startedNanoseconds: Int64
    private var nextNanoseconds: Int64
    private var outstanding: Set<Int64> = []
    private var probes = 0
    private var answers = 0
    private var quickestNanoseconds: Int64?
    /// What the collector will make of the burst's exchanges.
    private var estimator = ClockEstimator()
    /// Since the first answer.
    private var searchedNanoseconds: Int64?
    /// How far the first estimate may be off, and when that became clearly smaller.
    private var bound: (nanoseconds: Int64, sinceNanoseconds: Int64)?
    /// Of the last exchange.
    package private(set) var roundTripNanoseconds: Int64?

    /// - Parameter epoch: what exchanges name the agent's clock by.
    package init(epoch: UInt32, now: Int64) {
        self.epoch = epoch
        startedNanoseconds = now
        nextNanoseconds = now
    }

    /// Whether the first estimate is as good as it will get without waiting longer.
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
        outstanding = outstanding.filter { now - $0 < Self.patienceNanoseconds }
        outstanding.insert(now)
        return ClockProbe(t1: now)
    }

    private var isQuick: Bool {
        quickestNanoseconds.map { $0 <= Self.quickNanoseconds } ?? false
    }

    /// Whether what is learnt now decides where the first samples go, and should not wait for a heartbeat.
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

    /// An answer has come.
    /// - Returns: the finished exchange; nil when nothing like it was asked.
    package mutating func finish(_ reply: ClockReply, receivedAt now: Int64) -> ReportedExchange? {
        guard outstanding.remove(reply.t1) != nil else { return nil }
        answers += 1
        let roundTrip = now - reply.t1 - (reply.t3 - reply.t2)
        roundTripNanoseconds = roundTrip
        quickestNanoseconds = min(quickestNanoseconds ?? roundTrip, roundTrip)
        let searched = searchedNanoseconds ?? now
        searchedNanoseconds = searched
        if now - searched < Self.searchBurstNanoseconds { narrow(reply, now: now) }
        return ReportedExchange(t1: reply.t1, t2: reply.t2, t3: reply.t3, t4: now, epoch: epoch)
    }

    /// Finds out what an answer says of the offset.
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
