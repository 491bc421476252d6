import Media
import Archive
import Timing
import Wire

/// One clock as measured by one agent. Another agent's measurements of the same clock are kept separately.
struct ClockID: Hashable, Sendable {
    /// Nil: the source's agent has not connected since the collector was started.
    var owner: ClockOwner?
    var epoch: EpochID
}

/// The measurements of the agents' clocks.
struct AgentClocks: Sendable {
    /// Exchanges kept until they are recorded: half a minute of fast probing. If a clock's sources record nothing, the
    /// oldest are dropped: leaving an exchange out makes a bound wider, never wrong.
    static let maximumUnrecorded = FragmentRecord.maximumExchanges
    /// Enough for every box of a large site to reboot a few times. The clock that was updated longest ago is dropped
    /// first; a clock in use is updated every second.
    private static let maximumClocks = 4_096
    /// One key, or one address without keys, may have half of them: its own oldest clocks are dropped first.
    private static let clocksPerOwner = maximumClocks / 2

    /// The measurements of one clock.
    private struct Clock: Sendable {
        var estimator = ClockEstimator()
        var change: Change?
        /// The latest valid exchanges, accepted or not, oldest first.
        var latest: [ClockExchange] = []
        /// Number of valid exchanges so far.
        var possible = 0
        /// The count of additions for all clocks when this one was last updated.
        var lastHeard: UInt64 = 0
    }

    private var clocks: [ClockID: Clock] = [:]
    private var byOwner: [String: Set<ClockID>] = [:]
    private var count: UInt64 = 0

    /// The last change of a clock's model.
    struct Change: Sendable {
        var model: ClockModel
        /// Agent's time of the newest accepted exchange.
        var atNanoseconds: Int64
        /// Number of jumps of the clock, and the size of the last one.
        var jumps = 0
        var jumpNanoseconds: Int64 = 0
        /// Agent's clock at the first exchange after the last jump.
        var jumpedAtNanoseconds: Int64?
    }

    /// Adds exchanges, oldest first.
    ///
    /// Only exchanges that the estimator accepts determine from when the model applies: a false reply must not move a timeline.
    mutating func add(_ exchanges: [ReportedExchange], of id: ClockID) {
        count += 1
        if clocks[id] == nil { makeRoom(for: id) }
        // Removed from the dictionary, so that it is changed in place.
        var clock = clocks.removeValue(forKey: id) ?? Clock()
        clock.lastHeard = count
        defer { clocks[id] = clock }
        var jumps = clock.change?.jumps ?? 0
        var jump = clock.change?.jumpNanoseconds ?? 0
        var jumpedAt = clock.change?.jumpedAtNanoseconds
        var believed: Int64?
        for reported in exchanges {
            let exchange = ClockExchange(
                t1Nanoseconds: reported.t1, t2Nanoseconds: reported.t2,
                t3Nanoseconds: reported.t3, t4Nanoseconds: reported.t4)
            switch clock.estimator.add(exchange) {
            case .accepted, .skewChanged:
                believed = reported.t4
            case .jump(let distance):
                believed = reported.t4
                jumps += 1
                jump = distance
                // The estimator now only knows exchanges after the jump.
                jumpedAt =
                    clock.estimator.model(at: reported.t4)?.validFromAgentNanoseconds
                    ?? reported.t1
            case .outlier:
                break
            case .rejected, .repeated:
                continue
            }
            clock.possible += 1
            clock.latest.append(exchange)
        }
        let surplus = clock.latest.count - Self.maximumUnrecorded
        if surplus > 0 { clock.latest.removeFirst(surplus) }
        guard let at = believed, let model = clock.estimator.model(at: at) else { return }
        clock.change = Change(
            model: model, atNanoseconds: at, jumps: jumps, jumpNanoseconds: jump,
            jumpedAtNanoseconds: jumpedAt)
    }

    /// Drops the clock that was updated longest ago when there are too many: one of the same owner, if that owner has too many.
    private mutating func makeRoom(for id: ClockID) {
        let owner = id.owner?.owner ?? ""
        let own = byOwner[owner, default: []]
        let candidates: [ClockID]
        if own.count >= Self.clocksPerOwner {
            candidates = Array(own)
        } else if clocks.count >= Self.maximumClocks {
            candidates = Array(byOwner.max { $0.value.count < $1.value.count }?.value ?? own)
        } else {
            candidates = []
        }
        let oldest = candidates.min {
            (clocks[$0]?.lastHeard ?? 0) < (clocks[$1]?.lastHeard ?? 0)
        }
        if let oldest {
            clocks[oldest] = nil
            let theirs = oldest.owner?.owner ?? ""
            byOwner[theirs]?.remove(oldest)
            if byOwner[theirs]?.isEmpty == true { byOwner[theirs] = nil }
        }
        byOwner[owner, default: []].insert(id)
    }

    /// The retained exchanges of a clock after the first `known` ones, and their total number.
    func exchanges(
        of id: ClockID, after known: Int
    ) -> (exchanges: ArraySlice<ClockExchange>, count: Int) {
        guard let clock = clocks[id] else { return ([], known) }
        return (clock.latest.suffix(max(0, clock.possible - known)), clock.possible)
    }

    /// The verdicts on a clock's exchanges; nil when there were none.
    func counts(of id: ClockID) -> ClockEstimator.Counts? { clocks[id]?.estimator.counts }

    /// The newest change of a clock.
    func change(of id: ClockID) -> Change? { clocks[id]?.change }

    /// The best model for an instant of an agent's clock.
    func model(of id: ClockID, at agentNanoseconds: Int64) -> ClockModel? {
        clocks[id]?.estimator.model(at: agentNanoseconds)
    }
}
