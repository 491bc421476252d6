import Files

/// A configuration file as text, in which single options are changed: comments, order and everything else are
/// preserved.
package struct ConfigurationText: Hashable, Sendable {
    package private(set) var text: String
    /// The changed options.
    private var values: [String: String] = [:]

    package init(_ text: String) {
        self.text = text
    }

    /// Reads a file; nil if it does not exist.
    package init?(path: String) throws(ConfigurationError) {
        guard let bytes = try ConfigurationFile.bytes(of: path) else { return nil }
        // Parsed first: an invalid configuration is not changed.
        _ = try ConfigurationFile(path: path, bytes: bytes)
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// Sets an option: in its line, else in the first line where it is commented out, else at the end.
    package mutating func set(_ name: String, to value: String) {
        values[name] = value
        // By Unicode scalars: CRLF is one character.
        var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0) }
        let end = lines.first?.hasSuffix("\r") == true ? "\r" : ""
        let line = "\(name): \(Self.scalar(value))\(end)"
        let place =
            lines.firstIndex { $0.hasPrefix("\(name):") }
            ?? lines.firstIndex { $0.hasPrefix("#\(name):") }
        if let place {
            lines[place] = line
        } else if lines.last == "" {
            lines.insert(line, at: lines.count - 1)
        } else {
            lines += [line, ""]
        }
        text = lines.joined(separator: "\n")
    }

    /// Checks that the file parses to the changed options: the original may have a form that a line does not replace.
    package func validate(path: String) throws(ConfigurationError) {
        let file = try ConfigurationFile(path: path, bytes: Array(text.utf8))
        for entry in file.entries {
            guard let value = values[entry.name], value != entry.value else { continue }
            throw .notPlain(
                path: path, line: entry.line,
                "the value of '\(entry.name)' continues on the next line"
            )
        }
    }

    /// A value in YAML; quoted if it has special characters.
    private static func scalar(_ value: String) -> String {
        let plain = value.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        let first = value.utf8.first
        if plain, !value.hasSuffix(":"), first != UInt8(ascii: "-"), first != UInt8(ascii: ":") {
            return value
        }
        return "'\(value.replacing("'", with: "''"))'"
    }

    /// Replaces the file atomically and durably.
    package func write(to path: String) throws(ConfigurationError) {
        do throws(FileError) {
            // Readable by all: a configuration contains no secrets.
            try SmallFile.write(
                Array(text.utf8), to: path, mode: 0o644, .replaceKeepingMode)
        } catch {
            throw ConfigurationError(error, path: path)
        }
    }

    /// Creates a file's directory and its parents.
    package static func makeDirectory(for path: String) throws(ConfigurationError) {
        do throws(FileError) { try Directory.make(Path.directory(of: path)) } catch {
            throw ConfigurationError(error, path: path)
        }
    }
}
