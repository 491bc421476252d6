/// A complete response to an HTTP/1.0 `GET` (RFC 1945 §6).
package struct HTTPReply: Hashable, Sendable {
    /// Maximum size of the head.
    static let maximumHeadBytes = 64 << 10

    package var status: Int
    package var body: [UInt8]

    /// - Parameter bytes: all bytes until the connection was closed.
    package init(_ bytes: [UInt8]) throws(HTTPReplyError) {
        guard let (head, body) = Self.split(bytes) else { throw .notHTTP }
        let lines = String(decoding: head, as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
            let status = Int(words[1]), status >= 100
        else { throw .notHTTP }
        self.status = status
        self.body = Array(body)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].trimmingPrefix { $0 == " " || $0 == "\t" }
            switch line[..<colon].lowercased() {
            case "content-length":
                guard let length = Int(value), length >= 0 else { throw .notHTTP }
                guard self.body.count >= length else {
                    throw .cutShort(missingBytes: length - self.body.count)
                }
                self.body = Array(self.body[..<length])
            case "transfer-encoding", "content-encoding":
                // Invalid in a response to HTTP/1.0 (RFC 9112 §6.1).
                guard value.lowercased() == "identity" else { throw .encoded(String(value)) }
            default: continue
            }
        }
    }

    /// The parts before and after the empty line.
    private static func split(
        _ bytes: [UInt8]
    ) -> (head: ArraySlice<UInt8>, body: ArraySlice<UInt8>)? {
        var lineStart = 0
        for index in bytes.indices.prefix(maximumHeadBytes) where bytes[index] == 0x0A {
            let line = bytes[lineStart..<index]
            if line.isEmpty || line.elementsEqual([0x0D]) {
                return (bytes[..<lineStart], bytes[(index + 1)...])
            }
            lineStart = index + 1
        }
        return nil
    }
}

/// Why a response is invalid.
package enum HTTPReplyError: Error, Hashable, CustomStringConvertible {
    case notHTTP
    case cutShort(missingBytes: Int)
    case encoded(String)

    package var description: String {
        switch self {
        case .notHTTP: "the answer is not HTTP"
        case .cutShort(let bytes): "the answer ends \(bytes) bytes too early"
        case .encoded(let coding): "the answer has an unexpected encoding (\(coding))"
        }
    }
}
