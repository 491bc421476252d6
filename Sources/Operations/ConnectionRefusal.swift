import Media

/// The reason for refusing or closing a connection. The raw value is its name in metrics and in the status.
package enum ConnectionRefusal: String, CaseIterable, Hashable, Sendable {
    /// Its key is not authorised.
    case unknownKey = "unknown_key"
    case revokedKey = "revoked_key"
    /// Its one-time key for enrolment has expired.
    case expiredKey = "expired_key"
    /// Its key is authorised for something else: another source, watching, or writing.
    case notAllowed = "not_allowed"
    /// It has no keys, or has keys where none are used.
    case securityMismatch = "security_mismatch"
    /// It expects another collector's key.
    case wrongCollectorKey = "wrong_collector_key"
    /// It speaks another major version of the protocol.
    case version
    /// An invalid source name, or the same one twice.
    case sourceName = "source_name"
    /// Another connected agent sends the source.
    case sourceInUse = "source_in_use"
    /// A value or an amount above a limit of the protocol.
    case limit
    /// It has exceeded a budget, or a limit of agents or sources is reached: it retries later.
    case throttled
    /// It sent an invalid message, or one out of order.
    case malformed
    /// It cannot be enrolled.
    case enrolment
    /// It was silent for too long.
    case silent
    /// Too many connections are open.
    case tooMany = "too_many"
    /// It was closed before a valid message of an agent.
    case brokenOff = "broken_off"
    /// It sent too much: an endless message, or clock probes.
    case flood
}

/// Counts of refusals in words: for logs and screens.
package enum RefusalText {
    /// The most frequent first: `revoked key 60, version 11`.
    /// - Parameter most: maximum number of reasons; further ones are counted. Nil: all.
    package static func list(
        _ counts: some Sequence<(reason: String, count: UInt64)>, most: Int? = nil
    ) -> String {
        let sorted = counts.filter { $0.count > 0 }.sorted {
            ($0.count, $1.reason) > ($1.count, $0.reason)
        }
        let shown = sorted.prefix(most ?? sorted.count)
        var parts = shown.map { "\($0.reason.replacing("_", with: " ")) \($0.count)" }
        if sorted.count > shown.count { parts.append("+\(sorted.count - shown.count)") }
        return parts.joined(separator: ", ")
    }

    /// For the log: `refused 71 connections: revoked key 60, version 11`; nil: none.
    package static func line(_ counts: [ConnectionRefusal: UInt64]) -> String? {
        let total = counts.values.reduce(UInt64(0)) { $0.clampedAdding($1) }
        guard total > 0 else { return nil }
        let list = list(counts.map { (reason: $0.key.rawValue, count: $0.value) })
        return "refused \(total == 1 ? "1 connection" : "\(total) connections"): \(list)"
    }
}
