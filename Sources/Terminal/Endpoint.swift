/// Validation of ZeroMQ endpoints in options.
package enum Endpoint {
    /// Whether only this machine can reach the endpoint.
    package static func isLocal(_ endpoint: String) -> Bool {
        if endpoint.hasPrefix("ipc://") || endpoint.hasPrefix("inproc://") { return true }
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else {
            return false
        }
        let host = endpoint[endpoint.index(endpoint.startIndex, offsetBy: 6)..<colon]
        return host == "localhost" || host == "[::1]" || host == "lo" || isLoopbackIPv4(host)
    }

    /// The error in an endpoint, in one line; nil if it is valid.
    package static func flaw(_ endpoint: String) -> String? {
        let advice = "write tcp://ADDRESS:PORT or ipc://PATH"
        if endpoint.hasPrefix("ipc://") {
            return endpoint.utf8.count > 6 ? nil : "'\(endpoint)' has no path: \(advice)"
        }
        guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else {
            return "'\(endpoint)' is not an endpoint: \(advice)"
        }
        let port = endpoint[endpoint.index(after: colon)...]
        // Without a port, the last colon is that of "tcp://", or inside of an IPv6 address.
        guard endpoint.distance(from: endpoint.startIndex, to: colon) > 6, !port.contains("]")
        else {
            return "'\(endpoint)' has no address and port: \(advice)"
        }
        guard port == "*" || UInt16(port).map({ $0 > 0 }) == true else {
            return "'\(endpoint)': the port must be 1–65535, not '\(port)'"
        }
        return nil
    }

    /// 127.0.0.0/8 in full: `127.evil.example` is an ordinary name.
    private static func isLoopbackIPv4(_ host: Substring) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { (1...3).contains($0.utf8.count) && UInt8($0) != nil }
    }
}
