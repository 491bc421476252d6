import Media

/// A URL of the server: `/live/SOURCE` or `/SESSION/SOURCE?from=83.5`, optionally with `/trackID=N`.
package struct ServedAddress: Hashable, Sendable {
    package enum Resource: Hashable, Sendable {
        case live(source: String)
        /// - Parameter from: start, unparsed: seconds of session time, or UTC.
        case recording(session: String, source: String, from: String?)

        /// The resource with the start of another one of the same path, unless it has a start.
        func completed(by other: Resource) -> Resource {
            guard case .recording(let session, let source, nil) = self,
                case .recording(session, source, _) = other
            else { return self }
            return other
        }
    }

    /// No valid URL is longer.
    package static let maximumBytes = 2_048
    /// First path component of live sources; not a valid session name.
    private static let live = "live"
    private static let track = "trackID="
    private static let maximumValueBytes = 128

    package let resource: Resource
    package let token: String?
    /// Index of the track; nil for all tracks.
    package let track: Int?
    /// Base URL of session descriptions, with a trailing slash, without query and credentials.
    package let base: String

    /// Parses an absolute `rtsp` or `rtsps` URL (RFC 2326 §3.2); nil if it is anything else, or names no resource.
    package init?(parsing uri: String) {
        guard uri.utf8.count <= Self.maximumBytes, let (scheme, afterScheme) = Self.scheme(of: uri)
        else { return nil }
        var text = afterScheme.prefix { $0 != "#" }
        // Clients append the track after the query, too (RFC 2326 §C.1.1).
        var track: Int?
        while text.hasSuffix("/") { text = text.dropLast() }
        if let slash = text.lastIndex(of: "/"), text[slash...].dropFirst().hasPrefix(Self.track) {
            guard let number = Int(text[slash...].dropFirst(1 + Self.track.count)),
                (0..<TrackKind.allCases.count).contains(number)
            else { return nil }
            track = number
            text = text[..<slash]
        }
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var path = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        if path.last?.isEmpty == true { path.removeLast() }
        guard path.count == 3, let host = Self.host(of: path[0]),
            DirectoryName.isValid(String(path[1])), DirectoryName.isValid(String(path[2])),
            let query = Self.query(parts.count > 1 ? parts[1] : "")
        else { return nil }
        let (first, source) = (String(path[1]), String(path[2]))
        if first == Self.live {
            guard query["from"] == nil else { return nil }
            resource = .live(source: source)
        } else {
            resource = .recording(session: first, source: source, from: query["from"])
        }
        token = query["token"]
        self.track = track
        base = "\(scheme)\(host)/\(first)/\(source)/"
    }

    private static func scheme(of uri: String) -> (String, Substring)? {
        for scheme in ["rtsp://", "rtsps://"]
        where uri.prefix(scheme.count).lowercased() == scheme {
            return (scheme, uri.dropFirst(scheme.count))
        }
        return nil
    }

    /// Host and port, without credentials.
    private static func host(of authority: Substring) -> Substring? {
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] }
        let named = host ?? authority
        return named.isEmpty || named.utf8.count > 300 ? nil : named
    }

    /// Query items by name; nil for unknown or repeated names.
    private static func query(_ text: Substring) -> [String: String]? {
        var values: [String: String] = [:]
        for item in text.split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0] == "from" || pair[0] == "token",
                let value = decoded(pair[1]), value.utf8.count <= maximumValueBytes,
                values.updateValue(value, forKey: String(pair[0])) == nil
            else { return nil }
        }
        return values
    }

    /// Percent-decoded text; nil if it is not printable ASCII.
    package static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(Substring(rest.prefix(2)))
            guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit),
                let value = UInt8(digits, radix: 16), value >= 0x20, value < 0x7F
            else { return nil }
            rest = rest.dropFirst(2)
            bytes.append(value)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
