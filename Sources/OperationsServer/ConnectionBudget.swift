/// Decides which HTTP connections stay open. A value: it receives events, and returns the connection to close.
///
/// A service manager restarts a collector whose probe is not answered. So a new connection is always accepted; in its
/// favour, the connection that has waited longest without a complete request is closed. A probe sends its request
/// immediately, so it is never that one.
package struct ConnectionBudget: Hashable, Sendable {
    private let limits: ConnectionLimits

    package init(_ limits: ConnectionLimits = .statusPages) {
        self.limits = limits
    }

    private enum Stage: Hashable {
        case new, asked, answered
    }

    private struct Entry: Hashable {
        var stage = Stage.new
        var since: Int64

        /// Whether no request is pending.
        var isWaiting: Bool { stage != .asked }

        /// The order in which connections are closed.
        var rank: (Int, Int64) { (isWaiting ? 0 : 1, since) }
    }

    private var entries: [Int: Entry] = [:]
    private var nextID = 0

    package var count: Int { entries.count }

    /// A connection was accepted.
    /// - Returns: its identifier, and the connection to close in its favour.
    package mutating func opened(now: Int64) -> (id: Int, displaced: Int?) {
        var displaced: Int?
        if entries.count >= limits.maximumConnections {
            displaced =
                entries.min { $0.value.rank < $1.value.rank }?.key
            if let displaced { entries.removeValue(forKey: displaced) }
        }
        nextID += 1
        entries[nextID] = Entry(since: now)
        return (nextID, displaced)
    }

    /// A complete header has arrived, or data after it. Data after a header does not extend the deadline.
    package mutating func asked(_ id: Int, now: Int64) {
        guard entries[id]?.stage != .asked else { return }
        turn(id, into: .asked, now: now)
    }

    /// A response, or a part of one, has been sent.
    package mutating func answered(_ id: Int, now: Int64) { turn(id, into: .answered, now: now) }

    package mutating func closed(_ id: Int) { entries.removeValue(forKey: id) }

    /// Whether a connection's deadline has passed; true for an unknown connection.
    package func isOverdue(_ id: Int, now: Int64) -> Bool {
        guard let entry = entries[id] else { return true }
        let patience =
            switch entry.stage {
            case .new: limits.headerNanoseconds
            case .asked: limits.answerNanoseconds
            case .answered: limits.idleNanoseconds
            }
        return now - entry.since >= patience
    }

    private mutating func turn(_ id: Int, into stage: Stage, now: Int64) {
        guard entries[id] != nil else { return }
        entries[id] = Entry(stage: stage, since: now)
    }
}

/// Limits of HTTP connections.
package struct ConnectionLimits: Hashable, Sendable {
    /// Each costs a descriptor and some kilobytes.
    package var maximumConnections: Int
    /// Timeout from accepting a connection to its first complete header.
    package var headerNanoseconds: Int64
    /// From a header to the first part of the response being sent, and from there to the next part.
    package var answerNanoseconds: Int64
    /// From a response to the next complete header.
    package var idleNanoseconds: Int64

    package init(
        maximumConnections: Int, headerNanoseconds: Int64, answerNanoseconds: Int64,
        idleNanoseconds: Int64
    ) {
        self.maximumConnections = maximumConnections
        self.headerNanoseconds = headerNanoseconds
        self.answerNanoseconds = answerNanoseconds
        self.idleNanoseconds = idleNanoseconds
    }

    /// A few scrapers and probes, and as many persistent connections. A header has a few hundred bytes, a response 200
    /// kB for 64 sources, and scrapers return within a minute.
    package static let statusPages = ConnectionLimits(
        maximumConnections: 128, headerNanoseconds: 5_000_000_000,
        answerNanoseconds: 15_000_000_000, idleNanoseconds: 60_000_000_000)
}
