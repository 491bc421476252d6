package import Archive
package import Terminal

/// An archive's own catalog, ``SQLiteCatalog``, in its directory.
package struct SQLiteCatalogLocation: CatalogBackend {
    static let argument = "sqlite"
    package static var arguments: String { "'\(argument)' (tributary.sqlite in the archive)" }
    package static var serverForm: String? { nil }

    private let layout: ArchiveLayout

    package init(_ layout: ArchiveLayout) { self.layout = layout }

    package static func reference(
        _ argument: String, isForWriting: Bool, _ program: String
    ) throws(UsageError) -> CatalogReference? { argument == Self.argument ? .own : nil }

    package var name: String { SQLiteCatalog.path(layout) }

    package func existing(isReadOnly: Bool) throws(ArchiveError) -> (any CatalogStore)? {
        isReadOnly ? try SQLiteCatalog.readUnchanged(layout) : try SQLiteCatalog.read(layout)
    }

    package func open() throws(ArchiveError) -> (catalog: any CatalogStore, complaint: String?) {
        let (catalog, complaint) = try SQLiteCatalog.openMended(layout)
        return (catalog, complaint)
    }

    package func rebuild() throws(ArchiveError) -> (
        catalog: any CatalogStore, summary: CatalogIndexing.Summary, complaint: String?
    ) {
        let (catalog, summary) = try SQLiteCatalog.rebuild(layout)
        return (catalog, summary, nil)
    }

    package func remove() throws(ArchiveError) { try SQLiteCatalog.remove(layout) }

    package func isElsewhere() throws(ArchiveError) -> Bool {
        try ArchiveIdentity.read(layout) != nil && !FileSystem.exists(name)
    }
}

extension SQLiteCatalog {
    /// Opens an archive's catalog; a damaged one, or another kind of file, is replaced with an empty one.
    /// - Returns: the catalog, and one line if it had to be replaced.
    package static func openMended(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> (catalog: SQLiteCatalog, complaint: String?) {
        do throws(ArchiveError) {
            let catalog = try open(layout)
            try catalog.checkWritable()
            try catalog.checkSessions(layout.sessionNames().count, isListed: false)
            guard let damage = try catalog.damage() else { return (catalog, nil) }
            throw .malformed(path: catalog.path, reason: "the catalog is damaged: \(damage)")
        } catch {
            guard error.isForContent else { throw error }
            let catalog = try create(layout) { _ throws(ArchiveError) in }.catalog
            return (catalog, "\(error); rebuilt from the files")
        }
    }

    /// Rebuilds an archive's own catalog in a new file, which then replaces the old one.
    package static func rebuild(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> (catalog: SQLiteCatalog, summary: CatalogIndexing.Summary) {
        let (catalog, summary) = try create(layout) { catalog throws(ArchiveError) in
            try CatalogIndexing.update(catalog, layout, everything: true)
        }
        // Labels that were changed during the rebuild are in the old catalog.
        var labels: [CatalogChange] = []
        for session in try catalog.sessionNames() {
            do throws(ArchiveError) {
                labels.append(try CatalogIndexing.labels(of: session, layout))
            } catch {
                // An unreadable file changes nothing, as when sessions are read.
                guard case .malformed = error else { throw error }
            }
        }
        try catalog.apply(labels)
        return (catalog, summary)
    }
}
