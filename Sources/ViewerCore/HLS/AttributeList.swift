/// Builds the attribute list of a tag (RFC 8216 §4.2): `NAME=value,NAME="value"`.
struct AttributeList {
    /// Maximum size of a quoted-string: playlists are reloaded often.
    static let maximumQuotedBytes = 256

    private(set) var text = ""

    /// A decimal-integer.
    mutating func add(_ name: String, integer value: some BinaryInteger) {
        append(name, "\(value)")
    }

    /// A decimal-floating-point number of seconds.
    mutating func add(_ name: String, microseconds value: Int64) {
        append(name, secondsText(microseconds: value))
    }

    /// An enumerated-string, a decimal-resolution or a number.
    mutating func add(_ name: String, unquoted value: String) {
        append(name, value)
    }

    /// A quoted-string. Characters that it must not contain are replaced.
    mutating func add(
        _ name: String, quoted value: String, maximumBytes: Int = Self.maximumQuotedBytes
    ) {
        append(name, "\"" + quotedText(value, maximumBytes: maximumBytes) + "\"")
    }

    private mutating func append(_ name: String, _ value: String) {
        if !text.isEmpty { text += "," }
        text += name
        text += "="
        text += value
    }
}

/// Any text as the content of a quoted-string (RFC 8216 §4.2), which has no escapes.
///
/// Quotation marks become apostrophes. Runs of white space, control characters and unassigned characters (RFC 8216 §4.1) become one
/// space. Braces become parentheses, because players refuse playlists with unknown variables `{$NAME}` (draft-pantos-hls-rfc8216bis
/// §4.3).
/// - Parameter maximumBytes: longer text is cut between two scalars.
func quotedText(_ text: String, maximumBytes: Int) -> String {
    var result = ""
    var isAfterSpace = false
    for scalar in text.unicodeScalars {
        guard let written = quotable(scalar) else {
            isAfterSpace = !result.isEmpty
            continue
        }
        let piece = (isAfterSpace ? " " : "") + String(written)
        guard result.utf8.count + piece.utf8.count <= maximumBytes else { break }
        result += piece
        isAfterSpace = false
    }
    return result
}

/// The replacement of a scalar; nil for a space.
private func quotable(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    switch scalar {
    case "\"": return "'"
    case "{": return "("
    case "}": return ")"
    default: break
    }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate,
        .privateUse, .unassigned:
        return nil
    default:
        return scalar
    }
}
