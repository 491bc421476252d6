/// Where an archive's catalog is kept: what is there, found in milliseconds. A copy of what the files say, which are the truth: deleted,
/// it is made again, and is equal.
///
/// Any thread may call. Changes that are applied again change nothing.
package protocol CatalogStore: Sendable {
    /// What it is called in errors: a path, or an address.
    var name: String { get }

    /// Writes changes in one transaction: all of them, or none.
    /// - Throws: ``ArchiveError/isForLock`` where another program writes and has not finished in time.
    func apply(_ changes: [CatalogChange]) throws(ArchiveError)

    /// Sessions, oldest first; those that have something between two instants of UTC (nanoseconds since 1970), where they are given, with
    /// what they have in that time.
    func sessions(from: Int64?, until: Int64?) throws(ArchiveError) -> [CatalogListing]

    /// Files of a session, or of all; those that have something between two instants, where they are given.
    func segments(
        of session: String?, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [CatalogSegment]

    /// Files of a session that have not ended.
    func growingSegments(of session: String) throws(ArchiveError) -> [CatalogSegment]

    /// Names of the sessions that it has.
    func sessionNames() throws(ArchiveError) -> [String]

    /// Names of the sessions that it has, with the names of their files as "source/file".
    func files() throws(ArchiveError) -> [String: Set<String>]
}

extension CatalogStore {
    /// All sessions, oldest first.
    package func sessions() throws(ArchiveError) -> [CatalogListing] {
        try sessions(from: nil, until: nil)
    }

    /// All files of a session, or of all sessions.
    package func segments(of session: String? = nil) throws(ArchiveError) -> [CatalogSegment] {
        try segments(of: session, from: nil, until: nil)
    }
}

/// Where a catalog can be had.
package protocol CatalogPlace: Sendable {
    /// Opens the catalog, in order: one that is damaged is made again, empty.
    /// - Returns: the catalog, and one line when it had to be made again.
    func open() throws(ArchiveError) -> (catalog: any CatalogStore, complaint: String?)

    /// Takes it away: what is there is not believed.
    func remove() throws(ArchiveError)
}

/// An archive's own catalog, ``SQLiteCatalog``.
package struct SQLiteCatalogPlace: CatalogPlace {
    private let layout: ArchiveLayout

    package init(_ layout: ArchiveLayout) { self.layout = layout }

    package func open() throws(ArchiveError) -> (catalog: any CatalogStore, complaint: String?) {
        let (catalog, complaint) = try CatalogIndexing.openMended(layout)
        return (catalog, complaint)
    }

    package func remove() throws(ArchiveError) { try SQLiteCatalog.remove(layout) }
}
