/// The rule for names that become directories: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`, without the endings of the archive's own files.
package enum SourceName {
    /// What no name ends in: a session's directory holds `session.json` and `notes.json` beside its sources' directories, and while
    /// one of those is replaced, or was found damaged, it has another ending.
    package static let reservedEndings = [".json", ".new", ".damaged"]

    /// Whether `name` may be a source's (or a session's) name.
    package static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count <= WireLimits.nameBytes else { return false }
        return isAlphanumeric(first)
            && bytes.allSatisfy { isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }
            && !reservedEndings.contains(where: name.hasSuffix)
    }

    /// The rule in words, for whoever gave another name.
    package static let rule =
        "use letters, digits, dot, underscore and hyphen, a letter or digit first, "
        + "\(WireLimits.nameBytes) at most, and not \(reservedEndings.joined(separator: ", ")) at the end"

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }
}

/// `text` without what could break or forge a line of a log, and cut to `limit` bytes: for what peers wrote.
func printable(_ text: String, limit: Int = WireLimits.textBytes) -> String {
    var result = ""
    var size = 0
    for scalar in text.unicodeScalars {
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        // Line separators and the marks that turn the direction of writing.
        let isDeceptive =
            (0x2028...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
        let shown = isControl || isDeceptive ? "\u{FFFD}" : scalar
        size += UTF8.width(shown)
        guard size <= limit else { break }
        result.unicodeScalars.append(shown)
    }
    return result
}
