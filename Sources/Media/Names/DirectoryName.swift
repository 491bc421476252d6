/// The rule for names of sessions and sources, which are names of directories: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
package enum DirectoryName {
    /// Longest name, bytes.
    package static let maximumBytes = 64

    /// Whether `name` conforms to the rule.
    package static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count <= maximumBytes else { return false }
        return isAlphanumeric(first)
            && bytes.allSatisfy {
                isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: "-")
            }
    }

    /// Suffixes of files beside a source's directory, or of temporary files.
    package static let reservedSourceEndings = [".json", ".new", ".damaged"]

    /// Whether `name` is valid for a source, from an agent or an imported file.
    package static func isValidSource(_ name: String) -> Bool {
        isValid(name) && !reservedSourceEndings.contains(where: name.hasSuffix)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
