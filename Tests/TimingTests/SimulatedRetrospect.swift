import Timing

/// A day of a box in retrospect: the live timeline and the one from all exchanges, compared with the true clock.
struct SimulatedRetrospect {
    struct Outcome {
        var liveErrorsNanoseconds: [Int64] = []
        var errorsNanoseconds: [Int64] = []
        var liveBoundsNanoseconds: [Int64] = []
        var boundsNanoseconds: [Int64] = []
        /// Times at which the true clock was outside the bound.
        var violations: [String] = []

        static func rank(_ values: [Int64], permille: Int) -> Int64 {
            let sorted = values.sorted()
            return sorted.isEmpty ? 0 : sorted[(sorted.count - 1) * permille / 1000]
        }
    }

    var clock = SimulatedClock()
    var link = SimulatedLink.quiet
    var seconds = 600.0
    /// Interval of exchanges by the second of the day.
    var pause: (Double) -> Double = { $0 < 60 ? 0.1 : 2 }
    var outages: [ClosedRange<Double>] = []
    /// Interval of checks.
    var lookSeconds = 0.25

    func run(seed: UInt64) -> Outcome {
        var random = SeededGenerator(seed: seed)
        var exchanges: [ClockExchange] = []
        var estimator = ClockEstimator()
        var live: Timeline?
        var outcome = Outcome()
        var moments: [Int64] = []
        var time = 0.5
        var nextExchange = time
        var nextUpdate = time
        while time < seconds {
            if time >= nextExchange, !outages.contains(where: { $0.contains(time) }) {
                nextExchange = time + pause(time)
                let (there, back) = link.delays(&random)
                let exchange = clock.exchange(
                    at: Int64(time * 1e9), thereNanoseconds: there, backNanoseconds: back)
                exchanges.append(exchange)
                let verdict = estimator.add(exchange)
                if let model = estimator.model(at: exchange.t4Nanoseconds), time >= nextUpdate {
                    nextUpdate = time + 1
                    if case .jump = verdict { live = nil }
                    if case .discontinuity? = live?.update(model, at: exchange.t4Nanoseconds) {
                        live = nil
                    }
                    live = live ?? Timeline(sessionZeroNanoseconds: 0, model: model)
                }
            }
            let moment = Int64((time + random.unit() * lookSeconds) * 1e9)
            if var timeline = live {
                let truth = clock.offset(at: moment)
                outcome.liveErrorsNanoseconds.append(
                    abs(timeline.map(moment) - moment - truth))
                outcome.liveBoundsNanoseconds.append(timeline.boundNanoseconds(at: moment))
                live = timeline
                moments.append(moment)
            }
            time += min(lookSeconds, 0.1)
        }
        guard let history = ClockHistory(exchanges) else { return outcome }
        var retro = RetroTimeline(sessionZeroNanoseconds: 0, history: history)
        for moment in moments {
            let estimate = retro.estimate(at: moment)
            let error = abs(estimate.offsetNanoseconds - clock.offset(at: moment))
            outcome.errorsNanoseconds.append(error)
            outcome.boundsNanoseconds.append(estimate.boundNanoseconds)
            if error > estimate.boundNanoseconds {
                outcome.violations.append(
                    "\(Double(moment) * 1e-9) s: \(error) > \(estimate.boundNanoseconds)")
            }
        }
        return outcome
    }
}
