package import RTSP

/// An answer over HTTP/1.1 (RFC 9112).
package struct HTTPResponse: Hashable, Sendable {
    package var status: Int
    package var head: RTSPHead
    package var body: [UInt8]
}

/// Assembles the answer of a connection that has one request (`Connection: close`).
package struct HTTPResponseReader: Sendable {
    /// Maximum size of the status line and the header fields, interim responses included.
    package static let maximumHeadBytes = 65_536
    /// Maximum size of a body. A camera with many profiles and analytics sends 100 KiB.
    package static let maximumBodyBytes = 1 << 20
    /// Maximum size of a line with a chunk's size, or of a trailer field.
    private static let maximumLineBytes = 4_096

    private enum Body {
        /// `Content-Length`.
        case counted(Int)
        case chunked
        /// It ends with the connection.
        case open
    }

    private var bytes: [UInt8] = []
    /// Bytes without the end of the head.
    private var searched = 0
    private var headBytes = 0
    private var head: (status: Int, head: RTSPHead, body: Body)?
    private var body: [UInt8] = []
    /// The last chunk was read; trailer fields follow.
    private var isInTrailer = false

    package init() {}

    /// - Returns: the answer, once it is complete.
    package mutating func add(_ new: [UInt8]) throws(ONVIFError) -> HTTPResponse? {
        bytes += new
        while head == nil {
            guard try readHead() else { return nil }
        }
        guard let head else { return nil }
        switch head.body {
        case .counted(let count):
            return bytes.count >= count ? response(Array(bytes.prefix(count))) : nil
        case .open:
            try check(bytes.count)
            return nil
        case .chunked:
            var place = 0
            while let isLast = try readChunk(at: &place) {
                if isLast { return response(body) }
            }
            bytes.removeFirst(place)
            return nil
        }
    }

    /// The connection was closed.
    /// - Returns: the answer, if it may end with the connection.
    package mutating func close() throws(ONVIFError) -> HTTPResponse {
        guard case .open = head?.body else {
            throw .malformedAnswer("the connection ended within it")
        }
        guard let complete = response(bytes) else {
            throw .malformedAnswer("the connection ended within it")
        }
        return complete
    }

    private func response(_ body: [UInt8]) -> HTTPResponse? {
        head.map { HTTPResponse(status: $0.status, head: $0.head, body: body) }
    }

    private func check(_ count: Int) throws(ONVIFError) {
        guard count <= Self.maximumBodyBytes else {
            throw .tooLarge(part: "body", limitBytes: Self.maximumBodyBytes)
        }
    }

    /// - Returns: whether a head was read; interim responses (RFC 9110 §15.2) are skipped.
    private mutating func readHead() throws(ONVIFError) -> Bool {
        guard let end = headEnd() else {
            searched = max(0, bytes.count - 3)
            guard headBytes + bytes.count <= Self.maximumHeadBytes else {
                throw .tooLarge(part: "head", limitBytes: Self.maximumHeadBytes)
            }
            return false
        }
        headBytes += end.body
        guard headBytes <= Self.maximumHeadBytes else {
            throw .tooLarge(part: "head", limitBytes: Self.maximumHeadBytes)
        }
        let read: RTSPHead
        do throws(RTSPError) {
            read = try RTSPHead(parsing: bytes[..<end.head])
        } catch {
            throw .malformedAnswer("\(error)")
        }
        bytes.removeFirst(end.body)
        searched = 0
        let words = read.firstLine.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
            let status = Int(words[1]), status >= 100
        else { throw .malformedAnswer("\"\(shownText(read.firstLine))\" is no status line") }
        if status >= 200 { head = (status, read, try Self.body(of: read, status)) }
        return true
    }

    private static func body(of head: RTSPHead, _ status: Int) throws(ONVIFError) -> Body {
        if status == 204 || status == 304 { return .counted(0) }
        if let coding = head.value("transfer-encoding") {
            guard coding.lowercased() == "chunked" else {
                throw .malformedAnswer("the transfer coding \"\(shownText(coding))\"")
            }
            return .chunked
        }
        let lengths = head.values("content-length")
        guard let text = lengths.first else { return .open }
        guard let count = Int(text), count >= 0, lengths.allSatisfy({ $0 == text }) else {
            throw .malformedAnswer("Content-Length \"\(shownText(text))\"")
        }
        guard count <= maximumBodyBytes else {
            throw .tooLarge(part: "body", limitBytes: maximumBodyBytes)
        }
        return .counted(count)
    }

    private func headEnd() -> (head: Int, body: Int)? {
        var index = max(1, searched)
        while index < bytes.count {
            if bytes[index] == 0x0A {
                if bytes[index - 1] == 0x0A { return (index - 1, index + 1) }
                if index >= 2, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A {
                    return (index - 2, index + 1)
                }
            }
            index += 1
        }
        return nil
    }

    /// A chunk, or a line behind the last one (RFC 9112 §7.1).
    /// - Parameter place: of the next unread byte.
    /// - Returns: whether the body is complete; nil if more bytes are needed.
    private mutating func readChunk(at place: inout Int) throws(ONVIFError) -> Bool? {
        let rest = bytes[place...]
        guard let feed = rest.prefix(Self.maximumLineBytes).firstIndex(of: 0x0A) else {
            guard rest.count < Self.maximumLineBytes else {
                throw .malformedAnswer("a chunk without a size")
            }
            return nil
        }
        let line = rest[..<feed].filter { $0 != 0x0D && $0 != 0x20 }
        if isInTrailer {
            headBytes += feed + 1 - place
            guard headBytes <= Self.maximumHeadBytes else {
                throw .tooLarge(part: "head", limitBytes: Self.maximumHeadBytes)
            }
            place = feed + 1
            return line.isEmpty
        }
        let digits = line.prefix { $0 != UInt8(ascii: ";") }
        guard (1...8).contains(digits.count),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0
        else { throw .malformedAnswer("a chunk without a size") }
        try check(body.count + size)
        if size == 0 {
            place = feed + 1
            isInTrailer = true
            return false
        }
        // The chunk's data, and the end of its line.
        let start = feed + 1
        var next = start + size
        if next < bytes.count, bytes[next] == 0x0D { next += 1 }
        guard next < bytes.count else { return nil }
        guard bytes[next] == 0x0A else {
            throw .malformedAnswer("a chunk that is longer than its size")
        }
        body += bytes[start..<start + size]
        place = next + 1
        return false
    }
}
