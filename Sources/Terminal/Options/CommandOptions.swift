package import ArgumentParser

/// A command whose options are changes: the environment, which holds defaults, may set only some of them.
package protocol ExplicitCommand: ParsableCommand {
    /// Long options that the environment may set, without leading hyphens.
    static var environmentOptions: Set<String> { get }
}

/// A command with repeatable options, which may be lists in a configuration file, or separated by commas in the environment.
package protocol RepeatingCommand: ParsableCommand {
    /// Long options, without leading hyphens. Each has a value.
    static var repeatableOptions: Set<String> { get }
}

/// A command with options whose empty value removes a setting.
package protocol ErasingCommand: ParsableCommand {
    /// Long options, without leading hyphens.
    static var erasableOptions: Set<String> { get }
}

/// A command whose configuration file may have a list of option groups, each for one parallel run of the command.
package protocol GroupingCommand: ParsableCommand {
    /// The list's name in the file.
    static var groupsName: String { get }
    /// Long options of the program as a whole, without hyphens, which a group cannot have.
    static var sharedOptions: Set<String> { get }
}

/// The long options of a command, parsed from its help.
package struct CommandOptions: Hashable, Sendable {
    /// `start-at` and the like, without leading hyphens; whether each has a value.
    package let takesValue: [String: Bool]
    /// Names of the options that can be repeated.
    let repeatable: Set<String>
    /// The ones that must not have an empty value on the command line.
    private let neverEmpty: Set<String>

    /// Options for the command line only: they choose an action.
    private static let notOptions: Set<String> = ["help", "version", "help-hidden"]

    /// The options of the subcommand of `command` that `arguments` choose.
    package init(of command: any ParsableCommand.Type, chosenBy arguments: [String]) {
        self.init(of: Self.subcommand(of: command, arguments[...]))
    }

    /// A command's own options.
    init(of command: any ParsableCommand.Type) {
        let help = command.helpMessage(includeHidden: true, columns: 4000)
        var found: [String: Bool] = [:]
        for line in help.split(separator: "\n") where line.hasPrefix("  -") {
            let spelling =
                line.split(separator: "  ", omittingEmptySubsequences: true).first ?? line
            for word in spelling.split(whereSeparator: { $0 == " " || $0 == "," })
            where word.hasPrefix("--") {
                found[String(word.dropFirst(2))] = spelling.contains("<")
            }
        }
        found = found.filter { !Self.notOptions.contains($0.key) }
        let erasable = (command as? any ErasingCommand.Type)?.erasableOptions ?? []
        neverEmpty = Set(found.filter(\.value).keys).subtracting(erasable)
        if let explicit = command as? any ExplicitCommand.Type {
            found = found.filter { explicit.environmentOptions.contains($0.key) }
        }
        takesValue = found
        repeatable = (command as? any RepeatingCommand.Type)?.repeatableOptions ?? []
    }

    private static func subcommand(
        of command: any ParsableCommand.Type, _ arguments: ArraySlice<String>
    ) -> any ParsableCommand.Type {
        guard let place = arguments.firstIndex(where: { !$0.hasPrefix("-") }),
            let chosen = command.configuration.subcommands.first(where: {
                $0._commandName == arguments[place]
            })
        else { return command.configuration.defaultSubcommand ?? command }
        return subcommand(of: chosen, arguments[(place + 1)...])
    }

    /// Whether a value is blank: an empty path or address would have another meaning.
    static func isEmpty(_ value: String) -> Bool { value.allSatisfy(\.isWhitespace) }

    /// The first option with an empty value that must not have one.
    func emptyOption(in arguments: [String]) -> String? {
        let words = arguments.prefix { $0 != "--" }
        for (word, next) in zip(words, words.dropFirst().map(Optional.some) + [nil])
        where word.hasPrefix("--") {
            let parts = word.dropFirst(2).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1]) : next
            if neverEmpty.contains(String(parts[0])), let value, Self.isEmpty(value) { return word }
        }
        return nil
    }

    /// The most similar option to `name`.
    package func nearest(to name: String) -> String? {
        nearestWord(to: name.lowercased().replacing("_", with: "-"), among: takesValue.keys)
    }
}
