package import Messaging
import Terminal

/// What a box needs to enrol: the collector's address, its public key, and the secret half of a one-time key.
///
///     tcp://server:5550/<public key>/<token>
///
/// One word without shell metacharacters. It is as secret as its token.
package struct EnrolmentLine: Hashable, Sendable {
    /// Far more than an address and two keys.
    package static let maximumBytes = 4_096
    private static let usualPort = 5_550

    /// The collector's endpoint for agents.
    package let endpoint: String
    package let collectorKey: PublicKey
    /// The one-time key.
    package let token: SecretKey

    package init(endpoint: String, collectorKey: PublicKey, token: SecretKey) {
        self.endpoint = endpoint
        self.collectorKey = collectorKey
        self.token = token
    }

    /// Parses the output of ``text()``.
    package init(_ text: String) throws(TrustError) {
        guard text.utf8.count <= Self.maximumBytes else { throw .notAnEnrolmentLine }
        var text = Substring(text)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        // From the end, because a path may contain slashes.
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

    /// The line to paste. It contains a secret.
    package func text() -> String {
        let secret = token.withUnsafeBytes { Array($0) }
        return "\(endpoint)/\(collectorKey.text)/\(KeyText.encode(secret, .token))"
    }

    /// A server's endpoint for boxes, from `server`, `server:5550` or `tcp://server:5550`.
    /// - Throws: ``TrustError/notAServer(_:reason:)``.
    package static func endpoint(ofServer text: String) throws(TrustError) -> String {
        var endpoint = text
        if !text.contains("://") {
            // Text after the last colon is a port, except inside an IPv6 address.
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
        // The endpoint becomes a slash-separated part of one word.
        if endpoint.hasPrefix("tcp://"),
            address.contains(where: { $0.isWhitespace || "/'\"".contains($0) })
        {
            throw .notAServer(text, reason: "it contains invalid characters")
        }
        return endpoint
    }
}
