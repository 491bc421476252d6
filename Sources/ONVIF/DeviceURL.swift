import Media
import RTSP

/// Address of a camera's service: `http://HOST[:PORT]/PATH`, or `https://`.
package struct DeviceURL: Hashable, Sendable {
    /// Maximum length of a URL.
    package static let maximumBytes = 2_048
    private static let plainScheme = "http://"
    private static let secureScheme = "https://"
    private static let plainPort: UInt16 = 80
    private static let securePort: UInt16 = 443
    /// Default path of the device service (ONVIF Core Specification §5.1.1).
    private static let usualPath = "/onvif/device_service"

    /// HTTP over TLS.
    package let isSecure: Bool
    /// A host name or an address; IPv6 without brackets, with its zone (`fe80::1%eth0`).
    package let host: String
    package let port: UInt16
    /// Path and query with the leading slash.
    package let path: String

    private init(isSecure: Bool, host: String, port: UInt16, path: String) {
        self.isSecure = isSecure
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
        guard let scheme = Self.scheme(of: text) else {
            throw .invalidURL("the service's address does not begin with http:// or https://")
        }
        isSecure = scheme == Self.secureScheme
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        (host, port) = try Self.place(
            rest[..<end], usual: isSecure ? Self.securePort : Self.plainPort)
        let tail = rest[end...].prefix { $0 != "#" }
        path = tail.hasPrefix("/") ? String(tail) : "/\(tail)"
    }

    /// The lower-case scheme of a URL; nil if it is not one of a service.
    private static func scheme(of text: String) -> String? {
        let start = text.prefix(secureScheme.count).lowercased()
        return [plainScheme, secureScheme].first { start.hasPrefix($0) }
    }

    /// The usual address of the device service of `HOST[:PORT]`, by HTTP, or of `https://HOST[:PORT]`.
    package init(deviceServiceOf place: String) throws(ONVIFError) {
        let scheme = Self.scheme(of: place)
        isSecure = scheme == Self.secureScheme
        let authority = place.dropFirst(scheme?.count ?? 0)
        guard place.utf8.count <= Self.maximumBytes,
            place.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !authority.contains("/")
        else {
            throw .invalidURL("a camera's address is HOST, HOST:PORT or https://HOST[:PORT]")
        }
        guard authority.hasPrefix("[") || authority.count(where: { $0 == ":" }) < 2 else {
            throw .invalidURL("an IPv6 address is in brackets: [ADDRESS] or [ADDRESS]:PORT")
        }
        (host, port) = try Self.place(
            authority, usual: isSecure ? Self.securePort : Self.plainPort)
        path = Self.usualPath
    }

    private static func place(
        _ authority: Substring, usual: UInt16
    ) throws(ONVIFError) -> (host: String, port: UInt16) {
        guard !authority.contains("@") else {
            throw .invalidURL("the service's address has a user name or a password")
        }
        let host: String
        let rest: Substring
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else {
                throw .invalidURL("the IPv6 address has no closing bracket")
            }
            host = URLHost.parse(bracketed: authority[..<close].dropFirst())
            rest = authority[authority.index(after: close)...]
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = String(authority[..<colon])
            rest = authority[colon...]
        }
        guard !host.isEmpty else { throw .invalidURL("the service's address has no host") }
        guard !rest.isEmpty else { return (host, usual) }
        guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else {
            throw .invalidURL("the port must be from 1 to 65535")
        }
        return (host, port)
    }

    /// The URL of this service at another host.
    package func at(host: String) -> DeviceURL {
        DeviceURL(isSecure: isSecure, host: host, port: port, path: path)
    }

    /// This service's URL, with the host of the device service. If only the device service uses TLS, its scheme and port
    /// are kept: no answer can move a login to plain HTTP.
    func beside(_ service: DeviceURL) -> DeviceURL {
        guard service.isSecure, !isSecure else { return at(host: service.host) }
        return DeviceURL(isSecure: true, host: service.host, port: service.port, path: path)
    }

    /// Host and port, for `Host`.
    var authority: String { authority(URLHost.requestText(host)) }

    private func authority(_ name: String) -> String {
        port == (isSecure ? Self.securePort : Self.plainPort) ? name : "\(name):\(port)"
    }

    package var text: String {
        "\(isSecure ? Self.secureScheme : Self.plainScheme)\(authority(URLHost.text(host)))\(path)"
    }
}
