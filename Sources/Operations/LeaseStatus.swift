/// A collector's state of the lease on work that exactly one collector of a site does.
package struct LeaseStatus: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        /// It holds the lease, and does the work.
        case held
        /// It has been granted the lease, and starts the work within a minute.
        case settling
        /// Another collector holds the lease.
        case taken
        /// The database does not answer: the work is paused.
        case unknown
    }

    package var state: State
    /// Raised with each change of the holder.
    package var token: Int64?
    /// The other collector's name.
    package var holder: String?

    package init(state: State, token: Int64? = nil, holder: String? = nil) {
        self.state = state
        self.token = token
        self.holder = holder
    }

    /// In a few words.
    package var text: String {
        switch state {
        case .held: "done here"
        case .settling: "begins here"
        case .taken: "done by \(holder.flatMap { $0.isEmpty ? nil : $0 } ?? "another collector")"
        case .unknown: "waits for the database"
        }
    }
}
