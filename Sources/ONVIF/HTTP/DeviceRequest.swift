/// A request over HTTP/1.1, alone on its connection.
package struct DeviceRequest: Hashable, Sendable {
    /// Where to connect to.
    package let url: DeviceURL
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - action: the operation, for the media type (RFC 3902 §2).
    ///   - authorization: the header's value; nil: without.
    ///   - agent: `User-Agent`.
    init(_ url: DeviceURL, action: String, authorization: String?, agent: String, body: String) {
        self.url = url
        var lines = [
            "POST \(url.path) HTTP/1.1", "Host: \(url.authority)", "User-Agent: \(agent)",
            "Content-Type: application/soap+xml; charset=utf-8; action=\"\(action)\"",
            "Content-Length: \(body.utf8.count)", "Connection: close",
        ]
        if let authorization { lines.append("Authorization: \(authorization)") }
        bytes = Array(lines.map { "\($0)\r\n" }.joined().utf8) + [0x0D, 0x0A] + Array(body.utf8)
    }
}
