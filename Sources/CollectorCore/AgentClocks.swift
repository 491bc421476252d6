import Timing
import Wire

/// What is known of the agents' clocks, each by its epoch's identity.
struct AgentClocks: Sendable {
    /// Enough for every box of a large site to reboot a few times; the one heard of longest ago goes first.
    private static let maximumEpochs = 4_096

    private var estimators: [Identity: ClockEstimator] = [:]
    private var order: [Identity] = []

    /// What new exchanges changed.
    struct Change: Sendable {
        var model: ClockModel
        /// Agent's time of the newest exchange.
        var atNanoseconds: Int64
        /// How far one of the clocks jumped, if one did.
        var jumpNanoseconds: Int64?
    }

    /// Learns from exchanges, oldest first.
    ///
    /// Only exchanges that the estimator believes say when the model is to be applied: a reply that lies must not move a
    /// timeline.
    /// - Returns: the model as it is now; nil when nothing believable came.
    mutating func add(_ exchanges: [ReportedExchange], epoch: Identity) -> Change? {
        if estimators[epoch] == nil {
            order.append(epoch)
            if order.count > Self.maximumEpochs { estimators[order.removeFirst()] = nil }
        }
        // Taken out, so that it is changed in place.
        var estimator = estimators.removeValue(forKey: epoch) ?? ClockEstimator()
        defer { estimators[epoch] = estimator }
        var jump: Int64?
        var believed: Int64?
        for exchange in exchanges {
            let verdict = estimator.add(
                ClockExchange(
                    t1Nanoseconds: exchange.t1, t2Nanoseconds: exchange.t2,
                    t3Nanoseconds: exchange.t3, t4Nanoseconds: exchange.t4))
            switch verdict {
            case .accepted, .skewChanged:
                believed = exchange.t4
            case .jump(let distance):
                believed = exchange.t4
                jump = distance
            case .rejected, .repeated, .outlier:
                continue
            }
        }
        guard let at = believed, let model = estimator.model(at: at) else { return nil }
        return Change(model: model, atNanoseconds: at, jumpNanoseconds: jump)
    }

    /// The best model for an instant of an agent's clock.
    func model(of epoch: Identity, at agentNanoseconds: Int64) -> ClockModel? {
        estimators[epoch]?.model(at: agentNanoseconds)
    }
}
