import Media

/// Address of a camera's service: `http://HOST[:PORT]/PATH`.
package struct DeviceURL: Hashable, Sendable {
    /// Maximum length of a URL.
    package static let maximumBytes = 2_048
    private static let scheme = "http://"
    /// Where a device service is, unless the camera says otherwise (ONVIF Core Specification §5.1.1).
    private static let usualPath = "/onvif/device_service"

    /// A host name or an address; IPv6 without brackets.
    package let host: String
    package let port: UInt16
    /// Path and query with the leading slash.
    package let path: String

    private init(host: String, port: UInt16, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }

    package init(parsing text: String) throws(ONVIFError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw .invalidURL("the service's address is longer than \(Self.maximumBytes) bytes")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalidURL("the service's address has a blank or a character outside of ASCII")
        }
        guard text.prefix(Self.scheme.count).lowercased() == Self.scheme else {
            throw .invalidURL("the service's address does not begin with http://")
        }
        let rest = text.dropFirst(Self.scheme.count)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        (host, port) = try Self.place(rest[..<end])
        let tail = rest[end...].prefix { $0 != "#" }
        path = tail.hasPrefix("/") ? String(tail) : "/\(tail)"
    }

    /// The usual address of the device service of `HOST[:PORT]`.
    package init(deviceServiceOf place: String) throws(ONVIFError) {
        guard place.utf8.count <= Self.maximumBytes,
            place.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !place.contains("/")
        else { throw .invalidURL("a camera's address is HOST or HOST:PORT") }
        guard place.hasPrefix("[") || place.count(where: { $0 == ":" }) < 2 else {
            throw .invalidURL("an IPv6 address is in brackets: [ADDRESS] or [ADDRESS]:PORT")
        }
        (host, port) = try Self.place(place[...])
        path = Self.usualPath
    }

    private static func place(
        _ authority: Substring
    ) throws(ONVIFError) -> (host: String, port: UInt16) {
        guard !authority.contains("@") else {
            throw .invalidURL("the service's address has a user name or a password")
        }
        let host: Substring
        let rest: Substring
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else {
                throw .invalidURL("the IPv6 address has no closing bracket")
            }
            host = authority[..<close].dropFirst()
            rest = authority[authority.index(after: close)...]
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon]
            rest = authority[colon...]
        }
        guard !host.isEmpty else { throw .invalidURL("the service's address has no host") }
        guard !rest.isEmpty else { return (String(host), 80) }
        guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else {
            throw .invalidURL("the port must be from 1 to 65535")
        }
        return (String(host), port)
    }

    /// The URL of this service at another host.
    package func at(host: String) -> DeviceURL {
        DeviceURL(host: host, port: port, path: path)
    }

    /// Host and port, for `Host`.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 80 ? name : "\(name):\(port)"
    }

    package var text: String { "\(Self.scheme)\(authority)\(path)" }
}
