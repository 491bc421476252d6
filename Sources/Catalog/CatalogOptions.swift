import ArgumentParser
package import Terminal

/// Options of the catalog, for every program.
package struct CatalogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Catalog: \(CatalogReference.backends.map { $0.arguments }.joined(separator: ", or ")).",
            valueName: "sqlite|address"))
    package var catalog = SQLiteCatalogLocation.argument

    package init() {}

    /// Whether a database server was chosen; false for an invalid argument.
    package var isServer: Bool {
        do throws(UsageError) {
            return try forReading("").server != nil
        } catch {
            // `validate` reports it.
            return false
        }
    }

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
