import Media

/// All exchanges of one epoch, evaluated afterwards: the offset at a moment follows from exchanges before and after it.
///
/// A ``ClockEstimator`` only uses the past. Afterwards, later exchanges are as informative about a moment as earlier ones: the
/// limits of ``ClockLimits`` apply in both directions. The history classifies exchanges as the estimator did, in the order in
/// which they arrived, and is divided where the clock jumped.
package struct ClockHistory: Sendable {
    /// The clock between two jumps.
    struct Stretch: Sendable {
        /// Agent's clock at the first exchange; the first stretch also extends back without limit.
        var sinceNanoseconds: Int64
        /// Agent's clock at the end of the last exchange.
        var lastNanoseconds: Int64
        /// Upper limits of the offset, and lower limits; each in the order of time.
        var above: [OffsetEnvelope.Point] = []
        var below: [OffsetEnvelope.Point] = []

        init(_ exchange: ClockExchange) {
            sinceNanoseconds = exchange.t1Nanoseconds
            lastNanoseconds = exchange.t4Nanoseconds
            append(exchange)
        }

        mutating func append(_ exchange: ClockExchange) {
            lastNanoseconds = max(lastNanoseconds, exchange.t4Nanoseconds)
            above.append(
                OffsetEnvelope.Point(
                    agentNanoseconds: exchange.t1Nanoseconds,
                    offsetNanoseconds: exchange.highestOffsetNanoseconds))
            below.append(
                OffsetEnvelope.Point(
                    agentNanoseconds: exchange.t4Nanoseconds,
                    offsetNanoseconds: exchange.lowestOffsetNanoseconds))
        }

        /// Continues with the same clock, measured against another one.
        mutating func append(_ later: Stretch) {
            sinceNanoseconds = min(sinceNanoseconds, later.sinceNanoseconds)
            lastNanoseconds = max(lastNanoseconds, later.lastNanoseconds)
            above += later.above
            below += later.below
        }

        mutating func sort() {
            above.sort { $0.agentNanoseconds < $1.agentNanoseconds }
            below.sort { $0.agentNanoseconds < $1.agentNanoseconds }
        }
    }

    /// At least one, in the order of their starts.
    private(set) var stretches: [Stretch] = []

    /// Number of accepted exchanges.
    package private(set) var believed = 0

    /// Classifies exchanges in the order in which they arrived; nil when none is accepted.
    package init?(_ exchanges: some Sequence<ClockExchange>) {
        var estimator = ClockEstimator()
        var suspects: [ClockExchange] = []
        for exchange in exchanges {
            switch estimator.add(exchange) {
            case .rejected:
                continue
            case .outlier:
                suspects.append(exchange)
            case .repeated:
                // No new information for the estimator, but valid.
                add(exchange)
            case .accepted, .skewChanged:
                suspects.removeAll(keepingCapacity: true)
                add(exchange)
            case .jump:
                // The suspects that agree with this one are the last ones.
                let confirmed =
                    suspects.suffix(ClockEstimator.suspectsForJump - 1) + [exchange]
                suspects.removeAll(keepingCapacity: true)
                begin(Array(confirmed))
            }
        }
        guard !stretches.isEmpty else { return nil }
        for index in stretches.indices { stretches[index].sort() }
    }

    /// The history of one epoch measured against several clocks of a collector, one after the other, on one timeline.
    /// - Parameter parts: in the order of time: the shift to add to the offsets of each, and the shift's maximum error.
    package init?(joining parts: [(history: ClockHistory, shift: Int64, error: Int64)]) {
        for (history, shift, error) in parts {
            believed += history.believed
            for (index, stretch) in history.stretches.enumerated() {
                var moved = stretch
                moved.above = stretch.above.map { $0.moved(by: shift.clampedAdding(error)) }
                moved.below = stretch.below.map { $0.moved(by: shift.clampedSubtracting(error)) }
                if index == 0, !stretches.isEmpty {
                    stretches[stretches.count - 1].append(moved)
                } else {
                    stretches.append(moved)
                }
            }
        }
        guard !stretches.isEmpty else { return nil }
        for index in stretches.indices { stretches[index].sort() }
    }

    /// The histories of one epoch on one timeline, measured along several ways at the same time; nil: there is none, or the clock
    /// jumped in one of them.
    package init?(merging parts: [ClockHistory]) {
        guard var first = parts.first, parts.allSatisfy({ !$0.hasJumps }) else { return nil }
        for other in parts.dropFirst() {
            first.believed += other.believed
            first.stretches[0].append(other.stretches[0])
        }
        first.stretches[0].sort()
        self = first
    }

    /// Whether the clock jumped.
    package var hasJumps: Bool { stretches.count > 1 }

    /// The epoch's clock measured against a third one, by way of the collector's: every limit of the offset is moved by the
    /// offset between those two at that moment, and widened by its error.
    ///
    /// - Parameters:
    ///   - limit: greatest error of an offset that is used.
    ///   - offset: the third clock less the collector's, at a moment of the collector's; nil: unknown.
    /// - Returns: nil: no moment of it is known.
    package func carried(
        limit: Int64, by offset: (_ collectorNanoseconds: Int64) -> RetroTimeline.Estimate?
    ) -> ClockHistory? {
        func moved(_ points: [OffsetEnvelope.Point], _ sign: Int64) -> [OffsetEnvelope.Point] {
            points.compactMap { point in
                let moment = point.agentNanoseconds.clampedAdding(point.offsetNanoseconds)
                guard let known = offset(moment), known.boundNanoseconds <= limit else {
                    return nil
                }
                return point.moved(
                    by: known.offsetNanoseconds.clampedAdding(sign * known.boundNanoseconds))
            }
        }
        var carried = self
        carried.stretches = stretches.compactMap { stretch in
            var new = stretch
            new.above = moved(stretch.above, 1)
            new.below = moved(stretch.below, -1)
            return new.above.isEmpty || new.below.isEmpty ? nil : new
        }
        return carried.stretches.isEmpty ? nil : carried
    }

    private mutating func add(_ exchange: ClockExchange) {
        believed += 1
        if stretches.isEmpty {
            stretches.append(Stretch(exchange))
        } else {
            stretches[stretches.count - 1].append(exchange)
        }
    }

    private mutating func begin(_ confirmed: [ClockExchange]) {
        guard let first = confirmed.first else { return }
        var stretch = Stretch(first)
        for exchange in confirmed.dropFirst() { stretch.append(exchange) }
        believed += confirmed.count
        stretches.append(stretch)
    }

    /// Agent's clock at the first and at the end of the last exchange.
    package var extent: ClosedRange<Int64> {
        let first = stretches[0].sinceNanoseconds
        return first...max(first, stretches[stretches.count - 1].lastNanoseconds)
    }

    /// The stretch to which a moment of the agent's clock is assigned.
    ///
    /// A jump occurred at an unknown time between two exchanges; moments in between are assigned to the stretch before it.
    func stretch(at agentNanoseconds: Int64) -> Int {
        var index = stretches.count - 1
        while index > 0, stretches[index].sinceNanoseconds > agentNanoseconds { index -= 1 }
        return index
    }

    /// Whether it is unknown on which side of a jump a moment lies.
    func isBetweenStretches(_ agentNanoseconds: Int64) -> Bool {
        let index = stretch(at: agentNanoseconds)
        return index + 1 < stretches.count && agentNanoseconds > stretches[index].lastNanoseconds
    }
}
