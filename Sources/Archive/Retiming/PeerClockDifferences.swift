import Media
import Timing

/// The differences between the clocks of a session's collector and those of the site's other collectors, over time.
///
/// A peer's clock is like an agent's: it may have run on while this collector's server was restarted. Both sides' exchanges count
/// (`ClockDifference`).
struct PeerClockDifferences {
    private struct Pair: Hashable {
        /// The session's zero, which identifies this collector's clock.
        var zero: Int64
        var peer: String
    }

    private var found: [Pair: ClockDifference] = [:]
    /// Peers on the collector's own machine, in the same boot: they have its clock.
    private var same: Set<Pair> = []
    /// The peers' clocks that were compared, in order.
    private(set) var peers: [String] = []

    /// Clocks of peers that are compared: boots of a few servers during a session.
    private static let maximumPeers = 256

    /// - Parameters:
    ///   - zeros: those in this archive's media, in order.
    ///   - own: this collector's clocks.
    ///   - others: those of other archives.
    init(zeros: [Int64], own: SiteClocks, others: [SiteClocks]) {
        var peers: Set<String> = []
        var measured: [[String]: ClockDifference] = [:]
        for zero in zeros {
            guard let clock = own.clock(ofZero: zero) else { continue }
            let candidates = others.reduce(into: own.peers(of: clock)) {
                $0.formUnion($1.clocks(asking: clock))
            }
            if candidates.contains(clock) || others.contains(where: { $0.zeros[clock] != nil }) {
                same.insert(Pair(zero: zero, peer: clock))
            }
            for peer in candidates.sorted() where peer != clock {
                guard peers.contains(peer) || peers.count < Self.maximumPeers else { continue }
                let key = [clock, peer]
                let difference =
                    measured[key]
                    ?? ClockDifference(
                        forth: others.flatMap { $0.exchanges(of: peer, asking: clock) },
                        back: own.exchanges(of: clock, asking: peer))
                guard let difference else { continue }
                measured[key] = difference
                peers.insert(peer)
                found[Pair(zero: zero, peer: peer)] = difference
            }
        }
        self.peers = peers.sorted()
    }

    /// This collector's clock less a peer's, at moments of the peer's; nil: they were not compared.
    func difference(zero: Int64, peer: String) -> ClockDifference? {
        found[Pair(zero: zero, peer: peer)]
    }

    /// The offset from a moment of a peer's clock to session time, by the clock of this collector with the smallest error.
    /// - Parameter zeros: places of the session's zero on this collector's clocks, by their recorded zeros.
    mutating func session(
        at moment: Int64, of peer: String, _ zeros: [(recorded: Int64, place: Int64, error: Int64)]
    ) -> RetroTimeline.Estimate? {
        var best: RetroTimeline.Estimate?
        for zero in zeros {
            let pair = Pair(zero: zero.recorded, peer: peer)
            let isSame = same.contains(pair)
            guard
                var estimate = isSame
                    ? RetroTimeline.Estimate(offsetNanoseconds: 0, boundNanoseconds: 0)
                    : found[pair]?.estimate(at: moment)
            else { continue }
            estimate.offsetNanoseconds = estimate.offsetNanoseconds.clampedSubtracting(zero.place)
            estimate.boundNanoseconds.addClamped(zero.error)
            if estimate.boundNanoseconds < best?.boundNanoseconds ?? .max { best = estimate }
        }
        return best
    }
}
