/// Whether a collector does work that one collector of a site is to do.
package struct LeaseStatus: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        /// It does the work.
        case held
        /// It does so in less than a minute.
        case settling
        /// Another collector does the work.
        case taken
        /// The database has not answered lately: the work waits.
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
