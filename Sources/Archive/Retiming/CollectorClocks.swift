import Media
import Timing

/// The clocks of a session's collector, one for each boot of its server, on one timeline.
///
/// The first clock has the session's zero. Zero on a later one follows from the agents whose clocks kept running
/// through a boot: their exchanges with both clocks give a range for it, and the ranges of all agents are intersected
/// (`ZeroTie`). If no agent's clock kept running, zero is where it was while the session was recorded, with the stored
/// error.
struct CollectorClocks {
    /// The clock data of one source's recording.
    struct Source {
        var name: String
        /// In the order in which they arrived.
        var exchanges: [(clock: ClockKey, exchange: ClockExchange)]
        /// In the order of the files.
        var places: [RecordedPlace]
        /// Zeros of the collector's clocks in the order in which the source used them.
        var zeros: [Int64]
    }

    private struct Measured: Hashable {
        var source: String
        var epoch: EpochID
    }

    /// By the collector's clock, named by its recorded zero.
    private var histories: [Int64: [Measured: ClockHistory]] = [:]
    private var ties: [Int64: ZeroTie<Measured>] = [:]
    private var order: [Int64] = []

    init(_ sources: [Source]) {
        for source in sources { measure(source) }
        order = order(sources).filter { histories[$0] != nil }
        for zero in order { place(zero, sources) }
    }

    /// The timelines of a source's epochs, from their clocks to session time.
    func timelines(of source: String) -> [EpochID: RetroTimeline] {
        var parts: [EpochID: [(history: ClockHistory, zero: ZeroTie<Measured>.Zero)]] = [:]
        for zero in order {
            for (measured, history) in histories[zero] ?? [:] where measured.source == source {
                guard let place = ties[zero]?.zero(of: measured) else { continue }
                parts[measured.epoch, default: []].append((history, place))
            }
        }
        return parts.compactMapValues { parts in
            let common = parts.map(\.zero.errorNanoseconds).min() ?? 0
            let inOrder = parts.sorted {
                $0.history.extent.lowerBound < $1.history.extent.lowerBound
            }
            let joined = ClockHistory(
                joining: inOrder.map {
                    (
                        $0.history, Int64.zero.clampedSubtracting($0.zero.nanoseconds),
                        $0.zero.errorNanoseconds - common
                    )
                })
            return joined.map {
                RetroTimeline(
                    sessionZeroNanoseconds: 0, history: $0, commonErrorNanoseconds: common)
            }
        }
    }

    /// Accepted exchanges of a source.
    func believedExchanges(of source: String) -> Int {
        histories.values.reduce(0) { sum, own in
            sum + own.lazy.filter { $0.key.source == source }.reduce(0) { $0 + $1.value.believed }
        }
    }

    private mutating func measure(_ source: Source) {
        var byClock: [ClockKey: [ClockExchange]] = [:]
        for (clock, exchange) in source.exchanges { byClock[clock, default: []].append(exchange) }
        for (clock, exchanges) in byClock {
            guard let history = ClockHistory(exchanges) else { continue }
            let measured = Measured(source: source.name, epoch: clock.epoch)
            histories[clock.collectorZeroNanoseconds, default: [:]][measured] = history
        }
    }

    /// The collector's clocks in order: every source used its own in this order. Of clocks without a predecessor, the
    /// one with the smallest recorded error is first.
    private func order(_ sources: [Source]) -> [Int64] {
        var before: [Int64: Set<Int64>] = [:]
        for source in sources {
            var seen: Set<Int64> = []
            let zeros =
                source.zeros + source.places.map(\.clock.collectorZeroNanoseconds)
                + source.exchanges.map(\.clock.collectorZeroNanoseconds)
            for zero in zeros where !seen.contains(zero) {
                before[zero, default: []].formUnion(seen)
                seen.insert(zero)
            }
        }
        return before.map {
            (earlier: $1.count, asRecorded($0, sources).errorNanoseconds, zero: $0)
        }
        .sorted { $0 < $1 }.map(\.zero)
    }

    /// Determines zero on one of the collector's clocks, after all earlier ones.
    private mutating func place(_ zero: Int64, _ sources: [Source]) {
        let recorded = asRecorded(zero, sources)
        guard !ties.isEmpty else {
            // A session begins at its zero. A clock after a reboot has a corrected zero, or the error of a wall clock.
            let isFirst =
                recorded.errorNanoseconds <= ZeroTie<Measured>.wideNanoseconds
                && recorded.nanoseconds.clampedSubtracting(zero).magnitude
                    <= recorded.errorNanoseconds.magnitude
            ties[zero] = ZeroTie(
                isFirst ? .init(nanoseconds: zero, errorNanoseconds: 0) : recorded)
            return
        }
        var tie = ZeroTie<Measured>(recorded)
        let earlier = order.filter { ties[$0] != nil }
        for (measured, history) in histories[zero] ?? [:] {
            for other in earlier {
                guard let before = histories[other]?[measured],
                    let known = ties[other]?.zero(of: measured)
                else { continue }
                observe(measured, from: before, zero: known, to: history, with: &tie)
            }
        }
        ties[zero] = tie
    }

    /// Adds a clock that was measured against two of the collector's clocks.
    private func observe(
        _ measured: Measured, from before: ClockHistory, zero: ZeroTie<Measured>.Zero,
        to history: ClockHistory, with tie: inout ZeroTie<Measured>
    ) {
        var one = RetroTimeline(
            sessionZeroNanoseconds: 0, history: before,
            commonErrorNanoseconds: zero.errorNanoseconds)
        var other = RetroTimeline(sessionZeroNanoseconds: 0, history: history)
        let isLater = before.extent.lowerBound <= history.extent.lowerBound
        let end = isLater ? before.extent.upperBound : before.extent.lowerBound
        let start = isLater ? history.extent.lowerBound : history.extent.upperBound
        for moment in [end, end.clampedAdding(start.clampedSubtracting(end) / 2), start] {
            let known = one.estimate(at: moment)
            let new = other.estimate(at: moment)
            _ = tie.observe(
                measured,
                placed: Self.constant(
                    known.offsetNanoseconds.clampedSubtracting(zero.nanoseconds),
                    known.boundNanoseconds, at: moment),
                measured: Self.constant(
                    new.offsetNanoseconds, new.boundNanoseconds, at: moment),
                at: moment)
        }
    }

    private static func constant(_ offset: Int64, _ bound: Int64, at moment: Int64) -> ClockModel {
        ClockModel(
            referenceAgentNanoseconds: moment, offsetNanoseconds: offset, skewPPB: 0,
            boundNanoseconds: bound, boundGrowthPPB: 0, validFromAgentNanoseconds: moment)
    }

    /// Zero on a collector's clock while the session was recorded, from the fragment with the smallest bound.
    private func asRecorded(_ zero: Int64, _ sources: [Source]) -> ZeroTie<Measured>.Zero {
        var best: (source: String, place: RecordedPlace)?
        for source in sources {
            for place in source.places where place.clock.collectorZeroNanoseconds == zero {
                if place.boundNanoseconds <= best?.place.boundNanoseconds ?? .max {
                    best = (source.name, place)
                }
            }
        }
        guard let (source, place) = best,
            let history = histories[zero]?[Measured(source: source, epoch: place.clock.epoch)]
        else { return .init(nanoseconds: zero, errorNanoseconds: ClockLimits.timestampNanoseconds) }
        var timeline = RetroTimeline(sessionZeroNanoseconds: 0, history: history)
        let estimate = timeline.estimate(at: place.stampNanoseconds)
        return .init(
            nanoseconds: estimate.offsetNanoseconds.clampedSubtracting(place.offsetNanoseconds),
            errorNanoseconds: estimate.boundNanoseconds.clampedAdding(
                Int64(clamping: place.boundNanoseconds)))
    }
}
