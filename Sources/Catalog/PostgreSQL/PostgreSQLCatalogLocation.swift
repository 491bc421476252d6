package import Archive
import Glibc
import PostgreSQL
package import Terminal

/// The location of an archive's catalog in a database.
///
/// A catalog is removed by marking it incomplete, which must succeed while the server is unavailable: a file in the
/// archive's directory is the mark, until the rows are removed.
package struct PostgreSQLCatalogLocation: CatalogBackend {
    package static let arguments = """
        postgresql://USER@HOST[,HOST]/DATABASE, which several archives can share. The password comes from the file that \
        PGPASSFILE or ?passfile=FILE names
        """
    package static let serverForm: String? = "postgresql://…"

    private let database: PostgreSQLDatabase
    private let layout: ArchiveLayout

    package init(_ database: PostgreSQLDatabase, _ layout: ArchiveLayout) {
        self.database = database
        self.layout = layout
    }

    package static func reference(
        _ argument: String, isForWriting: Bool, _ program: String
    ) throws(UsageError) -> CatalogReference? {
        do throws(PostgreSQLAddress.Flaw) {
            return .postgreSQL(
                PostgreSQLDatabase(
                    try PostgreSQLAddress(argument), for: isForWriting ? .writing : .reading,
                    program: program,
                    // Short for readers: a user waits for the result, and the files have the same data.
                    limits: isForWriting ? .init() : .init(answer: .seconds(8))))
        } catch {
            // The address is not repeated: it may have a password.
            guard error == .noAddress else { throw UsageError("the address in --catalog \(error)") }
            return nil
        }
    }

    package var name: String { database.name }

    /// While it exists, the rows on the server do not match the files.
    private var mark: String { "\(layout.root)/catalog.incomplete" }

    private func catalog(_ identity: ArchiveIdentity) -> PostgreSQLCatalog {
        PostgreSQLCatalog(database, identity, place: ArchiveIdentity.place(layout))
    }

    /// The archive's catalog if it has a complete one. Does not query the server.
    package func existing(isReadOnly: Bool) throws(ArchiveError) -> (any CatalogStore)? {
        guard !FileSystem.exists(mark) else { return nil }
        return try ArchiveIdentity.read(layout).map(catalog)
    }

    package func open() throws(ArchiveError) -> (catalog: any CatalogStore, complaint: String?) {
        let catalog = catalog(try ArchiveIdentity.make(layout))
        let registration = try catalog.register()
        var complaint: String?
        let place = ArchiveIdentity.place(layout)
        if registration.previousPlace != place {
            complaint =
                "\(database.name) knew this archive as \(registration.previousPlace); if that one still exists, one of "
                + "them is a copy: delete its archive.id"
        }
        if FileSystem.exists(mark) || !registration.isComplete {
            try catalog.setComplete(false)
            for session in try catalog.indexedSessionNames().sorted() {
                try catalog.apply([.sessionRemoved(session)])
            }
            try catalog.setComplete(true)
            try FileSystem.remove(mark, on: layout.disk)
            complaint = "\(database.name) is not up to date; it is filled again from the files"
        }
        // The SQLite catalog in the archive is not updated any more.
        try SQLiteCatalog.remove(layout)
        return (catalog, complaint)
    }

    package func rebuild() throws(ArchiveError) -> (
        catalog: any CatalogStore, summary: CatalogIndexing.Summary, complaint: String?
    ) {
        let (catalog, complaint) = try open()
        let summary = try CatalogIndexing.update(catalog, layout, everything: true)
        return (catalog, summary, complaint)
    }

    package func remove() throws(ArchiveError) {
        try FileSystem.replace(mark, with: [], on: layout.disk)
        guard let identity = try ArchiveIdentity.read(layout) else { return }
        do throws(ArchiveError) {
            try catalog(identity).setComplete(false)
        } catch {
            // The mark exists. The rows are removed when the catalog is opened again.
            guard case .system = error else { return }
            throw error
        }
    }
    /// The server was named.
    package func isElsewhere() throws(ArchiveError) -> Bool { false }
}

extension CatalogReference {
    /// ``PostgreSQLCatalog``.
    package static func postgreSQL(_ database: PostgreSQLDatabase) -> CatalogReference {
        CatalogReference(server: database) { PostgreSQLCatalogLocation(database, $0) }
    }
}
