/// Where archives have their catalogs.
package enum CatalogReference: Sendable {
    /// Each in its own directory, ``SQLiteCatalog``.
    case sqlite
    /// Together on a server, ``PostgreSQLCatalog``.
    case postgreSQL(PostgreSQLDatabase)

    /// Where an archive's catalog is opened, created and removed.
    package func place(_ layout: ArchiveLayout) -> any CatalogPlace {
        switch self {
        case .sqlite: SQLiteCatalogPlace(layout)
        case .postgreSQL(let database): PostgreSQLCatalogPlace(database, layout)
        }
    }

    /// An archive's catalog, if it has one that is believed.
    package func existing(_ layout: ArchiveLayout) throws(ArchiveError) -> (any CatalogStore)? {
        switch self {
        case .sqlite: try SQLiteCatalog.read(layout)
        case .postgreSQL(let database): try PostgreSQLCatalogPlace(database, layout).existing()
        }
    }

    /// Whether it is on a server, which may be away while the files are here.
    package var isServer: Bool {
        switch self {
        case .sqlite: false
        case .postgreSQL: true
        }
    }
}
