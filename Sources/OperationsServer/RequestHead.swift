/// The head of an HTTP/1.1 request (RFC 9112 §2.1): its request line and fields.
struct RequestHead: Hashable, Sendable {
    /// Maximum size of a head. A scraper sends a few hundred bytes.
    static let maximumBytes = 8 << 10
    static let maximumFields = 64

    /// As it was sent: `GET`.
    var method: String
    /// Without its query, as received (not decoded).
    var path: String
    /// Whether a body follows, which is not read here.
    var hasBody: Bool
    /// Whether the connection stays open after the answer (RFC 9112 §9.3).
    var keepsConnection: Bool

    /// The error of an invalid request, after which the connection is unusable.
    enum Failure: Error, Hashable, Sendable {
        case malformed(String)
        case tooLarge

        var answer: OperationsAnswer {
            switch self {
            case .malformed(let reason): OperationsAnswer(.badRequest, "\(reason)\n")
            case .tooLarge:
                OperationsAnswer(
                    .headerTooLarge, "the request's header is longer than \(maximumBytes) bytes\n")
            }
        }
    }

    /// Parses the first head in bytes.
    /// - Returns: the head and its length in bytes, with the empty line; `nil` if more bytes are needed.
    static func parse(_ bytes: [UInt8]) throws(Failure) -> (head: RequestHead, byteCount: Int)? {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        // RFC 9112 §2.2: empty lines before a request line are skipped.
        while start < bytes.count, bytes[start] == 13 || bytes[start] == 10 { start += 1 }
        var position = start
        while let end = bytes[position...].firstIndex(of: 10) {
            guard end < maximumBytes else { throw .tooLarge }
            let line = bytes[position..<end]
            position = end + 1
            let content = line.last == 13 ? line.dropLast() : line
            if content.isEmpty { return (try RequestHead(lines), position) }
            lines.append(content)
            guard lines.count <= maximumFields + 1 else { throw .tooLarge }
        }
        guard bytes.count < maximumBytes else { throw .tooLarge }
        return nil
    }

    /// - Parameter lines: the request line and the field lines, without their ends.
    private init(_ lines: [ArraySlice<UInt8>]) throws(Failure) {
        guard let first = lines.first else { throw .malformed("the request has no first line") }
        let words = first.split(separator: 32, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(Self.isTokenByte),
            let version = Self.minorVersion(words[2])
        else { throw .malformed("the request line is not that of HTTP/1.1") }
        method = String(decoding: words[0], as: UTF8.self)
        guard let path = Self.path(words[1]) else {
            throw .malformed("the request's target is neither a path nor a URL")
        }
        self.path = path
        keepsConnection = version > 0
        hasBody = false
        var hosts = 0
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: 58), colon > line.startIndex,
                line[..<colon].allSatisfy(Self.isTokenByte)
            else { throw .malformed("a header field has no name") }
            let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
                .lowercased().split(whereSeparator: { $0 == " " || $0 == "\t" })
                .joined(separator: " ")
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "host":
                hosts += 1
                guard value.utf8.allSatisfy(Self.isHostByte) else {
                    throw .malformed("the Host field holds no host")
                }
            case "content-length": hasBody = hasBody || value != "0"
            case "transfer-encoding": hasBody = true
            case "connection":
                let options = value.split(whereSeparator: { $0 == "," || $0 == " " })
                if options.contains("close") {
                    keepsConnection = false
                } else if options.contains("keep-alive") {
                    keepsConnection = true
                }
            default: break
            }
        }
        // RFC 9112 §3.2.
        guard hosts == 1 || (hosts == 0 && version == 0) else {
            throw .malformed("a request has exactly one Host field")
        }
        // The body is not read, so the connection cannot be reused.
        if hasBody { keepsConnection = false }
    }

    /// The `x` of `HTTP/1.x`; nil for other words.
    private static func minorVersion(_ word: ArraySlice<UInt8>) -> Int? {
        guard word.count == 8, word.starts(with: "HTTP/1.".utf8), let digit = word.last,
            (48...57).contains(digit)
        else { return nil }
        return Int(digit - 48)
    }

    /// The path of a target in origin form or absolute form (RFC 9112 §3.2.1, §3.2.2).
    private static func path(_ target: ArraySlice<UInt8>) -> String? {
        guard target.allSatisfy({ (33...126).contains($0) }) else { return nil }
        var text = String(decoding: target, as: UTF8.self)
        if let scheme = text.firstRange(of: "http://"), scheme.lowerBound == text.startIndex {
            text = String(text[scheme.upperBound...].drop { $0 != "/" && $0 != "?" })
            if !text.hasPrefix("/") { text = "/\(text)" }
        }
        guard text.hasPrefix("/") else { return nil }
        return String(text.prefix { $0 != "?" })
    }

    /// RFC 3986 §3.2.2, §3.2.3: a host and a port, without `@`.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: "-._~%!$&'()*+,;=:[]".utf8.contains(byte)
        }
    }

    /// RFC 9110 §5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
