/// Log-ins that have ended by logging out, until their cookies expire. A restart forgets them.
package struct RevokedSessions: Sendable {
    private struct Entry {
        var name: String
        /// Seconds since 1970: no cookie of the log-in is valid any more.
        var until: Int64
    }

    /// Maximum number of single entries: more log-outs than a site has in half a day.
    package static let maximumEntries = 10_000

    private let capacity: Int
    private var entries: [[UInt8]: Entry] = [:]
    /// By name: log-ins issued until this time are revoked, seconds since 1970. At most one per account.
    private var ended: [String: Int64] = [:]

    package init(capacity: Int = RevokedSessions.maximumEntries) { self.capacity = capacity }

    package var count: Int { entries.count }

    /// Revokes a log-in, with all its renewed cookies.
    ///
    /// If there are too many entries, all log-ins of the account with most of them are revoked: no account can restore or
    /// end another account's log-ins.
    /// - Parameter now: seconds since 1970.
    package mutating func revoke(_ session: LogInSession, now: Int64) {
        if entries.count >= capacity { forgetExpired(now: now) }
        if entries.count >= capacity { endCrowdedAccount(now: now) }
        // A cookie that was renewed a moment ago is valid for longer than this one.
        let latest = max(now, session.issuedAt)
        entries[session.nonce] = Entry(name: session.name, until: latest + LogInSession.lifeSeconds)
    }

    package func contains(_ session: LogInSession) -> Bool {
        if entries[session.nonce] != nil { return true }
        guard let last = ended[session.name] else { return false }
        return session.issuedAt <= last
    }

    private mutating func forgetExpired(now: Int64) {
        entries = entries.filter { $0.value.until > now }
        ended = ended.filter { $0.value + LogInSession.lifeSeconds > now }
    }

    private mutating func endCrowdedAccount(now: Int64) {
        var counts: [String: Int] = [:]
        for entry in entries.values { counts[entry.name, default: 0] += 1 }
        guard let crowded = counts.max(by: { $0.value < $1.value })?.key else { return }
        ended[crowded] = now
        entries = entries.filter { $0.value.name != crowded }
    }
}
