package import Archive
import PostgreSQL

/// The leases of a site in PostgreSQL.
package struct PostgreSQLLeaseRegister: LeaseRegister {
    private let database: PostgreSQLDatabase

    package init(_ database: PostgreSQLDatabase) { self.database = database }

    package func take(
        _ name: String, holder: String, label: String
    ) throws(ArchiveError) -> Lease.Answer {
        try database.use { connection throws(PostgreSQLError) in
            let taken = try connection.run(
                PostgreSQLStatements.leaseTaken,
                [name, holder, label, "\(Lease.termNanoseconds / 1_000_000)"])
            if let row = taken.rows.first { return .granted(token: try row.integer(0)) }
            let row = try connection.run(PostgreSQLStatements.lease, [name]).rows.first
            // It may have been removed in between.
            return .refused(
                holder: try row?.text(0) ?? "",
                remainingNanoseconds: Self.nanoseconds(ofMilliseconds: try row?.integer(1) ?? 0))
        }
    }

    /// A row may end in the year 294276: the database does not limit it.
    private static func nanoseconds(ofMilliseconds milliseconds: Int64) -> Int64 {
        let (nanoseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .max : nanoseconds
    }

    package func release(_ name: String, holder: String, token: Int64) throws(ArchiveError) {
        try database.use { connection throws(PostgreSQLError) in
            _ = try connection.run(
                PostgreSQLStatements.leaseReleased, [name, holder, "\(token)"])
        }
    }

    package func entries() throws(ArchiveError) -> [Lease.Entry] {
        try database.use { connection throws(PostgreSQLError) in
            var entries: [Lease.Entry] = []
            for row in try connection.run(PostgreSQLStatements.leases).rows {
                entries.append(
                    .init(
                        name: try row.text(0), holder: try row.text(1), token: try row.integer(2),
                        remainingSeconds: Double(try row.integer(3)) / 1e3))
            }
            return entries
        }
    }
}
