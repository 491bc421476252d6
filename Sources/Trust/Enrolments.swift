package import Messaging
package import Wire

// Boxes that are to come with a one-time key. Such a key has the place that the box's own will have: the file of its
// name. What exchanges the one for the other is one rename(2), so that every crash leaves one of them, whole.
extension KeyDirectory {
    /// Makes a one-time key that may be exchanged for a box's own.
    /// - Parameters:
    ///   - sources: nil: those that the name has, or else the source of its own name.
    ///   - expires: until when, seconds since 1970.
    /// - Returns: the secret half, which is kept nowhere here.
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

    /// Exchanges a one-time key for the key that a box has made for itself, durably.
    ///
    /// With the box's own key for a token nothing changes: it has been enrolled, and its answer was lost.
    /// - Parameters:
    ///   - token: what the box has proved to hold.
    ///   - now: seconds since 1970.
    /// - Throws: ``TrustError/notEnrollable(reason:)`` when the key is not one that may be exchanged (any more).
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
