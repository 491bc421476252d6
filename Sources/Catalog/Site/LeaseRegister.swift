package import Archive

/// The leases of a site, in the database that its collectors share: one row each. Calls block, each for a bounded time.
package protocol LeaseRegister: Sendable {
    /// Acquires a free lease, or renews it.
    /// - Parameters:
    ///   - holder: different for each process.
    ///   - label: its display name.
    func take(_ name: String, holder: String, label: String) throws(ArchiveError) -> Lease.Answer

    /// Ends a lease before its time, if the process still has it.
    func release(_ name: String, holder: String, token: Int64) throws(ArchiveError)

    /// All leases, by name.
    func entries() throws(ArchiveError) -> [Lease.Entry]
}

extension Lease {
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
}
