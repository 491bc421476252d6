package import ArgumentParser
import Glibc

/// Exit statuses of every program (sysexits where it has a word for it).
package enum ExitStatus {
    /// The work failed, or `verify` found damage.
    package static let failure: Int32 = 1
    /// Wrong usage (EX_USAGE).
    package static let usage: Int32 = 64
}

/// A failure whose one line is all that a user needs: what was wrong and what to do.
package struct Failure: Error, CustomStringConvertible {
    package let description: String

    /// - Parameter line: what was wrong and what to do, without the program's name.
    package init(_ line: String) {
        description = line
    }
}

/// A wish that the command line can express but the program cannot grant: wrong usage, found after parsing.
package struct UsageError: Error, CustomStringConvertible {
    package let description: String

    /// - Parameter line: what was wrong and what to do, without the program's name.
    package init(_ line: String) {
        description = line
    }
}

/// Runs a program: environment and arguments in, work done, true exit status out.
///
/// Every error is one line on standard error, `program: what was wrong; what to do`.
package enum Program {
    /// Parses and runs `Command`, and exits.
    package static func main<Command: ParsableCommand>(_ command: Command.Type) -> Never {
        signal(SIGPIPE, SIG_IGN)
        let name = Command._commandName
        let arguments = OptionEnvironment.merged(
            Array(CommandLine.arguments.dropFirst()), environment: OptionEnvironment.current(),
            command: Command.self)
        do {
            var parsed = try Command.parseAsRoot(arguments)
            try parsed.run()
            exit(0)
        } catch let failure as Failure {
            complain("\(name): \(failure)")
            exit(ExitStatus.failure)
        } catch let usage as UsageError {
            complain("\(name): \(usage)")
            exit(ExitStatus.usage)
        } catch let code as ExitCode {
            exit(code.rawValue)
        } catch {
            let code = Command.exitCode(for: error)
            if code == .success { Command.exit(withError: error) }
            let message = Command.message(for: error).split(separator: "\n")
                .map { $0.trimmingPrefix("Error: ") }.joined(separator: " ")
            complain(
                "\(name): \(message)\(message.hasSuffix(".") || message.hasSuffix("?") ? "" : ".") See '\(name) --help'."
            )
            exit(code == .validationFailure ? ExitStatus.usage : code.rawValue)
        }
    }

    /// One line on standard error, past any logger.
    package static func complain(_ line: String) {
        Console().line(oneLine(line))
    }
}
