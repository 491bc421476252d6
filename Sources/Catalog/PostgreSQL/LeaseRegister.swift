package import Archive
import PostgreSQL

/// The leases of a site, in the database that its collectors share: one row each.
package struct LeaseRegister: Sendable {
    /// A lease's row in the database.
    package struct Entry: Hashable, Sendable {
        /// Name of the work and of its object.
        package var name: String
        /// The holder's display name.
        package var holder: String
        package var token: Int64
        /// Until its end, by the server's clock; 0: it is free.
        package var remainingSeconds: Double

        package init(name: String, holder: String, token: Int64, remainingSeconds: Double) {
            self.name = name
            self.holder = holder
            self.token = token
            self.remainingSeconds = remainingSeconds
        }
    }

    private let database: PostgreSQLDatabase

    package init(_ database: PostgreSQLDatabase) { self.database = database }

    /// Acquires a free lease, or renews it.
    /// - Parameters:
    ///   - holder: different for each process.
    /// - label: its display name.
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

    /// Ends a lease before its time, if the process still has it.
    package func release(_ name: String, holder: String, token: Int64) throws(ArchiveError) {
        try database.use { connection throws(PostgreSQLError) in
            _ = try connection.run(
                PostgreSQLStatements.leaseReleased, [name, holder, "\(token)"])
        }
    }

    /// All leases, by name.
    package func entries() throws(ArchiveError) -> [Entry] {
        try database.use { connection throws(PostgreSQLError) in
            var entries: [Entry] = []
            for row in try connection.run(PostgreSQLStatements.leases).rows {
                entries.append(
                    Entry(
                        name: try row.text(0), holder: try row.text(1), token: try row.integer(2),
                        remainingSeconds: Double(try row.integer(3)) / 1e3))
            }
            return entries
        }
    }
}
