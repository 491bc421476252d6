import Archive
import Catalog

/// Publishes a collector's report to the other collectors of its site.
protocol SiteReporting: Sendable {
    /// Blocks until the report is written, for a bounded time.
    /// - Returns: reports of other collectors with the same name.
    func publish(
        _ report: SiteReport, _ holdings: [SiteHolding]
    ) throws(ArchiveError) -> [SiteReport]
}

/// Reports in the catalog that the collectors of a site share.
struct CatalogSiteReporting: SiteReporting {
    private let register: SiteRegister
    private let layout: ArchiveLayout
    /// Identifies this run of the collector.
    private let run: String

    init(_ database: PostgreSQLDatabase, _ layout: ArchiveLayout) {
        register = SiteRegister(database)
        self.layout = layout
        var random = SystemRandomNumberGenerator()
        run = String(random.next(), radix: 16)
    }

    func publish(
        _ report: SiteReport, _ holdings: [SiteHolding]
    ) throws(ArchiveError) -> [SiteReport] {
        // The catalog's thread makes it, before it asks the server anything.
        guard let identity = try ArchiveIdentity.read(layout) else {
            throw .unavailable(place: layout.root, reason: "the archive has no identity yet")
        }
        return try register.publish(report, holdings, of: identity, run: run)
    }
}
