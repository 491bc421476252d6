/// Strings of JSON (RFC 8259 §7).
package enum JSONString {
    /// Appends a string with its quotation marks. Characters that would change how a line is shown are escaped, too.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        let hasEscapes = text.unicodeScalars.contains {
            $0 == "\"" || $0 == "\\" || $0.breaksLine
        }
        guard hasEscapes else {
            bytes += text.utf8
            return
        }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\u{08}": bytes += "\\b".utf8
            case "\t": bytes += "\\t".utf8
            case "\n": bytes += "\\n".utf8
            case "\u{0C}": bytes += "\\f".utf8
            case "\r": bytes += "\\r".utf8
            case _ where scalar.breaksLine:
                // All of these are below U+10000: no surrogate pairs.
                let digits = String(scalar.value, radix: 16)
                bytes += "\\u".utf8
                bytes += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                bytes += digits.utf8
            default: bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
    }
}

extension Unicode.Scalar {
    /// Whether it can control a terminal or change how a line is displayed: control characters of ISO/IEC 6429 (C0, DEL, C1),
    /// line and paragraph separators, and bidirectional formatting characters (Unicode Standard Annex #9, explicit formatting).
    package var breaksLine: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
