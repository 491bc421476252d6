package import Archive

/// The catalog that the option `--catalog` names: a backend, and its server if it has one.
package struct CatalogReference: Sendable {
    /// All backends: each is a folder of this module.
    static let backends: [any CatalogBackend.Type] = [
        SQLiteCatalogLocation.self, PostgreSQLCatalogLocation.self,
    ]

    /// Form of the address of a database server, for help and errors: `postgresql://…`.
    package static let serverForm = backends.compactMap { $0.serverForm }
        .joined(separator: " or ")

    /// Every archive's catalog in its own directory: the default.
    package static let own = CatalogReference(server: nil) { SQLiteCatalogLocation($0) }

    /// The server, which may be unavailable independently of the files; nil: every archive has its catalog in its own
    /// directory.
    package let server: (any CatalogServer)?
    private let placeOf: @Sendable (ArchiveLayout) -> any CatalogBackend

    init(
        server: (any CatalogServer)?,
        place: @escaping @Sendable (ArchiveLayout) -> any CatalogBackend
    ) {
        self.server = server
        placeOf = place
    }

    /// An archive's catalog, where it is opened, created and removed.
    package func place(_ layout: ArchiveLayout) -> any CatalogBackend { placeOf(layout) }
}

/// A database server with the catalogs of several archives, and with the data that the collectors of a site share: their register
/// and leases.
package protocol CatalogServer: Sendable {
    /// Its address in messages.
    var name: String { get }
    var register: any SiteRegister { get }
    var leases: any LeaseRegister { get }

    /// Creates or migrates the tables, if necessary.
    func prepare() throws(ArchiveError)

    /// Whether to log again that it cannot be used.
    func isComplaintDue() -> Bool

    /// Something was changed: answers of before are not given again.
    func forgetAnswers()

    /// Stops waits for it, when the program ends.
    func end()
}
