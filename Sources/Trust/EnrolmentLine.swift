package import Messaging
import Terminal

/// What a box is given to enrol: where the collector is, its public key, and the secret half of a key that is good once.
///
///     tcp://server:5550/<public key>/<token>
///
/// One word, that a shell leaves as it is; it is as secret as the token in it.
package struct EnrolmentLine: Hashable, Sendable {
    /// Far more than an address and two keys.
    package static let maximumBytes = 4_096
    private static let usualPort = 5_550

    /// Where agents find the collector.
    package let endpoint: String
    package let collectorKey: PublicKey
    /// The one-time key.
    package let token: SecretKey

    package init(endpoint: String, collectorKey: PublicKey, token: SecretKey) {
        self.endpoint = endpoint
        self.collectorKey = collectorKey
        self.token = token
    }

    /// Reads what ``text()`` wrote.
    package init(_ text: String) throws(TrustError) {
        guard text.utf8.count <= Self.maximumBytes else { throw .notAnEnrolmentLine }
        var text = Substring(text)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        // From behind, because a path has slashes of its own.
        let parts = text.split(
            separator: "/", maxSplits: .max, omittingEmptySubsequences: false)
        guard parts.count >= 3,
            let key = KeyText.decode(String(parts[parts.count - 2]), .publicKey),
            var secret = KeyText.decode(String(parts[parts.count - 1]), .token),
            let collectorKey = PublicKey(key)
        else { throw .notAnEnrolmentLine }
        defer { wipe(&secret) }
        let endpoint = parts.dropLast(2).joined(separator: "/")
        guard Endpoint.flaw(endpoint) == nil else { throw .notAnEnrolmentLine }
        self.endpoint = endpoint
        self.collectorKey = collectorKey
        do throws(MessagingError) {
            token = try SecretKey(secret)
        } catch {
            throw .keys("\(error)")
        }
    }

    /// The line to paste. It holds a secret.
    package func text() -> String {
        let secret = token.withUnsafeBytes { Array($0) }
        return "\(endpoint)/\(collectorKey.text)/\(KeyText.encode(secret, .token))"
    }

    /// Where boxes find a server, as an endpoint: `server`, `server:5550` and `tcp://server:5550` are alike.
    /// - Throws: ``TrustError/notAServer(_:reason:)``.
    package static func endpoint(ofServer text: String) throws(TrustError) -> String {
        var endpoint = text
        if !text.contains("://") {
            // What is behind the last colon is a port, unless that is inside an IPv6 address.
            let isBareIPv6 = text.count(where: { $0 == ":" }) > 1 && !text.hasPrefix("[")
            let host = isBareIPv6 ? "[\(text)]" : text
            let hasPort =
                !isBareIPv6 && host.drop { $0 != "]" && host.hasPrefix("[") }.contains(":")
            endpoint = "tcp://\(host)" + (hasPort ? "" : ":\(usualPort)")
        }
        if let flaw = Endpoint.flaw(endpoint) { throw .notAServer(text, reason: flaw) }
        let address = endpoint.dropFirst("tcp://".count)
        if endpoint.hasPrefix("tcp://"),
            address.hasPrefix("0.0.0.0:") || address.hasPrefix("*:") || address.hasPrefix("[::]:")
                || address.hasSuffix(":*")
        {
            throw .notAServer(text, reason: "it is a listening address")
        }
        // It becomes one word of a line whose parts are set off by slashes.
        if endpoint.hasPrefix("tcp://"),
            address.contains(where: { $0.isWhitespace || "/'\"".contains($0) })
        {
            throw .notAServer(text, reason: "it contains invalid characters")
        }
        return endpoint
    }
}
