/// A four-character code: the type of a box, a brand, a handler (ISO/IEC 14496-12 §4.2).
package struct FourCC: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

extension FourCC: ExpressibleByStringLiteral {
    /// - Precondition: the literal has four ASCII characters.
    package init(stringLiteral value: StaticString) {
        precondition(value.utf8CodeUnitCount == 4, "a four-character code has four characters")
        rawValue = value.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
    }
}

extension FourCC {
    /// - Precondition: the text has four ASCII characters.
    package init(_ text: String) {
        precondition(text.utf8.count == 4, "a four-character code has four characters")
        rawValue = text.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension FourCC: CustomStringConvertible {
    /// The four characters; non-printable bytes become `.`.
    package var description: String {
        let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> UInt32($0)) }
        return String(
            decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : 0x2E }, as: UTF8.self)
    }
}
