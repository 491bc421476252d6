package import Messaging
package import Wire

// Boxes that will enrol with a one-time key. The one-time key is in the file that the box's own key will be in. One
// rename(2) exchanges them, so that a crash leaves exactly one of them, complete.
extension KeyDirectory {
    /// Creates a one-time key that may be exchanged for a box's own.
    /// - Parameters:
    ///   - sources: nil: the name's present sources, or else the source of its own name.
    ///   - expires: seconds since 1970.
    /// - Returns: the secret half, which is not stored here.
    package func enrol(
        name: String, sources: [SourcePattern]?, expires: Int64
    ) throws(TrustError) -> (authorization: Authorization, token: SecretKey) {
        let token: SecretKey
        do throws(MessagingError) {
            token = try .generate()
        } catch {
            throw .keys("\(error)")
        }
        let authorization = try authorize(
            name: name, key: token.publicKey, sources: sources, expires: expires)
        return (authorization, token)
    }

    /// Exchanges a one-time key for the key that a box has created for itself, durably.
    ///
    /// If the token is the box's own key, nothing changes: it is enrolled already, and the reply was lost.
    /// - Parameters:
    ///   - token: the key that the box has authenticated with.
    ///   - now: seconds since 1970.
    /// - Throws: ``TrustError/notEnrollable(reason:)`` when the key is not, or no longer, a one-time key.
    package func completeEnrolment(
        token: PublicKey, key: PublicKey, now: Int64
    ) throws(TrustError) -> Authorization {
        try withLock { () throws(TrustError) in
            let known = try agents().authorizations
            guard var found = known.first(where: { $0.key == token }) else {
                throw .notEnrollable(reason: "this line has already been used")
            }
            guard !found.isRevoked else { throw .notEnrollable(reason: "\(found.name) is revoked") }
            guard let expires = found.expires else {
                if key == token { return found }
                throw .notEnrollable(
                    reason: "\(found.name) is already enrolled, with the key of this connection")
            }
            guard now < expires else {
                throw .notEnrollable(reason: "the line for \(found.name) has expired")
            }
            if let other = known.first(where: { $0.key == key }) {
                throw .notEnrollable(
                    reason: other.isRevoked
                        ? "this box's key is revoked as \(other.name): remove \(agentPath(other.name)) first"
                        : "this box is already authorised as \(other.name)")
            }
            found.key = key
            found.expires = nil
            try save(found)
            return found
        }
    }
}
