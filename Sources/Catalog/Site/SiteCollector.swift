/// A collector's row in the shared catalog.
package struct SiteCollector: Hashable, Sendable {
    /// Time without a report after which a collector is silent: it has ended, or cannot reach the server.
    package static let silenceSeconds = 20.0
    /// Time without a report after which a collector is no longer listed for the others. It is longer, because a collector that
    /// cannot reach the server may still be reachable for them.
    package static let peerSeconds = 3_600.0

    /// The identity of its archive.
    package var archive: String
    package var name: String
    /// Age of its last report, by the server's clock; infinite: unknown, because the server has not answered.
    package var heardSeconds: Double
    /// Age of the first report of its present run, by the server's clock.
    package var runningSeconds: Double
    /// Nil: it is of a version whose reports cannot be read.
    package var report: SiteReport?
    /// Its durable records, by spool.
    package var holdings: [SiteHolding]

    package init(
        archive: String, name: String, heardSeconds: Double, runningSeconds: Double,
        report: SiteReport?, holdings: [SiteHolding] = []
    ) {
        self.archive = archive
        self.name = name
        self.heardSeconds = heardSeconds
        self.runningSeconds = runningSeconds
        self.report = report
        self.holdings = holdings
    }
}
