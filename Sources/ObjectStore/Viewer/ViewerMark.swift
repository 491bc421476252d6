/// The document with which a mark is set through a viewer, and with which it answers: a bookmarked instant of a session.
package struct ViewerMark: Hashable, Sendable {
    /// Chosen by the reader: 16 hexadecimal digits, lower case.
    package var id: String
    /// Session time. Nil: the present instant, by the clock of the viewer's machine.
    package var atNanoseconds: Int64?
    /// One line.
    package var text: String
    /// The source concerned; nil: all of them.
    package var source: String?

    package init(id: String, atNanoseconds: Int64?, text: String, source: String?) {
        self.id = id
        self.atNanoseconds = atNanoseconds
        self.text = text
        self.source = source
    }
}

extension ViewerMark: Codable {
    private enum CodingKeys: String, CodingKey {
        case id
        case atSeconds
        case text
        case source
    }

    /// A hundred and twenty years: no recording is as long.
    private static let maximumSeconds = 4e9

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        text = try container.decode(String.self, forKey: .text)
        source = try container.decodeIfPresent(String.self, forKey: .source)
        atNanoseconds = try container.decodeIfPresent(Double.self, forKey: .atSeconds).map {
            guard $0.magnitude <= Self.maximumSeconds else {
                throw DecodingError.dataCorruptedError(
                    forKey: .atSeconds, in: container, debugDescription: "no time of a session")
            }
            return Int64(($0 * 1e9).rounded())
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(
            atNanoseconds.map { Double($0) / 1e9 }, forKey: .atSeconds)
        try container.encode(text, forKey: .text)
        try container.encodeIfPresent(source, forKey: .source)
    }
}
