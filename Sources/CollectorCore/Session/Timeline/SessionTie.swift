import Archive
import Media
import Timing
import Wire

/// A clock whose place on the session's timeline is stored: one source's epoch.
struct PlacedClock: Hashable, Sendable {
    var source: String
    var epoch: EpochID
}

/// Where zero is on the collector's clock, relative to where it was when this collector began.
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

/// Ties a resumed session's timeline to the collector's present clock, through the agents' clocks that were placed on it before.
struct SessionTie: Sendable {
    private var tie: ZeroTie<PlacedClock>
    private let placed: [PlacedClock: ClockModel]
    private let byEpoch: [EpochID: [String]]
    private var isTold = false

    /// - Returns: nil when zero is known: the collector's clock is the one before, and an agent or that clock has placed zero.
    /// - Parameter isNewClock: whether the collector's clock is another one than before.
    init?(_ session: RecoveredSession, _ manifest: SessionManifest, isNewClock: Bool) {
        let correction = manifest.correction
        guard
            isNewClock
                || correction.errorNanoseconds > ZeroTie<PlacedClock>.wideNanoseconds
        else { return nil }
        tie = ZeroTie(
            .init(
                nanoseconds: manifest.presentZeroNanoseconds,
                errorNanoseconds: correction.errorNanoseconds))
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

    /// Takes in what is known of an epoch's clock.
    /// - Parameter owner: whose exchanges apply to a source.
    /// - Returns: whether zero is known better.
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

    /// The correction of a source's epoch whose own place contradicts the common zero.
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

    /// One line, once an agent's clock has placed zero.
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
