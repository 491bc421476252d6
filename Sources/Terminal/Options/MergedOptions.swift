package import ArgumentParser

/// A program's options from its command line, the environment and its configuration file.
///
/// The command line takes precedence over the environment, and that over the file. The environment's options that the
/// command does not have are ignored, because one environment serves all programs of a box; in the file they are
/// errors.
package struct MergedOptions: Hashable, Sendable {
    /// The origin of an option's value, for messages.
    package enum Origin: Hashable, Sendable, CustomStringConvertible {
        case environment(String)
        case file(String, line: Int)

        package var description: String {
            switch self {
            case .environment(let variable): variable
            case .file(let path, let line): "\(path), line \(line)"
            }
        }
    }

    /// The option that names the file, which cannot be in it.
    private static let fileOption = "config"
    private static let onlyOnCommandLine: Set<String> = [fileOption, "check-config"]

    /// The arguments to parse.
    package private(set) var arguments: [String]
    /// Origins of options that are not on the command line.
    package private(set) var origins: [String: Origin] = [:]
    /// Values of those options; a flag's value is "yes".
    package private(set) var values: [String: String] = [:]
    /// The options of each group, for a ``GroupingCommand`` whose file has the list; ``arguments`` are those of the first group.
    package private(set) var groups: [MergedOptions] = []
    /// Values of options that are lists: in the file, or in the environment, separated by commas.
    private var lists: [String: [String]] = [:]

    /// Warnings about variables that are similar to an option of this command.
    package private(set) var warnings: [String] = []

    /// - Parameters:
    ///   - arguments: of the command line, without the program's name.
    ///   - command: the program's command; the arguments may choose a subcommand.
    package init(
        _ arguments: [String], environment: [String: String],
        command: any ParsableCommand.Type
    ) throws(ConfigurationError) {
        self.arguments = arguments
        let options = CommandOptions(of: command, chosenBy: arguments)
        let given = Self.given(arguments)
        if let option = options.emptyOption(in: arguments) {
            throw .empty(String(option.prefix { $0 != "=" }), where: nil)
        }
        for name in options.takesValue.keys.sorted() where !given.contains(name) {
            let variable = OptionEnvironment.variable(of: name)
            guard let value = environment[variable] else { continue }
            guard !CommandOptions.isEmpty(value) else { throw .empty(name, where: variable) }
            if options.repeatable.contains(name), value.contains(",") {
                let parts = value.split(separator: ",", omittingEmptySubsequences: false)
                    .map { $0.drop(while: \.isWhitespace) }
                    .map { String($0.reversed().drop(while: \.isWhitespace).reversed()) }
                guard !parts.contains(where: \.isEmpty) else {
                    throw .empty(name, where: variable)
                }
                lists[name] = parts
            }
            values[name] = value
            origins[name] = .environment(variable)
        }
        warnings = environment.keys.sorted().compactMap { variable in
            OptionEnvironment.meant(by: variable, among: options.takesValue.keys).map {
                "the environment variable \(variable) is not an option of this command; did you mean \($0)?"
            }
        }
        if let path = path(in: arguments, options) {
            let file = try ConfigurationFile(path: path)
            let grouping = command as? any GroupingCommand.Type
            try add(
                file.entries.filter { $0.name != grouping?.groupsName }, of: file, options,
                given: given)
            if let grouping { try addGroups(of: file, grouping, options, given: given) }
        }
        try append(options)
        if let first = groups.first {
            self.arguments = first.arguments
            origins = first.origins
        }
    }

    private mutating func addGroups(
        of file: ConfigurationFile, _ grouping: any GroupingCommand.Type,
        _ options: CommandOptions, given: Set<String>
    ) throws(ConfigurationError) {
        guard let list = file.entries.first(where: { $0.name == grouping.groupsName }) else {
            return
        }
        guard !list.groups.isEmpty else {
            throw .empty(list.name, where: "\(file.path), line \(list.line)")
        }
        var found: [MergedOptions] = []
        for group in list.groups {
            var own = self
            for entry in group {
                if options.takesValue[entry.name] != nil,
                    grouping.sharedOptions.contains(entry.name)
                {
                    throw .notInGroup(entry.name, path: file.path, line: entry.line)
                }
                if given.contains(entry.name) {
                    throw .alsoGiven(entry.name, path: file.path, line: entry.line)
                }
                // Options of a group override options for all groups.
                own.origins[entry.name] = nil
                own.lists[entry.name] = nil
            }
            try own.add(group, of: file, options, given: given)
            try own.append(options)
            found.append(own)
        }
        groups = found
    }

    private static func given(_ arguments: [String]) -> Set<String> {
        Set(
            arguments.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }
                .map { String($0.dropFirst(2).prefix { $0 != "=" }) })
    }

    /// The path of the configuration file, for a command that supports one.
    private func path(in arguments: [String], _ options: CommandOptions) -> String? {
        guard options.takesValue[Self.fileOption] == true else { return nil }
        let option = "--\(Self.fileOption)"
        for (index, argument) in arguments.enumerated() {
            if argument.hasPrefix("\(option)=") {
                return String(argument.dropFirst(option.count + 1))
            }
            // The parser reports a missing value.
            if argument == option { return arguments.dropFirst(index + 1).first }
        }
        return values[Self.fileOption]
    }

    private mutating func add(
        _ entries: [ConfigurationFile.Entry], of file: ConfigurationFile,
        _ options: CommandOptions, given: Set<String>
    ) throws(ConfigurationError) {
        for entry in entries {
            if Self.onlyOnCommandLine.contains(entry.name) {
                throw .onlyOnCommandLine(entry.name, path: file.path, line: entry.line)
            }
            guard options.takesValue[entry.name] != nil else {
                throw .unknown(
                    entry.name, path: file.path, line: entry.line,
                    nearest: options.nearest(to: entry.name))
            }
            guard !entry.isEmpty else {
                throw .empty(entry.name, where: "\(file.path), line \(entry.line)")
            }
            guard !given.contains(entry.name), origins[entry.name] == nil else { continue }
            if !entry.groups.isEmpty {
                throw .notPlain(
                    path: file.path, line: entry.line,
                    "a value of '\(entry.name)' is not a single one")
            }
            if entry.isList {
                guard options.repeatable.contains(entry.name) else {
                    throw .notPlain(
                        path: file.path, line: entry.line,
                        "'\(entry.name)' has more than one value")
                }
                lists[entry.name] = entry.values.filter { !$0.isEmpty }
            }
            values[entry.name] = entry.values.joined(separator: ", ")
            origins[entry.name] = .file(file.path, line: entry.line)
        }
    }

    /// Appends the other options to the arguments.
    private mutating func append(_ options: CommandOptions) throws(ConfigurationError) {
        var added: [String] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            if options.takesValue[name] == true {
                for value in lists[name] ?? [value] { added.append("--\(name)=\(value)") }
                continue
            }
            let place = origins[name].map { "\($0)" } ?? name
            switch value.lowercased() {
            case "yes", "true", "on", "1":
                values[name] = "yes"
                added.append("--\(name)")
            case "no", "false", "off", "0":
                values[name] = nil
            default:
                throw .notYesOrNo(name, value: value, where: place)
            }
        }
        // After "--" nothing is an option.
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        arguments.insert(contentsOf: added, at: end)
    }

    /// The origins of the options in an error message, if not the command line.
    package func origins(of complaint: String) -> String? {
        let words = complaint.split { !($0.isLetter || $0.isNumber || $0 == "-") }
        let named = origins.filter { words.contains("--\($0.key)") }
        let places = Set(named.values.map { "\($0)" }).sorted()
        return places.isEmpty ? nil : places.joined(separator: " and ")
    }
}
