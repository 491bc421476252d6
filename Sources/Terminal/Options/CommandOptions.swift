package import ArgumentParser

/// A command whose options say what is to be changed: what says how things usually are, the environment, gives it only some.
package protocol ExplicitCommand: ParsableCommand {
    /// Long options that the environment may give, without hyphens in front.
    static var environmentOptions: Set<String> { get }
}

/// A command with options that can be repeated: in a configuration file, these can be lists.
package protocol RepeatingCommand: ParsableCommand {
    /// Long options, without hyphens in front. Each takes a value.
    static var repeatableOptions: Set<String> { get }
}

/// A command with options whose empty value means something on the command line: that what it sets is removed.
package protocol ErasingCommand: ParsableCommand {
    /// Long options, without hyphens in front.
    static var erasableOptions: Set<String> { get }
}

/// The long options that a command line understands, as its own help names them.
package struct CommandOptions: Hashable, Sendable {
    /// `start-at` and the like, without hyphens in front; whether each takes a value.
    package let takesValue: [String: Bool]
    /// Those that can be given several times.
    let repeatable: Set<String>
    /// Those that must have a value that is not empty, where the command line gives them.
    private let neverEmpty: Set<String>

    /// Those that only the command line can give: they choose what is done, not how.
    private static let notOptions: Set<String> = ["help", "version", "help-hidden"]

    /// The options of the command that `arguments` choose from `command` and what is below it.
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

    /// Whether a value is none: a path or an address of nothing would be taken for another one.
    static func isEmpty(_ value: String) -> Bool { value.allSatisfy(\.isWhitespace) }

    /// The first option of a command line that has an empty value and should not.
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

    /// The option that somebody who wrote `name` may have meant.
    package func nearest(to name: String) -> String? {
        nearestWord(to: name.lowercased().replacing("_", with: "-"), among: takesValue.keys)
    }
}
