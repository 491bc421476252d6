import Media

/// The position of a session's zero on the collector's present clock, determined through agents whose clocks were
/// mapped to the session's timeline before that clock began.
///
/// An agent's clock keeps running while the server is restarted. Its mapping is stored, and new exchanges measure it
/// against the new clock. The difference of the two offsets is the position of zero, within the sum of both bounds: a
/// range. The ranges of all agents contain the same instant, so they are intersected. If one contradicts the others,
/// the instant that is in most ranges counts (Marzullo and Owicki). A range as wide as the error of a wall clock is
/// ignored beside a narrow one.
///
/// Until the first range is known, the wall clock determines zero. Where that clock was synchronised, its error limits zero: a
/// single agent could otherwise move the times of all.
package struct ZeroTie<Clock: Hashable & Sendable>: Sendable {
    /// Half of the width from which a range is ignored beside narrower ones: it stems from a wall clock, or from a
    /// guess.
    package static var wideNanoseconds: Int64 { 1_000_000_000 }
    /// Measurements used per clock: a burst and some minutes. After these, the bound no longer shrinks.
    private static var observationsPerClock: Int { 256 }

    /// A position of zero on the collector's clock.
    package struct Zero: Hashable, Sendable {
        package var nanoseconds: Int64
        /// Maximum error.
        package var errorNanoseconds: Int64

        package init(nanoseconds: Int64, errorNanoseconds: Int64) {
            self.nanoseconds = nanoseconds
            self.errorNanoseconds = errorNanoseconds
        }
    }

    private struct Range: Hashable, Sendable {
        var lowest: Int64
        var highest: Int64

        var half: Int64 { highest.clampedSubtracting(lowest) / 2 + 1 }
        var middle: Int64 { lowest.clampedAdding(highest.clampedSubtracting(lowest) / 2) }
        func contains(_ instant: Int64) -> Bool { lowest <= instant && instant <= highest }
        func error(of instant: Int64) -> Int64 {
            max(instant.clampedSubtracting(lowest), highest.clampedSubtracting(instant))
        }
        func intersected(with other: Range) -> Range? {
            let both = Range(
                lowest: max(lowest, other.lowest), highest: min(highest, other.highest))
            return both.lowest <= both.highest ? both : nil
        }
    }

    private var ranges: [Clock: Range] = [:]
    /// Possible positions; nil: all.
    private let limit: Range?
    private var observations: [Clock: Int] = [:]
    /// The range that ``narrow(to:)`` has confined the zero to; nil: none.
    private var confined: Range?
    /// The best position so far.
    package private(set) var zero: Zero

    /// - Parameters:
    ///   - zero: the position by the wall clock, and its error.
    ///   - limit: the possible positions; clocks that contradict it do not vote. Nil: all.
    package init(_ zero: Zero, limit: ClosedRange<Int64>? = nil) {
        self.zero = zero
        self.limit = limit.map { Range(lowest: $0.lowerBound, highest: $0.upperBound) }
    }

    /// Whether an agent's clock determines zero.
    package var isTied: Bool { possible.contains { $0.half <= Self.wideNanoseconds } }

    /// The ranges that do not contradict the limit.
    private var possible: [Range] {
        guard let limit else { return Array(ranges.values) }
        return ranges.values.filter { limit.intersected(with: $0) != nil }
    }

    /// Adds the measurement of a clock at one of its moments.
    /// - Parameters:
    ///   - placed: the clock's stored mapping: its offset from session time.
    ///   - measured: the clock measured against the collector's present clock.
    ///   - moment: of the agent's clock.
    /// - Returns: whether ``zero`` has changed.
    package mutating func observe(
        _ clock: Clock, placed: ClockModel, measured: ClockModel, at moment: Int64
    ) -> Bool {
        guard observations[clock, default: 0] < Self.observationsPerClock else { return false }
        observations[clock, default: 0] += 1
        let middle = measured.offset(at: moment).clampedSubtracting(placed.offset(at: moment))
        let half = placed.bound(at: moment).clampedAdding(measured.bound(at: moment))
        let new = Range(
            lowest: middle.clampedSubtracting(half), highest: middle.clampedAdding(half))
        // If a later range contradicts an earlier one, the clock was steered harder than assumed: the earlier one is
        // more accurate.
        guard let own = ranges[clock].map({ $0.intersected(with: new) }) ?? new,
            own != ranges[clock]
        else { return false }
        ranges[clock] = own
        return settle()
    }

    /// Zero for one clock's samples: always within the clock's own range. So a clock that contradicts the others keeps
    /// the distances of its samples.
    package func zero(of clock: Clock) -> Zero {
        guard let own = ranges[clock], own.half <= Self.wideNanoseconds,
            !own.contains(zero.nanoseconds)
        else { return zero }
        let nearest = max(own.lowest, min(own.highest, zero.nanoseconds))
        return Zero(nanoseconds: nearest, errorNanoseconds: own.error(of: nearest))
    }

    /// Narrows the position by a clock that does not vote: it is used only as far as it agrees. To be called after all
    /// observations.
    /// - Returns: nil: it contradicts the position, which stays; otherwise whether ``zero`` has changed.
    package mutating func narrow(to instants: ClosedRange<Int64>) -> Bool? {
        let present =
            confined ?? region
            ?? Range(
                lowest: zero.nanoseconds.clampedSubtracting(zero.errorNanoseconds),
                highest: zero.nanoseconds.clampedAdding(zero.errorNanoseconds))
        let new = Range(lowest: instants.lowerBound, highest: instants.upperBound)
        guard let both = present.intersected(with: new) else { return nil }
        confined = both
        return move(into: both)
    }

    /// Moves zero only if its position is excluded, or its error is halved.
    private mutating func settle() -> Bool {
        guard let region else { return false }
        return move(into: region)
    }

    private mutating func move(into region: Range) -> Bool {
        let before = zero
        if !region.contains(zero.nanoseconds) || region.half <= zero.errorNanoseconds / 2 {
            zero = Zero(nanoseconds: region.middle, errorNanoseconds: region.half)
        } else {
            zero.errorNanoseconds = min(
                zero.errorNanoseconds, region.error(of: zero.nanoseconds))
        }
        return zero != before
    }

    /// The instants that are in most ranges; of several such regions, the shortest.
    private var region: Range? {
        let possible = possible
        let narrow = possible.filter { $0.half <= Self.wideNanoseconds }
        // In a fixed order: of equal regions, the earliest is used.
        let voters = (narrow.isEmpty ? possible : narrow)
            .sorted { ($0.lowest, $0.highest) < ($1.lowest, $1.highest) }
        var best: (region: Range, votes: Int)?
        for begin in voters {
            let holding = voters.filter { $0.contains(begin.lowest) }
            guard let end = holding.map(\.highest).min() else { continue }
            let region = Range(lowest: begin.lowest, highest: end)
            if let best,
                holding.count < best.votes
                    || (holding.count == best.votes && region.half >= best.region.half)
            {
                continue
            }
            best = (region, holding.count)
        }
        return best?.region
    }
}
