/// First line and headers of a message (RFC 2326 §4).
package struct RTSPHead: Hashable, Sendable {
    package struct Header: Hashable, Sendable {
        /// Lower case.
        package var name: String
        package var value: String
    }

    /// Limit of headers in one message; cameras send a dozen.
    static let maximumHeaders = 128

    package let firstLine: String
    package let headers: [Header]

    /// - Parameter bytes: the lines without the final empty line. LF is accepted as line ending. A bare CR becomes a space
    ///   (RFC 9112 §2.2), because our messages repeat header values. Other control characters are rejected, except tabs.
    package init(parsing bytes: ArraySlice<UInt8>) throws(RTSPError) {
        var lines: [String] = []
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            let own = line.last == 0x0D ? line.dropLast() : line
            guard own.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0D }) else {
                throw .malformedMessage("a control character in the header")
            }
            let text = String(decoding: own.map { $0 == 0x0D ? 0x20 : $0 }, as: UTF8.self)
            // Header folding: a line that starts with a space continues the previous one.
            if let first = own.first, first == 0x20 || first == 0x09, lines.count > 1 {
                lines[lines.count - 1] += " " + text.trimmed
            } else if !own.isEmpty || !lines.isEmpty {
                lines.append(text)
            }
            guard lines.count <= Self.maximumHeaders + 1 else {
                throw .malformedMessage("more than \(Self.maximumHeaders) headers")
            }
        }
        guard let first = lines.first else { throw .malformedMessage("it is empty") }
        firstLine = first.trimmed
        headers = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return Header(
                name: String(line[..<colon]).trimmed.lowercased(),
                value: String(line[line.index(after: colon)...]).trimmed)
        }
    }

    /// The first header with a name.
    package func value(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// All headers with a name.
    package func values(_ name: String) -> [String] {
        headers.filter { $0.name == name }.map(\.value)
    }
}

extension String {
    /// Without leading and trailing whitespace.
    var trimmed: String {
        guard let start = firstIndex(where: { !$0.isWhitespace }),
            let end = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[start...end])
    }
}
