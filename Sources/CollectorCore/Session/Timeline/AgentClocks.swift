import Media
import Archive
import Timing
import Wire

/// One clock as one agent measures it. What another agent says of the same clock is another word on it.
struct ClockID: Hashable, Sendable {
    /// Nil: of a source that nobody has introduced since the collector was started.
    var owner: ClockOwner?
    var epoch: EpochID
}

/// What is known of the agents' clocks.
struct AgentClocks: Sendable {
    /// Exchanges kept until they are in a recording: half a minute of fast probing. Of a clock whose sources record
    /// nothing, the oldest go: leaving an exchange out makes a bound wider, never wrong.
    static let maximumUnrecorded = FragmentRecord.maximumExchanges
    /// Enough for every box of a large site to reboot a few times; the one heard of longest ago goes first, which is never one that
    /// is still heard of every second.
    private static let maximumClocks = 4_096
    /// One key, or one address where there are no keys, has half of them at most: it forgets its own first.
    private static let clocksPerOwner = maximumClocks / 2

    /// What is known of one clock.
    private struct Clock: Sendable {
        var estimator = ClockEstimator()
        var change: Change?
        /// The latest exchanges that can have happened, believed or not, oldest first.
        var latest: [ClockExchange] = []
        /// How many such exchanges there have been.
        var possible = 0
        /// How many times exchanges of any clock had come when some of this one came last.
        var lastHeard: UInt64 = 0
    }

    private var clocks: [ClockID: Clock] = [:]
    private var byOwner: [String: Set<ClockID>] = [:]
    private var count: UInt64 = 0

    /// What exchanges have changed.
    struct Change: Sendable {
        var model: ClockModel
        /// Agent's time of the newest exchange that was believed.
        var atNanoseconds: Int64
        /// How often the clock has jumped, and how far it did last.
        var jumps = 0
        var jumpNanoseconds: Int64 = 0
        /// Agent's clock at the first exchange after the last jump.
        var jumpedAtNanoseconds: Int64?
    }

    /// Learns from exchanges, oldest first.
    ///
    /// Only exchanges that the estimator believes say when the model is to be applied: a reply that lies must not move a
    /// timeline.
    mutating func add(_ exchanges: [ReportedExchange], of id: ClockID) {
        count += 1
        if clocks[id] == nil { makeRoom(for: id) }
        // Taken out, so that it is changed in place.
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
                // All that the estimator knows now is from after the jump.
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

    /// Forgets the clock heard of longest ago, where there are too many: of its owner's, if those are.
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

    /// The exchanges of a clock after the first `known` ones, as far as they are still kept, and how many there have been in
    /// all.
    func exchanges(
        of id: ClockID, after known: Int
    ) -> (exchanges: ArraySlice<ClockExchange>, count: Int) {
        guard let clock = clocks[id] else { return ([], known) }
        return (clock.latest.suffix(max(0, clock.possible - known)), clock.possible)
    }

    /// What has become of a clock's exchanges; nil when there were none.
    func counts(of id: ClockID) -> ClockEstimator.Counts? { clocks[id]?.estimator.counts }

    /// The newest change of a clock.
    func change(of id: ClockID) -> Change? { clocks[id]?.change }

    /// The best model for an instant of an agent's clock.
    func model(of id: ClockID, at agentNanoseconds: Int64) -> ClockModel? {
        clocks[id]?.estimator.model(at: agentNanoseconds)
    }
}
