import ArgumentParser
package import Terminal

/// Options of the catalog, for every program.
package struct CatalogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Catalog: 'sqlite' (tributary.sqlite in the archive), or postgresql://USER@HOST[,HOST]/DATABASE, which several \
            archives can share. The password comes from the file that PGPASSFILE or ?passfile=FILE names.
            """, valueName: "sqlite|address"))
    package var catalog = ownFile

    /// The catalog in the archive itself.
    private static let ownFile = "sqlite"

    package init() {}

    /// Whether a database server was chosen.
    package var isServer: Bool { catalog != Self.ownFile }

    package func validate() throws {
        do throws(UsageError) {
            _ = try reference(isForWriting: false, "")
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The catalog that was chosen, for a program that updates it.
    /// - Parameter program: its name, for the server.
    package func forWriting(_ program: String) throws(UsageError) -> CatalogReference {
        try reference(isForWriting: true, program)
    }

    /// The catalog that was chosen, for a program that only queries it.
    package func forReading(_ program: String) throws(UsageError) -> CatalogReference {
        try reference(isForWriting: false, program)
    }

    private func reference(
        isForWriting: Bool, _ program: String
    ) throws(UsageError) -> CatalogReference {
        for backend in CatalogReference.backends {
            if let reference = try backend.reference(
                catalog, isForWriting: isForWriting, program)
            {
                return reference
            }
        }
        // The argument is not repeated: it may have a password.
        throw UsageError(
            "--catalog is neither 'sqlite' nor an address: give postgresql://USER@HOST/DATABASE")
    }
}
