import ArgumentParser
import PostgreSQL
package import Terminal

/// Options of the catalog, for every program.
package struct CatalogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Catalog: 'sqlite' (tributary.sqlite in the archive), or postgresql://USER@HOST[,HOST]/DATABASE, which several \
            archives can share. The password comes from the file that PGPASSFILE or ?passfile=FILE names.
            """, valueName: "sqlite|address"))
    package var catalog = "sqlite"

    package init() {}

    package func validate() throws {
        guard catalog != "sqlite" else { return }
        do throws(PostgreSQLAddress.Flaw) {
            _ = try PostgreSQLAddress(catalog)
        } catch {
            // The address is not repeated: it may have a password.
            throw ValidationError(
                error == .noAddress
                    ? "--catalog is neither 'sqlite' nor an address: \(error)"
                    : "the address in --catalog \(error)")
        }
    }

    /// The catalog that was chosen, for a program that updates it.
    /// - Parameter program: its name, for the server.
    package func forWriting(_ program: String) throws(UsageError) -> CatalogReference {
        try reference(for: .writing, program)
    }

    /// The same for a program that only queries it.
    package func forReading(_ program: String) throws(UsageError) -> CatalogReference {
        try reference(for: .reading, program)
    }

    private func reference(
        for role: PostgreSQLConnection.Role, _ program: String
    ) throws(UsageError) -> CatalogReference {
        guard catalog != "sqlite" else { return .sqlite }
        do throws(PostgreSQLAddress.Flaw) {
            return .postgreSQL(
                PostgreSQLDatabase(
                    try PostgreSQLAddress(catalog), for: role, program: program,
                    // A reader is waiting, and the files say the same.
                    limits: role == .reading ? .init(answer: .seconds(8)) : .init()))
        } catch {
            throw UsageError("the address in --catalog \(error)")
        }
    }
}
