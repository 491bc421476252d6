import Media

/// The rule for names that become directories: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`, without the endings of the archive's own files.
package enum SourceName {
    /// Reserved suffixes of names. A session's directory contains `session.json` and `notes.json` beside its sources'
    /// directories; a temporary or damaged version of those files has another suffix.
    package static let reservedEndings = DirectoryName.reservedSourceEndings

    /// Whether `name` may be a source's (or a session's) name.
    package static func isValid(_ name: String) -> Bool {
        DirectoryName.isValidSource(name)
    }

    /// The rule as text, for error messages.
    package static let rule =
        "use letters, digits, dot, underscore and hyphen, a letter or digit first, "
        + "\(WireLimits.nameBytes) at most, and not \(reservedEndings.joined(separator: ", ")) at the end"
}

/// `text` without characters that could break or forge a log line, and cut to `limit` bytes: for text from peers.
func printable(_ text: String, limit: Int = WireLimits.textBytes) -> String {
    var result = ""
    var size = 0
    for scalar in text.unicodeScalars {
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        // Line separators and characters that change the text direction.
        let isDeceptive =
            (0x2028...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
        let shown = isControl || isDeceptive ? "\u{FFFD}" : scalar
        size += UTF8.width(shown)
        guard size <= limit else { break }
        result.unicodeScalars.append(shown)
    }
    return result
}
