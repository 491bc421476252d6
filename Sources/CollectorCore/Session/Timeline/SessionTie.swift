import Archive
import Media
import Timing
import Wire

/// A clock with a stored mapping to the session's timeline: one source's epoch.
struct PlacedClock: Hashable, Sendable {
    var source: String
    var epoch: EpochID
}

/// Correction of zero on the collector's clock, relative to the value with which this collector began.
struct ZeroCorrection: Hashable, Sendable {
    /// Added to session times.
    var nanoseconds: Int64 = 0
    /// Maximum error of zero.
    var errorNanoseconds: Int64 = 0
}

extension SessionManifest {
    /// The correction in force.
    var correction: ZeroCorrection {
        ZeroCorrection(
            nanoseconds: clock?.correctionNanoseconds ?? 0,
            errorNanoseconds: clock?.zeroErrorNanoseconds ?? 0)
    }
}

/// Ties a resumed session's timeline to the collector's present clock, by the agents' clocks that were mapped to it
/// before.
struct SessionTie: Sendable {
    private var tie: ZeroTie<PlacedClock>
    private let placed: [PlacedClock: ClockModel]
    private let byEpoch: [EpochID: [String]]
    private var isTold = false

    /// - Returns: nil when zero is known: the collector's clock is the same as before, and an agent's clock or that
    ///   clock has determined zero.
    /// - Parameter isNewClock: whether the collector's clock has changed.
    init?(_ session: RecoveredSession, _ manifest: SessionManifest, isNewClock: Bool) {
        let correction = manifest.correction
        guard
            isNewClock
                || correction.errorNanoseconds > ZeroTie<PlacedClock>.wideNanoseconds
        else { return nil }
        tie = ZeroTie(
            .init(
                nanoseconds: manifest.presentZeroNanoseconds,
                errorNanoseconds: correction.errorNanoseconds),
            limit: isNewClock ? manifest.zeroLimit : nil)
        var placed: [PlacedClock: ClockModel] = [:]
        var byEpoch: [EpochID: [String]] = [:]
        for source in session.sources {
            for clock in source.clocks {
                placed[PlacedClock(source: source.entry.name, epoch: clock.epoch)] = clock.placed
                byEpoch[clock.epoch, default: []].append(source.entry.name)
            }
        }
        self.placed = placed
        self.byEpoch = byEpoch
    }

    var zero: ZeroTie<PlacedClock>.Zero { tie.zero }

    /// Adds measurements of an epoch's clock.
    /// - Parameter owner: maps a source to the agent whose exchanges apply.
    /// - Returns: whether the estimate of zero has improved.
    mutating func observe(
        _ epoch: EpochID, _ clocks: AgentClocks, owner: (String) -> ClockOwner?
    ) -> Bool {
        var isChanged = false
        for source in byEpoch[epoch] ?? [] {
            let clock = PlacedClock(source: source, epoch: epoch)
            guard let owner = owner(source), let model = placed[clock],
                let change = clocks.change(of: ClockID(owner: owner, epoch: epoch))
            else { continue }
            let isNew = tie.observe(
                clock, placed: model, measured: change.model, at: change.atNanoseconds)
            isChanged = isNew || isChanged
        }
        return isChanged
    }

    /// The corrections of a source's epochs whose stored mapping contradicts the common zero.
    func own(_ source: String, base: Int64) -> [EpochID: ZeroCorrection] {
        var own: [EpochID: ZeroCorrection] = [:]
        for clock in placed.keys where clock.source == source {
            let zero = tie.zero(of: clock)
            guard zero != tie.zero else { continue }
            own[clock.epoch] = ZeroCorrection(
                nanoseconds: base.clampedSubtracting(zero.nanoseconds),
                errorNanoseconds: zero.errorNanoseconds)
        }
        return own
    }

    /// One line, once an agent's clock has determined zero.
    /// - Parameter base: zero as this collector began with it.
    mutating func takeNews(base: Int64) -> String? {
        guard tie.isTied, !isTold else { return nil }
        isTold = true
        let moved = base.clampedSubtracting(tie.zero.nanoseconds)
        return "the session's zero is placed by a source's clock that ran on, to within "
            + "\((tie.zero.errorNanoseconds + 999) / 1_000) µs: times are "
            + "\(moved.magnitude / 1_000_000) ms \(moved < 0 ? "earlier" : "later") than by the "
            + "server's clock"
    }
}
