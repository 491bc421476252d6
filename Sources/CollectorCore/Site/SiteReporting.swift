import Archive
import Catalog

/// Publishes a collector's report to the other collectors of its site.
protocol SiteReporting: Sendable {
    /// Whether it answers; blocks for a bounded time.
    func isReachable() -> Bool

    /// Blocks until the report is written, for a bounded time.
    /// - Parameter recording: the site's session that is being recorded.
    func publish(
        _ report: SiteReport, _ holdings: [SiteHolding], recording: SiteProposal?
    ) throws(ArchiveError) -> SiteReport.Echo

    /// Blocks until a session is agreed on, for a bounded time.
    func agree(_ proposal: SiteProposal) throws(ArchiveError) -> SiteAgreement

    /// The other collectors, without their holdings. Blocks as well.
    func peers() throws(ArchiveError) -> [SiteCollector]

    /// Blocks until the site has answered, for a bounded time.
    /// - Returns: the other collectors that these sources are connected to.
    func places(of sources: Set<String>) throws(ArchiveError) -> [String: String]
}

/// Reports in the catalog that the collectors of a site share.
struct CatalogSiteReporting: SiteReporting {
    private let register: any SiteRegister
    private let layout: ArchiveLayout
    /// Identifies this run of the collector.
    private let run: String

    init(_ register: any SiteRegister, _ layout: ArchiveLayout) {
        self.register = register
        self.layout = layout
        var random = SystemRandomNumberGenerator()
        run = String(random.next(), radix: 16)
    }

    func isReachable() -> Bool { register.isReachable() }

    func publish(
        _ report: SiteReport, _ holdings: [SiteHolding], recording: SiteProposal?
    ) throws(ArchiveError) -> SiteReport.Echo {
        try register.publish(
            report, holdings, recording: recording, of: identity(), run: run)
    }

    func agree(_ proposal: SiteProposal) throws(ArchiveError) -> SiteAgreement {
        try register.agree(proposal, of: identity())
    }

    func peers() throws(ArchiveError) -> [SiteCollector] {
        try register.peers(of: try identity())
    }

    func places(of sources: Set<String>) throws(ArchiveError) -> [String: String] {
        try register.places(of: sources, besides: try identity())
    }

    private func identity() throws(ArchiveError) -> ArchiveIdentity {
        // The catalog's thread makes it, before it asks the server anything.
        guard let identity = try ArchiveIdentity.read(layout) else {
            throw .unavailable(place: layout.root, reason: "the archive has no identity yet")
        }
        return identity
    }
}
