/// The clock of another collector of the site, as this collector has measured it.
package struct PeerClockStatus: Hashable, Sendable {
    /// The other collector's name.
    package var collector: String
    /// Maximum error of the difference of the two clocks now, nanoseconds; nil: not measured.
    package var boundNanoseconds: Int64?
    /// Their `CLOCK_MONOTONIC` − this collector's.
    package var offsetNanoseconds: Int64?
    /// The growth of that, parts per 10⁹.
    package var skewPPB: Int64?
    /// Round trip of the last exchange.
    package var roundTripNanoseconds: Int64?
    /// Since the last exchange.
    package var ageSeconds: Double?
    /// Why it is not being measured, one line; nil: it is.
    package var trouble: String?

    package init(collector: String) { self.collector = collector }

    /// Adds the clocks of all peers to `/metrics`. A site has a few dozen collectors at most.
    static func add(_ peers: [PeerClockStatus], to text: inout MetricText) {
        let bound = "tributary_peer_clock_bound_seconds"
        text.begin(
            bound, .gauge,
            "Maximum error of the measured difference to another collector's clock; none while it is unknown."
        )
        for peer in peers {
            guard let nanoseconds = peer.boundNanoseconds else { continue }
            text.add(bound, [("collector", peer.collector)], Double(nanoseconds) / 1e9)
        }
        let skew = "tributary_peer_clock_skew_ppm"
        text.begin(skew, .gauge, "Rate of another collector's clock relative to this one's.")
        for peer in peers {
            guard let ppb = peer.skewPPB else { continue }
            text.add(skew, [("collector", peer.collector)], Double(ppb) / 1e3)
        }
        let trip = "tributary_peer_clock_round_trip_seconds"
        text.begin(trip, .gauge, "Round trip of the last clock exchange with another collector.")
        for peer in peers {
            guard let nanoseconds = peer.roundTripNanoseconds else { continue }
            text.add(trip, [("collector", peer.collector)], Double(nanoseconds) / 1e9)
        }
        let age = "tributary_peer_clock_age_seconds"
        text.begin(age, .gauge, "Time since the last clock exchange with another collector.")
        for peer in peers {
            guard let seconds = peer.ageSeconds else { continue }
            text.add(age, [("collector", peer.collector)], seconds)
        }
    }
}
