package import Archive

/// The collectors of a site and its sessions, in the catalog that they share: one row for each archive, which its
/// collector rewrites with every report; one row for each session, which the first collector inserts.
///
/// If a promoted standby lacks rows, the next report restores a collector's row, and the next proposal a session's row.
/// Calls block, each for a bounded time.
package protocol SiteRegister: Sendable {
    /// Whether the server answers.
    func isReachable() -> Bool

    /// Writes a collector's report.
    /// - Parameters:
    ///   - holdings: its durable records, by spool.
    ///   - recording: the site's session that it records, on this machine's monotonic clock; nil: none.
    ///   - run: identifies the process: its first report begins a run.
    func publish(
        _ report: SiteReport, _ holdings: [SiteHolding], recording: SiteProposal?,
        of identity: ArchiveIdentity, run: String
    ) throws(ArchiveError) -> SiteReport.Echo

    /// Inserts the row of a session, or reads the one that applies (``SiteSessionRows``). Asked again, it gives the same
    /// answer.
    func agree(
        _ proposal: SiteProposal, of identity: ArchiveIdentity
    ) throws(ArchiveError) -> SiteAgreement

    /// The collectors that other collectors' sources are connected to, as far as they have reported within the last
    /// ``SiteCollector/silenceSeconds``: of each source one.
    /// - Parameters:
    ///   - sources: the ones in question.
    ///   - identity: of the archive whose collector is left out.
    func places(
        of sources: Set<String>, besides identity: ArchiveIdentity
    ) throws(ArchiveError) -> [String: String]

    /// All collectors, by name.
    func collectors() throws(ArchiveError) -> [SiteCollector]

    /// The other collectors that have reported within the last ``SiteCollector/peerSeconds``, by name, without their
    /// holdings.
    func peers(of identity: ArchiveIdentity) throws(ArchiveError) -> [SiteCollector]

    /// All collectors, by name, without their holdings.
    func reports() throws(ArchiveError) -> [SiteCollector]
}

extension SiteReport {
    /// The result of a report.
    package struct Echo: Hashable, Sendable {
        /// Recent reports of other collectors with the same name.
        package var namesakes: [SiteReport]
        /// Whether the session that is being recorded is the site's; true if none is.
        package var isAgreed: Bool

        package init(namesakes: [SiteReport], isAgreed: Bool) {
            self.namesakes = namesakes
            self.isAgreed = isAgreed
        }
    }
}
