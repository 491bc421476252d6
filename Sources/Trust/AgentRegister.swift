package import Messaging

/// Which agents may connect, and what they may write: a value that answers questions.
package struct AgentRegister: Hashable, Sendable {
    /// What a key is to this collector.
    package enum Standing: Hashable, Sendable {
        case authorized(Authorization)
        case revoked(name: String)
        case unknown
    }

    private var byKey: [PublicKey: Authorization] = [:]

    package init(_ authorizations: [Authorization] = []) {
        for authorization in authorizations { add(authorization) }
    }

    /// A key that is there twice counts as what takes more away: what one file revokes, another does not give back.
    private mutating func add(_ authorization: Authorization) {
        if let other = byKey[authorization.key], other.isRevoked { return }
        byKey[authorization.key] = authorization
    }

    package func standing(of key: PublicKey) -> Standing {
        guard let found = byKey[key] else { return .unknown }
        return found.isRevoked ? .revoked(name: found.name) : .authorized(found)
    }

    /// How many may connect.
    package var authorizedCount: Int { byKey.values.count { !$0.isRevoked } }
}
