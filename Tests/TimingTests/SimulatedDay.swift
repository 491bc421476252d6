import Timing

/// A day of a box's clock seen through its link: compares the estimator and the timeline with the true clock.
struct SimulatedDay {
    var clock = SimulatedClock()
    var link = SimulatedLink.quiet
    var hours = 24.0
    var stepSeconds = 4.0
    var outages: [ClosedRange<Double>] = []
    /// Errors are collected from this time; bounds hold from the start.
    var settledSeconds = 120.0

    struct Outcome {
        var samples = 0
        /// Times at which the estimate's error exceeded its bound, with both values.
        var violations: [String] = []
        var errorsNanoseconds: [Int64] = []
        var timelineViolations: [String] = []
        var backwards = 0
        var fastestSlewPPB: Int64 = 0
        /// The greatest difference of the timeline's rate from the agent's.
        var steepestPPB: Int64 = 0
        var jumps: [Int64] = []
        var skewChanges = 0
        var discontinuities = 0
        var largestBoundNanoseconds: Int64 = 0
        var lastBoundNanoseconds: Int64 = 0

        /// The error's percentile, in thousandths.
        func error(permille: Int) -> Int64 {
            let sorted = errorsNanoseconds.sorted()
            return sorted.isEmpty ? 0 : sorted[(sorted.count - 1) * permille / 1000]
        }
    }

    func run(seed: UInt64) -> Outcome {
        var random = SeededGenerator(seed: seed)
        var outcome = Outcome()
        var estimator = ClockEstimator()
        var timeline: Timeline?
        var last: (agent: Int64, session: Int64)?
        var seconds = 0.5
        var jumpsSeen = 0
        while seconds < hours * 3600 {
            let now = Int64(seconds * 1e9)
            if !outages.contains(where: { $0.contains(seconds) }) {
                let (there, back) = link.delays(&random)
                let exchange = clock.exchange(
                    at: now, thereNanoseconds: there, backNanoseconds: back)
                switch estimator.add(exchange) {
                case .jump(let nanoseconds):
                    outcome.jumps.append(nanoseconds)
                    jumpsSeen += 1
                    timeline = nil
                    last = nil
                case .skewChanged: outcome.skewChanges += 1
                case .accepted, .rejected, .repeated, .outlier: break
                }
                if let model = estimator.model(at: exchange.t4Nanoseconds) {
                    if case .discontinuity? = timeline?.update(model, at: exchange.t4Nanoseconds) {
                        outcome.discontinuities += 1
                        timeline = nil
                        last = nil
                    }
                    timeline = timeline ?? Timeline(sessionZeroNanoseconds: 0, model: model)
                }
            }
            let happened = clock.jumps.filter { $0.seconds <= seconds + stepSeconds }.count
            for _ in 0..<2 where happened == jumpsSeen {
                let moment = now + Int64(random.unit() * stepSeconds * 1e9)
                check(moment, estimator, timeline, &outcome)
            }
            if happened == jumpsSeen { follow(now, &timeline, &last, &outcome) }
            seconds += stepSeconds * (0.75 + random.unit() / 2)
        }
        return outcome
    }

    private func check(
        _ moment: Int64, _ estimator: ClockEstimator, _ timeline: Timeline?,
        _ outcome: inout Outcome
    ) {
        guard let model = estimator.model(at: moment) else { return }
        let truth = clock.offset(at: moment)
        let error = abs(model.offset(at: moment) - truth)
        let bound = model.bound(at: moment)
        outcome.samples += 1
        if Double(moment) * 1e-9 > settledSeconds { outcome.errorsNanoseconds.append(error) }
        outcome.largestBoundNanoseconds = max(outcome.largestBoundNanoseconds, bound)
        outcome.lastBoundNanoseconds = bound
        if error > bound {
            outcome.violations.append("\(moment / 1_000_000_000) s: \(error) > \(bound)")
        }
        guard let timeline else { return }
        let applied = abs(timeline.appliedOffsetNanoseconds(at: moment) - truth)
        let appliedBound = timeline.boundNanoseconds(at: moment)
        if applied > appliedBound {
            outcome.timelineViolations.append(
                "\(moment / 1_000_000_000) s: \(applied) > \(appliedBound)")
        }
    }

    /// Maps pictures up to `now` and checks the timeline's rate between them.
    private func follow(
        _ now: Int64, _ timeline: inout Timeline?, _ last: inout (agent: Int64, session: Int64)?,
        _ outcome: inout Outcome
    ) {
        guard let session = timeline?.map(now) else { return }
        if let last {
            if session <= last.session { outcome.backwards += 1 }
            let steepness = abs((session - last.session) - (now - last.agent))
            outcome.steepestPPB = max(
                outcome.steepestPPB,
                Int64(Double(steepness) / Double(now - last.agent) * 1e9))
        }
        outcome.fastestSlewPPB = max(outcome.fastestSlewPPB, abs(timeline?.slewPPB(at: now) ?? 0))
        last = (now, session)
    }
}
