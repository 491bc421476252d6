/// The clock of another collector of the site, as one collector has measured it.
package struct SiteClock: Hashable, Sendable, Codable {
    /// The other collector's name.
    package var collector: String
    /// The identity of its archive.
    package var archive: String
    /// Maximum error of the difference of the two clocks, nanoseconds; nil: not measured.
    package var boundNanoseconds: Int64?
    /// Its rate relative to the measuring collector's, parts per 10⁹.
    package var skewPPB: Int64?
    /// Round trip of the last exchange.
    package var roundTripNanoseconds: Int64?
    /// Since the last exchange.
    package var ageSeconds: Double?
    /// Why it is not being measured, one line; nil: it is.
    package var trouble: String?

    package init(collector: String, archive: String) {
        self.collector = collector
        self.archive = archive
    }
}
