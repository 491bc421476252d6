import CollectorClient
import Media
import Operations
import Timing
import Wire

/// The clock of another collector as this one measures it: by the same exchanges as an agent with its collector, in which this
/// collector asks. A value.
///
/// Some of the exchanges are kept for recording: the quickest of every ``earlyWindowNanoseconds`` in the first minute, then of
/// every ``windowNanoseconds``. Readers compute from them, and from those of the other collector, the difference of the two
/// clocks at every moment of a session.
struct PeerClock: Sendable {
    /// One exchange is kept for each window of this length. Between two such exchanges, changing rates move the difference of
    /// the clocks by 80 µs at most: half of a quick round trip.
    static let windowNanoseconds: Int64 = 8_000_000_000
    /// The same while the rates' difference is still being learned.
    static let earlyWindowNanoseconds: Int64 = 1_000_000_000
    private static let earlyNanoseconds: Int64 = 60_000_000_000
    /// Maximum number of kept exchanges: eight minutes, so that a session's beginning lies between two of them.
    static let maximumKept = 64

    /// An exchange and the peer's clock to which it belongs.
    struct Kept: Hashable, Sendable {
        var clock: EpochID
        var exchange: ClockExchange
    }

    private var prober: ClockProber
    private var estimator = ClockEstimator()
    /// The identity in the last answer; nil: there was no answer, or the peer's version does not send it.
    private(set) var clock: EpochID?
    /// Since when this clock is measured, by this collector's clock.
    private var sinceNanoseconds: Int64?
    private var answeredNanoseconds: Int64?
    /// The quickest exchange of the present window, and when that ends.
    private var quickest: ClockExchange?
    private var windowEnd: Int64 = .min
    /// The last exchanges; after a jump of the clock, all of them are kept.
    private var latest: [ClockExchange] = []
    /// Oldest first; at most ``maximumKept``.
    private(set) var kept: [Kept] = []
    /// Number of all that were kept so far.
    private(set) var keptCount = 0

    /// - Parameter now: this collector's `CLOCK_MONOTONIC`, as everywhere here.
    init(now: Int64) {
        prober = ClockProber(epoch: 0, now: now)
    }

    /// When the next probe is due.
    var dueNanoseconds: Int64 { prober.dueNanoseconds }

    /// A probe to send now, if one is due.
    mutating func probe(now: Int64) -> ClockProbe? { prober.probe(now: now) }

    /// Whether the connection is to be replaced, because no probe has been answered for too long.
    mutating func takeReplacement(now: Int64) -> Bool { prober.takeReplacement(now: now) }

    /// A connection has been established: it is probed as often as an agent probes a new one.
    mutating func connected(now: Int64) { prober = ClockProber(epoch: 0, now: now) }

    /// Processes an answer.
    mutating func take(_ reply: ClockReply, receivedAt now: Int64) {
        guard let reported = prober.finish(reply, receivedAt: now) else { return }
        if reply.clock != clock { begin(reply.clock, now: now) }
        let exchange = ClockExchange(
            t1Nanoseconds: reported.t1, t2Nanoseconds: reported.t2, t3Nanoseconds: reported.t3,
            t4Nanoseconds: reported.t4)
        let verdict = estimator.add(exchange)
        switch verdict {
        case .rejected, .repeated:
            return
        case .outlier:
            // Kept for now: it counts once later exchanges confirm it.
            note(exchange)
            return
        case .accepted, .skewChanged, .jump:
            note(exchange)
            answeredNanoseconds = now
        }
        let since = sinceNanoseconds ?? now
        sinceNanoseconds = since
        if now >= windowEnd {
            closeWindow()
            windowEnd = now.clampedAdding(
                now - since < Self.earlyNanoseconds
                    ? Self.earlyWindowNanoseconds : Self.windowNanoseconds)
        }
        if case .jump = verdict {
            // A reader accepts a jump only if as many exchanges agree.
            closeWindow()
            for one in latest { keep(one) }
            sinceNanoseconds = now
        } else if exchange.roundTripDelayNanoseconds
            < quickest?.roundTripDelayNanoseconds ?? .max
        {
            quickest = exchange
        }
    }

    private mutating func note(_ exchange: ClockExchange) {
        latest.append(exchange)
        if latest.count > ClockEstimator.suspectsForJump { latest.removeFirst() }
    }

    /// Another clock: the peer's server was rebooted, or another server has its address.
    private mutating func begin(_ other: EpochID?, now: Int64) {
        closeWindow()
        if clock != nil { connected(now: now) }
        clock = other
        estimator = ClockEstimator()
        sinceNanoseconds = nil
        answeredNanoseconds = nil
        windowEnd = .min
        latest.removeAll()
    }

    private mutating func closeWindow() {
        if let quickest { keep(quickest) }
        quickest = nil
    }

    private mutating func keep(_ exchange: ClockExchange) {
        // Without its identity, the exchange could not be assigned to a clock.
        guard let clock else { return }
        kept.append(Kept(clock: clock, exchange: exchange))
        keptCount += 1
        if kept.count > Self.maximumKept { kept.removeFirst() }
    }

    /// Keeps the present window's exchange: its session ends.
    mutating func finishWindow() {
        closeWindow()
        windowEnd = .min
    }

    /// The exchanges that were kept after the first `known` ones; at most the last ``maximumKept``.
    func kept(after known: Int) -> ArraySlice<Kept> { kept.suffix(max(0, keptCount - known)) }

    func status(of collector: String, now: Int64) -> PeerClockStatus {
        var status = PeerClockStatus(collector: collector)
        guard let answeredNanoseconds, let model = estimator.model(at: now) else { return status }
        status.ageSeconds = Double(max(0, now - answeredNanoseconds)) / 1e9
        status.roundTripNanoseconds = prober.roundTripNanoseconds
        status.offsetNanoseconds = model.offsetNanoseconds
        status.skewPPB = model.skewPPB
        // The bound grows while no answer comes.
        status.boundNanoseconds = model.boundNanoseconds
        return status
    }
}
