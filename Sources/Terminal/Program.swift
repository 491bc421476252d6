package import ArgumentParser
import Glibc
import Hashing
import Logging

/// Exit statuses of all programs (sysexits where applicable).
package enum ExitStatus {
    /// The work failed, or `verify` found damage.
    package static let failure: Int32 = 1
    /// Wrong usage (EX_USAGE).
    package static let usage: Int32 = 64
    /// A collector does not admit this program's key, or the user of `forward` may not open its socket (EX_NOPERM).
    package static let refused: Int32 = 77
}

/// A failure with one line for the user: the reason and what to do.
package struct Failure: Error, CustomStringConvertible {
    package let description: String
    let exitStatus: Int32

    /// - Parameters:
    ///   - line: the reason and what to do, without the program's name.
    ///   - exitStatus: one of ``ExitStatus``.
    package init(_ line: String, exitStatus: Int32 = ExitStatus.failure) {
        description = line
        self.exitStatus = exitStatus
    }
}

/// Valid syntax, but wrong usage, found after parsing.
package struct UsageError: Error, CustomStringConvertible {
    package let description: String

    /// - Parameter line: the reason and what to do, without the program's name.
    package init(_ line: String) {
        description = line
    }
}

/// Runs a program with its environment and arguments, and sets the exit status.
///
/// Every error is one line on standard error, `program: what was wrong; what to do`.
package enum Program {
    /// Parses and runs `Command`, and exits.
    /// - Parameters:
    ///   - name: the program's name, if it is not the command's.
    ///   - arguments: the arguments after that name.
    ///   - signals: the handling of signals until the command has its own.
    package static func main<Command: ParsableCommand>(
        _ command: Command.Type, name: String = Command._commandName,
        arguments: [String] = CommandArguments.all,
        signals: StartSignals = .usual
    ) -> Never {
        Libcrypto.keepUntilExit()
        signals.begin()
        signal(SIGPIPE, SIG_IGN)
        let options = given(to: Command.self, arguments, name: name)
        // The configuration file counts here, too.
        let format = LogFormat.chosen(by: options.arguments) ?? .ofThisProcess
        func complain(_ line: String) { end(with: line, format) }
        func leave(_ status: Int32) -> Never {
            guard let reason = StandardOutput.finish() else { exit(status) }
            complain("\(name): \(reason)")
            exit(status == 0 ? ExitStatus.failure : status)
        }
        do {
            var parsed = try Command.parseAsRoot(options.arguments)
            try parsed.run()
            leave(0)
        } catch let failure as Failure {
            complain("\(name): \(failure)")
            exit(failure.exitStatus)
        } catch let usage as UsageError {
            complain("\(name): \(usage)")
            exit(ExitStatus.usage)
        } catch let code as ExitCode {
            leave(code.rawValue)
        } catch {
            let code = Command.exitCode(for: error)
            if code == .success { Command.exit(withError: error) }
            if let flaw = unknownCommand(in: Command.self, arguments[...]) {
                complain("\(name): \(flaw)")
                exit(ExitStatus.usage)
            }
            let message = Self.message(of: error, in: Command.self, options)
            complain("\(name): \(message) See '\(help(for: error, in: Command.self, name))'.")
            exit(code == .validationFailure ? ExitStatus.usage : code.rawValue)
        }
    }

    /// Prints a usage error that was found before parsing, and exits with ``ExitStatus/usage``.
    package static func refuse(_ error: UsageError, name: String) -> Never {
        end(with: "\(name): \(error)")
        exit(ExitStatus.usage)
    }

    /// The command that shows the help for an error's command.
    private static func help<Command: ParsableCommand>(
        for error: any Error, in command: Command.Type, _ name: String
    ) -> String {
        let mark = "  See '"
        let line = Command.fullMessage(for: error).split(separator: "\n")
            .last { $0.hasPrefix(mark) }
        if let words = line?.dropFirst(mark.count).prefix(while: { $0 != "'" }) {
            // Commands that a program calls by itself do not know its name.
            return words.hasPrefix(name) ? String(words) : "\(name) \(words)"
        }
        return name == Command._commandName
            ? "\(name) --help" : "\(name) \(Command._commandName) --help"
    }

    /// All options from command line, environment and configuration file; exits with one line on an error.
    private static func given<Command: ParsableCommand>(
        to command: Command.Type, _ arguments: [String], name: String
    ) -> MergedOptions {
        do throws(ConfigurationError) {
            let options = try currentOptions(of: command, arguments)
            for warning in options.warnings {
                Console(format: LogFormat.chosen(by: options.arguments) ?? .ofThisProcess)
                    .line("\(name): \(warning)", level: .warning)
            }
            return options
        } catch {
            end(with: "\(name): \(error)")
            exit(ExitStatus.usage)
        }
    }

    private static func currentOptions(
        of command: any ParsableCommand.Type,
        _ arguments: [String] = CommandArguments.all
    ) throws(ConfigurationError) -> MergedOptions {
        try MergedOptions(
            arguments, environment: OptionEnvironment.current(), command: command)
    }

    /// This process's options for each group of its configuration file as it is now; empty if the file has none.
    ///
    /// - Parameter arguments: the arguments after the command's name.
    /// - Throws: ``UsageError`` with one line, when they are invalid.
    package static func groups<Command: GroupingCommand>(
        of command: Command.Type,
        _ arguments: [String] = CommandArguments.all
    ) throws(UsageError) -> [(command: Command, options: MergedOptions)] {
        let groups: [MergedOptions]
        do throws(ConfigurationError) {
            groups = try currentOptions(of: command, arguments).groups
        } catch {
            throw UsageError("\(error)")
        }
        var found: [(command: Command, options: MergedOptions)] = []
        for options in groups {
            do {
                guard let parsed = try Command.parseAsRoot(options.arguments) as? Command else {
                    throw UsageError("these options belong to another command")
                }
                found.append((parsed, options))
            } catch {
                throw UsageError(message(of: error, in: command, options))
            }
        }
        return found
    }

    /// The parser's error message in one line, with the origin of the option it names.
    private static func message<Command: ParsableCommand>(
        of error: any Error, in command: Command.Type, _ options: MergedOptions
    ) -> String {
        var message = Command.message(for: error).split(separator: "\n")
            .map { $0.trimmingPrefix("Error: ") }.joined(separator: " ")
        message = negativeValue(message, options.arguments) ?? message
        if let meant = meantValue(message) { message += " Did you mean '\(meant)'?" }
        if let origins = options.origins(of: message) { message += " (from \(origins))" }
        return message.hasSuffix(".") || message.hasSuffix("?") ? message : "\(message)."
    }

    /// The error for an unknown command, with a suggestion; nil if the arguments have none.
    static func unknownCommand(
        in command: any ParsableCommand.Type, _ arguments: ArraySlice<String>
    ) -> String? {
        let subcommands = command.configuration.subcommands
        guard !subcommands.isEmpty,
            // After an option, a word may be its value.
            let place = arguments.indices.first, !arguments[place].hasPrefix("-"),
            arguments[place] != "help"
        else { return nil }
        if let chosen = subcommands.first(where: { $0._commandName == arguments[place] }) {
            return unknownCommand(in: chosen, arguments[(place + 1)...])
        }
        let names = subcommands.map { $0._commandName }
        return "there is no command '\(arguments[place].prefix(80))': "
            + suggestion(for: arguments[place], among: names)
    }

    /// The message for a negative value that the parser took for an option; nil: another error.
    static func negativeValue(_ message: String, _ arguments: [String]) -> String? {
        let start = "Missing value for '"
        guard message.hasPrefix(start) else { return nil }
        let option = message.dropFirst(start.count).prefix { $0 != " " && $0 != "'" }
        guard let place = arguments.firstIndex(of: String(option)), place + 1 < arguments.count
        else { return nil }
        let value = arguments[place + 1]
        guard value.hasPrefix("-"),
            value.dropFirst().first.map({ $0.isNumber || $0 == "." }) == true
        else { return nil }
        return "\(option) must not be negative: '\(value.prefix(80))'"
    }

    /// The most similar one of the values that an error message lists.
    static func meantValue(_ message: String) -> String? {
        guard let list = message.firstRange(of: "Please provide one of ") else { return nil }
        func quoted(_ text: Substring) -> [String] {
            text.split(separator: "'", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
        }
        guard let value = quoted(message[..<list.lowerBound]).first else { return nil }
        return nearestWord(to: value, among: quoted(message[list.upperBound...]))
    }

    /// Parses this process's options again, after a change of its configuration file.
    ///
    /// - Throws: ``UsageError`` with one line, when they are invalid now.
    package static func reread<Command: ParsableCommand>(
        _ command: Command.Type
    ) throws(UsageError) -> (command: Command, options: MergedOptions) {
        let options: MergedOptions
        do throws(ConfigurationError) {
            options = try currentOptions(of: command)
        } catch {
            throw UsageError("\(error)")
        }
        do {
            guard let parsed = try Command.parseAsRoot(options.arguments) as? Command else {
                throw UsageError("these options belong to another command")
            }
            return (parsed, options)
        } catch {
            throw UsageError(message(of: error, in: command, options))
        }
    }

    /// Prints one line on standard error, bypassing the logger.
    package static func complain(_ line: String) { Console().line(line, level: .warning) }

    /// The last line of a program that fails; where a service manager listens, it is the service's status too.
    private static func end(with line: String, _ format: LogFormat = .ofThisProcess) {
        Console(format: format).line(line, level: .error)
        ServiceManager.current().status(line)
    }
}
