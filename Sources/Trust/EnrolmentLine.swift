package import Messaging
import Terminal

/// Data for the enrolment of a box: the collector's address, its public key, and the secret half of a one-time key.
/// Collectors of a group have one public key, and a line has the addresses of all.
///
///     tcp://server:5550/<public key>/<token>
///     tcp://a:5550,tcp://b:5550/<public key>/<token>
///
/// One word without shell metacharacters. It is as secret as its token.
package struct EnrolmentLine: Hashable, Sendable {
    /// Far more than an address and two keys.
    package static let maximumBytes = 4_096
    private static let usualPort = 5_550
    /// Maximum number of collectors of a group.
    private static let maximumCollectors = 16

    /// The collectors' endpoints for agents, one or more.
    package let endpoints: [String]
    package let collectorKey: PublicKey
    /// The one-time key.
    package let token: SecretKey

    package init(endpoint: String, collectorKey: PublicKey, token: SecretKey) {
        self.init(endpoints: [endpoint], collectorKey: collectorKey, token: token)
    }

    package init(endpoints: [String], collectorKey: PublicKey, token: SecretKey) {
        precondition(!endpoints.isEmpty, "a line leads to a collector")
        self.endpoints = endpoints
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
        let endpoints = parts.dropLast(2).joined(separator: "/")
            .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard endpoints.count <= Self.maximumCollectors,
            endpoints.allSatisfy({ Endpoint.flaw($0) == nil })
        else { throw .notAnEnrolmentLine }
        self.endpoints = endpoints
        self.collectorKey = collectorKey
        do throws(MessagingError) {
            token = try SecretKey(secret)
        } catch {
            throw .keys("\(error)")
        }
    }

    /// The endpoints as `--collector` takes them.
    package var endpoint: String { endpoints.joined(separator: ",") }

    /// A line for each of the collectors.
    package var single: [EnrolmentLine] {
        endpoints.map {
            EnrolmentLine(endpoint: $0, collectorKey: collectorKey, token: token)
        }
    }

    /// The endpoints of a group's servers, from their addresses with commas between.
    /// - Throws: ``TrustError/notAServer(_:reason:)``.
    package static func endpoints(ofServers text: String) throws(TrustError) -> [String] {
        var endpoints: [String] = []
        for server in text.split(separator: ",", omittingEmptySubsequences: false) {
            let endpoint = try endpoint(ofServer: String(server))
            guard !endpoints.contains(endpoint) else {
                throw .notAServer(text, reason: "\(server) is given twice")
            }
            endpoints.append(endpoint)
        }
        guard endpoints.count <= maximumCollectors else {
            throw .notAServer(text, reason: "more than \(maximumCollectors) servers")
        }
        return endpoints
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
