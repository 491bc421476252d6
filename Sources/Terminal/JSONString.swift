/// Strings of JSON (RFC 8259 §7).
enum JSONString {
    /// Appends a string with its quotation marks. Characters that would change how a line is shown are escaped, too.
    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        let hasEscapes = text.unicodeScalars.contains {
            $0 == "\"" || $0 == "\\" || breaksLine($0)
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
            case _ where breaksLine(scalar):
                // None of them needs a pair of surrogates.
                let digits = String(scalar.value, radix: 16)
                bytes += "\\u".utf8
                bytes += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                bytes += digits.utf8
            default: bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
    }
}
