/// The URL of a streaming server, which may contain a password or a stream key: `srt://`, `udp://`, `rtmp://` or `rtsp://`.
package struct StreamAddress: Hashable, Sendable {
    /// The scheme is in lower case, as libavformat requires.
    package let url: String
    package let format: ContainerFormat
    /// Equal for spellings of one destination: the host in lower case, and the port also where it is the scheme's default.
    package let canonical: String

    private static let schemes: Set = ["srt", "rtmp", "rtmps", "rtsp", "rtsps", "udp"]
    /// Schemes without one need a port.
    private static let defaultPorts: [String: UInt16] = [
        "rtmp": 1_935, "rtmps": 443, "rtsp": 554, "rtsps": 322,
    ]

    /// - Parameter text: the URL. User, host and port are found as libavformat does (`av_url_split`).
    /// - Throws: if no connection to it is possible.
    package init(parsing text: String) throws(StreamAddressError) {
        guard let mark = text.firstRange(of: "://") else { throw .noStream }
        let scheme = text[..<mark.lowerBound].lowercased()
        guard Self.schemes.contains(scheme), let format = ContainerFormat(url: "\(scheme)://")
        else { throw .noStream }
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] }
        let (host, port) = Self.split(place ?? authority)
        // A listener may have no host: it accepts connections at all addresses.
        let listens =
            scheme == "srt"
            && rest.drop { $0 != "?" }.dropFirst().split(separator: "&").contains("mode=listener")
        guard !host.isEmpty || listens else { throw .noHost(scheme: scheme) }
        let number: UInt16
        if let port {
            guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let stated = UInt16(port),
                stated > 0
            else { throw .badPort(scheme: scheme) }
            number = stated
        } else if let usual = Self.defaultPorts[scheme] {
            number = usual
        } else {
            throw .noPort(scheme: scheme)
        }
        let user = place.map { authority[..<$0.startIndex] } ?? ""
        let path = rest[authority.endIndex...]
        canonical =
            "\(scheme)://\(user)\(host.lowercased()):\(number)"
            + (path.hasPrefix("/") ? path : "/\(path)")
        url = scheme + text[mark.lowerBound...]
        self.format = format
    }

    /// The URL in a file: the first word. Empty lines and a byte order mark, which some editors write, may precede it.
    package static func text(inFile bytes: [UInt8]) -> String? {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let content = bytes.starts(with: mark) ? bytes[mark.count...] : bytes[...]
        return String(decoding: content, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            .first.map { String($0) }
    }

    /// Host, which may be an IPv6 address in brackets, and port; nil: none is given.
    private static func split(_ text: Substring) -> (host: Substring, port: Substring?) {
        var after = text.startIndex
        if text.first == "[" {
            guard let bracket = text.firstIndex(of: "]") else { return ("", nil) }
            after = text.index(after: bracket)
        }
        guard let colon = text[after...].firstIndex(of: ":") else { return (text, nil) }
        return (text[..<colon], text[text.index(after: colon)...])
    }
}

/// The reason why a URL is no ``StreamAddress``. The URL is not repeated, because it may contain a password.
package enum StreamAddressError: Error, Hashable, CustomStringConvertible {
    /// Another scheme, or none.
    case noStream
    case noHost(scheme: String)
    case noPort(scheme: String)
    case badPort(scheme: String)

    /// The end of a sentence about the URL.
    package var description: String {
        switch self {
        case .noStream: "must begin with srt://, rtmp://, rtsp:// or udp://"
        case .noHost(let scheme): "has no host: write \(scheme)://HOST:PORT"
        case .noPort(let scheme): "has no port: write \(scheme)://HOST:PORT"
        case .badPort(let scheme): "has an invalid port (\(scheme)://): a port is 1 to 65535"
        }
    }
}
