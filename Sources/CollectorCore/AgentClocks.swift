import Timing
import Wire

/// What is known of the agents' clocks, each by its epoch's identity.
struct AgentClocks: Sendable {
    /// Enough for every box of a large site to reboot a few times; the one heard of longest ago goes first.
    private static let maximumEpochs = 4_096

    /// What is known of one clock.
    private struct Clock: Sendable {
        var estimator = ClockEstimator()
        var change: Change?
    }

    private var clocks: [Identity: Clock] = [:]
    private var order: [Identity] = []

    /// What exchanges have changed.
    struct Change: Sendable {
        var model: ClockModel
        /// Agent's time of the newest exchange that was believed.
        var atNanoseconds: Int64
        /// How often the clock has jumped, and how far it did last.
        var jumps = 0
        var jumpNanoseconds: Int64 = 0
    }

    /// Learns from exchanges, oldest first.
    ///
    /// Only exchanges that the estimator believes say when the model is to be applied: a reply that lies must not move a
    /// timeline.
    mutating func add(_ exchanges: [ReportedExchange], epoch: Identity) {
        if clocks[epoch] == nil {
            order.append(epoch)
            if order.count > Self.maximumEpochs { clocks[order.removeFirst()] = nil }
        }
        // Taken out, so that it is changed in place.
        var clock = clocks.removeValue(forKey: epoch) ?? Clock()
        defer { clocks[epoch] = clock }
        var jumps = clock.change?.jumps ?? 0
        var jump = clock.change?.jumpNanoseconds ?? 0
        var believed: Int64?
        for exchange in exchanges {
            let verdict = clock.estimator.add(
                ClockExchange(
                    t1Nanoseconds: exchange.t1, t2Nanoseconds: exchange.t2,
                    t3Nanoseconds: exchange.t3, t4Nanoseconds: exchange.t4))
            switch verdict {
            case .accepted, .skewChanged:
                believed = exchange.t4
            case .jump(let distance):
                believed = exchange.t4
                jumps += 1
                jump = distance
            case .rejected, .repeated, .outlier:
                continue
            }
        }
        guard let at = believed, let model = clock.estimator.model(at: at) else { return }
        clock.change = Change(
            model: model, atNanoseconds: at, jumps: jumps, jumpNanoseconds: jump)
    }

    /// The newest change of a clock.
    func change(of epoch: Identity) -> Change? { clocks[epoch]?.change }

    /// The best model for an instant of an agent's clock.
    func model(of epoch: Identity, at agentNanoseconds: Int64) -> ClockModel? {
        clocks[epoch]?.estimator.model(at: agentNanoseconds)
    }
}
