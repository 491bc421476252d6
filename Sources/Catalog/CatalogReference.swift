package import Archive

/// The kind of catalog of an archive.
package enum CatalogReference: Sendable {
    /// In its own directory, ``SQLiteCatalog``.
    case sqlite
    /// On a shared server, ``PostgreSQLCatalog``.
    case postgreSQL(PostgreSQLDatabase)

    /// The location of an archive's catalog, where it is opened, created and removed.
    package func place(_ layout: ArchiveLayout) -> any CatalogPlace {
        switch self {
        case .sqlite: SQLiteCatalogPlace(layout)
        case .postgreSQL(let database): PostgreSQLCatalogPlace(database, layout)
        }
    }

    /// An archive's catalog, if it has a complete one.
    package func existing(_ layout: ArchiveLayout) throws(ArchiveError) -> (any CatalogStore)? {
        switch self {
        case .sqlite: try SQLiteCatalog.read(layout)
        case .postgreSQL(let database): try PostgreSQLCatalogPlace(database, layout).existing()
        }
    }

    /// Reads all files of an archive into its catalog. A SQLite catalog is created again, whatever the old one was.
    /// - Returns: the catalog, a summary, and one line if rows of a server had to be replaced.
    package func rebuild(
        _ layout: ArchiveLayout
    ) throws(ArchiveError) -> (
        catalog: any CatalogStore, summary: CatalogIndexing.Summary, complaint: String?
    ) {
        switch self {
        case .sqlite:
            let (catalog, summary) = try CatalogIndexing.rebuild(layout)
            return (catalog, summary, nil)
        case .postgreSQL(let database):
            let (catalog, complaint) = try PostgreSQLCatalogPlace(database, layout).open()
            let summary = try CatalogIndexing.update(catalog, layout, everything: true)
            return (catalog, summary, complaint)
        }
    }

    /// Stops waits for a server, when the program ends.
    package func end() {
        switch self {
        case .sqlite: break
        case .postgreSQL(let database): database.end()
        }
    }

    /// Whether it is on a server, which may be unavailable independently of the files.
    package var isServer: Bool {
        switch self {
        case .sqlite: false
        case .postgreSQL: true
        }
    }
}
