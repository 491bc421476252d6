import Files
import Glibc

/// Options from a file: YAML 1.1, a mapping from the options' names to their values.
///
///     # /etc/tributary/collector.yaml
///     listen: tcp://0.0.0.0:5550
///     segment: 10m
///     insecure: no
///
/// Names are those of the command line, without leading hyphens. A name without a value is an error. A repeatable
/// option may have a list of values, which may be empty.
package struct ConfigurationFile: Hashable, Sendable {
    /// One option.
    package struct Entry: Hashable, Sendable {
        package let name: String
        /// At least one, unless it is a list.
        package let values: [String]
        let isList: Bool
        /// Each element of a list of mappings; empty for other entries.
        let groups: [[Entry]]
        /// Counted from 1.
        package let line: Int

        init(name: String, value: String, line: Int) {
            self.name = name
            values = [value]
            isList = false
            groups = []
            self.line = line
        }

        init(name: String, list: [String], line: Int) {
            self.name = name
            values = list
            isList = true
            groups = []
            self.line = line
        }

        init(name: String, groups: [[Entry]], line: Int) {
            self.name = name
            values = []
            isList = true
            self.groups = groups
            self.line = line
        }

        /// Whether it has no value.
        var isEmpty: Bool {
            values.allSatisfy(CommandOptions.isEmpty) && !(isList && values.isEmpty)
        }

        /// The value; of a list, the first.
        package var value: String { values.first ?? "" }
    }

    /// A few hundred options with comments; a larger file is another kind of file.
    static let maximumBytes = 256 * 1024

    package let path: String
    package let entries: [Entry]

    /// Reads a file.
    package init(path: String) throws(ConfigurationError) {
        guard let bytes = try Self.bytes(of: path) else {
            throw .unreadable(path: path, errno: ENOENT)
        }
        try self.init(path: path, bytes: bytes)
    }

    /// - Parameter bytes: the content of the file.
    init(path: String, bytes: [UInt8]) throws(ConfigurationError) {
        self.path = path
        entries = try YAMLMapping.scalars(of: bytes, path: path)
        try Self.refuseRepeated(entries, path: path)
        for group in entries.flatMap(\.groups) { try Self.refuseRepeated(group, path: path) }
    }

    private static func refuseRepeated(
        _ entries: [Entry], path: String
    ) throws(ConfigurationError) {
        var lines: [String: Int] = [:]
        for entry in entries {
            if let earlier = lines.updateValue(entry.line, forKey: entry.name) {
                throw .repeated(entry.name, path: path, line: entry.line, earlier: earlier)
            }
        }
    }

    /// The content of a file; nil if it does not exist.
    static func bytes(of path: String) throws(ConfigurationError) -> [UInt8]? {
        do throws(FileError) {
            return try SmallFile.read(path, limit: maximumBytes, .any)?.bytes
        } catch {
            throw ConfigurationError(error, path: path)
        }
    }
}

/// An error of a configuration.
package enum ConfigurationError: Error, Hashable, CustomStringConvertible {
    case unreadable(path: String, errno: Int32)
    case unwritable(path: String, errno: Int32)
    case tooLarge(path: String, limit: Int)
    /// Invalid YAML; the library's message.
    case malformed(path: String, line: Int, String)
    /// Valid YAML, but not a mapping from names to scalars or lists of them.
    case notPlain(path: String, line: Int, String)
    case repeated(String, path: String, line: Int, earlier: Int)
    case unknown(String, path: String, line: Int, nearest: String?)
    case onlyOnCommandLine(String, path: String, line: Int)
    case notYesOrNo(String, value: String, where: String)
    /// An option is in the list but must apply to all groups, or the reverse.
    case notInGroup(String, path: String, line: Int)
    case alsoGiven(String, path: String, line: Int)
    /// An option without a value, on the command line, in the environment or in a file.
    case empty(String, where: String?)

    /// - Parameter path: the configuration; the error may concern its directory.
    init(_ error: FileError, path: String) {
        switch error {
        case .system("read", _, let errno): self = .unreadable(path: path, errno: errno)
        case .system(_, _, let errno): self = .unwritable(path: path, errno: errno)
        case .tooLarge(_, let limit): self = .tooLarge(path: path, limit: limit)
        case .notAFile, .accessibleByOthers:
            preconditionFailure("a configuration may be any file, and readable by all")
        }
    }

    package var description: String {
        switch self {
        case .unreadable(let path, let errno):
            "cannot read the configuration \(path): \(systemMessage(errno))"
        case .unwritable(let path, let errno):
            "cannot write the configuration \(path): \(systemMessage(errno))"
        case .tooLarge(let path, let limit):
            "\(path) is too large for a configuration file: at most \(limit / 1024) KiB"
        case .malformed(let path, let line, let problem):
            "\(path), line \(line), is not valid YAML: \(problem)"
        case .notPlain(let path, let line, let problem):
            "\(path), line \(line): \(problem); write one line 'name: value' for each option"
        case .repeated(let name, let path, let line, let earlier):
            "\(path), line \(line): '\(name)' is given twice, first in line \(earlier); remove one of them"
        case .unknown(let name, let path, let line, let nearest):
            "\(path), line \(line): there is no option '\(name)'; "
                + (nearest.map { "did you mean '\($0)'?" } ?? "'--help' lists all options")
        case .onlyOnCommandLine(let name, let path, let line):
            "\(path), line \(line): '\(name)' is only for the command line: remove it from the file"
        case .notYesOrNo(let name, let value, let place):
            "'\(name)' must be yes or no, not '\(value)' (\(place))"
        case .notInGroup(let name, let path, let line):
            "\(path), line \(line): '\(name)' is for all of them: move it out of the list"
        case .alsoGiven(let name, let path, let line):
            "\(path), line \(line): '\(name)' is on the command line too: leave it out there"
        case .empty(let name, let place):
            "'\(name)' has no value\(place.map { " (\($0))" } ?? ""): give it one, or leave it out"
        }
    }
}
