package import Messaging

/// The authorised keys and their rights. A value.
package struct AgentRegister: Hashable, Sendable {
    /// The status of a key.
    package enum Standing: Hashable, Sendable {
        case authorized(Authorization)
        /// A one-time key, to be exchanged for a box's own.
        case enrolling(Authorization)
        /// An expired one-time key.
        case expired(name: String)
        case revoked(name: String)
        case unknown
    }

    private var byKey: [PublicKey: Authorization] = [:]

    package init(_ authorizations: [Authorization] = []) {
        for authorization in authorizations { add(authorization) }
    }

    /// Adds an authorisation. If two files have the same key, a revocation takes precedence.
    private mutating func add(_ authorization: Authorization) {
        if let other = byKey[authorization.key], other.isRevoked { return }
        byKey[authorization.key] = authorization
    }

    /// A copy with the authorisations from `others` whose keys are not in it yet.
    package func admitting(_ others: [Authorization]) -> AgentRegister {
        var register = self
        for other in others where byKey[other.key] == nil { register.byKey[other.key] = other }
        return register
    }

    /// - Parameter now: seconds since 1970.
    package func standing(of key: PublicKey, now: Int64) -> Standing {
        guard let found = byKey[key] else { return .unknown }
        if found.isRevoked { return .revoked(name: found.name) }
        guard let expires = found.expires else { return .authorized(found) }
        return now < expires ? .enrolling(found) : .expired(name: found.name)
    }

    /// Whether a key may receive the feed. A one-time key may not, whatever its successor may.
    package func mayWatch(_ key: PublicKey, now: Int64) -> Bool {
        guard case .authorized(let found) = standing(of: key, now: now) else { return false }
        return found.mayWatch
    }

    /// Number of keys that may send.
    package var authorizedCount: Int {
        byKey.values.count { !$0.isRevoked && $0.expires == nil && !$0.isViewer }
    }

    /// Number of keys that may receive the feed.
    package var watchingCount: Int {
        byKey.values.count { !$0.isRevoked && $0.expires == nil && $0.mayWatch }
    }
}
