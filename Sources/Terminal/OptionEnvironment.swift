package import ArgumentParser
import Glibc

/// Options from the environment: `--start-at` is `TRIBUTARY_START_AT`, in every program.
///
/// What the command line says wins. A flag is set by `1`, `true` or `yes`, and left alone by `0`, `false`, `no`
/// or nothing.
package enum OptionEnvironment {
    /// This process's `TRIBUTARY_…` variables.
    package static func current() -> [String: String] {
        var found: [String: String] = [:]
        var entry = environ
        while let pointer = entry.pointee {
            let text = String(cString: pointer)
            if text.hasPrefix("TRIBUTARY_"), let mark = text.firstIndex(of: "=") {
                found[String(text[..<mark])] = String(text[text.index(after: mark)...])
            }
            entry += 1
        }
        return found
    }

    /// `arguments` with the options that only the environment gives.
    ///
    /// Options that the command does not have are left out: one environment serves all programs of a box.
    package static func merged(
        _ arguments: [String], environment: [String: String],
        command: any ParsableCommand.Type
    ) -> [String] {
        guard !environment.isEmpty else { return arguments }
        let given = Set(arguments.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } })
        let known = optionNames(of: subcommand(of: command, arguments[...]))
        var added: [String] = []
        for (variable, value) in environment.sorted(by: { $0.key < $1.key }) {
            let name =
                "--"
                + variable.dropFirst("TRIBUTARY_".count).lowercased()
                .replacing("_", with: "-")
            guard let takesValue = known[name], !given.contains(name[...]) else { continue }
            if takesValue {
                added += [name, value]
            } else if ["1", "true", "yes"].contains(value.lowercased()) {
                added.append(name)
            }
        }
        return arguments + added
    }

    /// The command that the arguments choose.
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

    /// A command's own long options, and whether each takes a value.
    static func optionNames(of command: any ParsableCommand.Type) -> [String: Bool] {
        let help = command.helpMessage(includeHidden: true, columns: 4000)
        var names: [String: Bool] = [:]
        for line in help.split(separator: "\n") where line.hasPrefix("  -") {
            let spelling =
                line.split(separator: "  ", omittingEmptySubsequences: true).first ?? line
            let takesValue = spelling.contains("<")
            for word in spelling.split(whereSeparator: { $0 == " " || $0 == "," })
            where word.hasPrefix("--") {
                names[String(word)] = takesValue
            }
        }
        names["--help"] = nil
        names["--version"] = nil
        return names
    }
}
