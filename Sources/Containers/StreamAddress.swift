/// The URL of a streaming server, which may contain a password or a stream key: `srt://`, `udp://`, `rtmp://` or `rtsp://`.
package struct StreamAddress: Hashable, Sendable {
    /// The scheme is in lower case, as libavformat requires.
    package let url: String
    package let format: ContainerFormat

    private static let schemes: Set = ["srt", "rtmp", "rtmps", "rtsp", "rtsps", "udp"]
    /// Those without a default port.
    private static let schemesWithPort: Set = ["srt", "udp"]

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
        if let port {
            guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port),
                number > 0
            else { throw .badPort(scheme: scheme) }
        } else if Self.schemesWithPort.contains(scheme) {
            throw .noPort(scheme: scheme)
        }
        url = scheme + text[mark.lowerBound...]
        self.format = format
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
