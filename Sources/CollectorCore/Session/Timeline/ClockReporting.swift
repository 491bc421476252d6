import Media
import Archive
import Timing
import Wire

/// Tracks which clock exchanges one source's recording already contains, and what is recorded next: exchanges with the
/// next fragment, and ledger lines for noteworthy changes.
///
/// Called once per fragment, not per message.
struct ClockReporting: Sendable {
    /// Interval between ledger lines about a clock that behaves as expected: four lines an hour.
    static let calmIntervalNanoseconds: Int64 = 900_000_000_000
    /// Minimum interval between ledger lines about any other clock.
    static let leastIntervalNanoseconds: Int64 = 10_000_000_000

    private struct EpochState: Sendable {
        /// Number of exchanges of `owner` that have been recorded.
        var recorded = 0
        var owner: ClockOwner?
        var zeroNanoseconds: Int64
        var noted: (model: ClockModel, atNanoseconds: Int64)?
        var doubtful = 0
        var doubtfulNotedNanoseconds: Int64?
    }

    private var states: [EpochID: EpochState] = [:]
    private var present: EpochID?

    /// Samples of an epoch are about to be written.
    /// - Parameter zero: the session's zero on the collector's clock, nanoseconds.
    mutating func turn(to epoch: EpochID, zero: Int64) -> [IntakeNotice] {
        guard present != epoch else { return [] }
        var notices: [IntakeNotice] = []
        if let present { notices.append(.epochClosed(epoch: present)) }
        present = epoch
        // A box has a few boots in a session; with more, earlier exchanges are in its fragments only.
        if states.count > 2 * WireLimits.epochsPerAgent { states.removeAll() }
        if states[epoch] == nil { states[epoch] = EpochState(zeroNanoseconds: zero) }
        notices.append(.epochOpened(epoch: epoch, collectorZeroNanoseconds: zero))
        return notices
    }

    /// The exchanges for the next fragment of an epoch.
    mutating func takeExchanges(of id: ClockID, _ clocks: AgentClocks) -> [ClockExchange] {
        guard let state = states[id.epoch] else { return [] }
        let recorded = state.owner == id.owner ? state.recorded : 0
        let (exchanges, count) = clocks.exchanges(of: id, after: recorded)
        states[id.epoch]?.recorded = count
        states[id.epoch]?.owner = id.owner
        return Array(exchanges)
    }

    /// Observations that are worth a ledger line.
    ///
    /// - Parameters:
    ///   - stamp: the present time on the agent's clock, nanoseconds.
    ///   - session: the same on the session's timeline.
    mutating func notices(
        of id: ClockID, _ clocks: AgentClocks, at stamp: Int64, session: Int64
    ) -> [IntakeNotice] {
        let epoch = id.epoch
        guard var state = states[epoch] else { return [] }
        defer { states[epoch] = state }
        var notices: [IntakeNotice] = []
        if let model = clocks.model(of: id, at: stamp), isNoteworthy(model, state, at: stamp) {
            state.noted = (model, stamp)
            notices.append(.model(epoch: epoch, model, sessionNanoseconds: session))
        }
        if let counts = clocks.counts(of: id) {
            let rejected = counts.rejected.values.reduce(0, +)
            let isDue = state.doubtfulNotedNanoseconds.map {
                distance(stamp, $0) >= Self.leastIntervalNanoseconds
            }
            if rejected + counts.outliers > state.doubtful, isDue ?? true {
                state.doubtful = rejected + counts.outliers
                state.doubtfulNotedNanoseconds = stamp
                let reasons = counts.rejected.map { "\($0.value) \($0.key)" }.sorted()
                notices.append(
                    .doubtfulExchanges(
                        epoch: epoch, rejected: rejected, outliers: counts.outliers,
                        reasons: reasons.joined(separator: ", ")))
            }
        }
        return notices
    }

    /// The source ends: lines for exchanges that are in no fragment.
    mutating func close(_ clocks: AgentClocks, of owner: ClockOwner?) -> [IntakeNotice] {
        var notices: [IntakeNotice] = []
        for (epoch, state) in states.sorted(by: { $0.key.description < $1.key.description }) {
            let rest = takeExchanges(
                of: ClockID(owner: state.owner ?? owner, epoch: epoch), clocks)
            if !rest.isEmpty {
                notices.append(
                    .exchanges(
                        epoch: epoch, collectorZeroNanoseconds: state.zeroNanoseconds, rest))
            }
        }
        if let present { notices.append(.epochClosed(epoch: present)) }
        present = nil
        return notices
    }

    /// Whether a model is worth a line: the first model; one outside of the last line's bound, or with a much smaller
    /// or larger bound; or another one after a long time.
    private func isNoteworthy(_ model: ClockModel, _ state: EpochState, at stamp: Int64) -> Bool {
        guard let noted = state.noted else { return true }
        let elapsed = distance(stamp, noted.atNanoseconds)
        if elapsed >= Self.calmIntervalNanoseconds { return true }
        guard elapsed >= Self.leastIntervalNanoseconds else { return false }
        let moved = distance(model.offset(at: stamp), noted.model.offset(at: stamp))
        let before = noted.model.boundNanoseconds
        return moved > before || model.boundNanoseconds < before / 2
            || model.boundNanoseconds / 4 > before
    }
}

/// |a − b|, within 64 bits.
private func distance(_ a: Int64, _ b: Int64) -> Int64 {
    let (difference, overflow) = a.subtractingReportingOverflow(b)
    return overflow ? .max : Int64(clamping: difference.magnitude)
}
