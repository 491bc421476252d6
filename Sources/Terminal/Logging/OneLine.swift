/// `text` with everything that could forge or break a line made visible: what peers say ends up in logs.
package func oneLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: breaksLine) else { return text }
    return text.unicodeScalars.reduce(into: "") { result, scalar in
        if breaksLine(scalar) {
            result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
}

/// Whether a character is for terminals, or changes how a line is shown: control characters of ISO/IEC 6429 (C0, DEL, C1), separators
/// of lines and paragraphs, and what turns the direction of text (Unicode Standard Annex #9, explicit formatting).
func breaksLine(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
}
