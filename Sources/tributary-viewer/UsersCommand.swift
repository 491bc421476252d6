import Accounts
import ArgumentParser
import Glibc
import JSON
import Terminal
import ViewerCore

/// `tributary-viewer users`: manages the viewer's accounts.
struct UsersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tributary-viewer users", abstract: "Manages the accounts of the viewer.",
        discussion: """
            The file has one line for each account, with a hash of its password (scrypt) or token. A running viewer applies \
            changes within a second: a removed account, and one with a new password, is logged out at once.
            """,
        subcommands: [AddUserCommand.self, RemoveUserCommand.self, ListUsersCommand.self])
}

/// The file of accounts, for every subcommand.
struct UserFileOptions: ParsableArguments {
    @Option(help: ArgumentHelp("File of the accounts.", valueName: "file"))
    var users = "/var/lib/tributary-viewer/users"

    /// Runs `body` with the file of accounts, and converts its errors to errors with one line of text.
    func with<Result>(_ body: (UserFile) throws -> Result) throws -> Result {
        do {
            return try body(UserFile(users))
        } catch let error as AccessError {
            switch error {
            case .notAUserName, .notSources, .passwordTooShort, .passwordTooLong:
                throw UsageError("\(error)")
            default: throw Failure("\(error)")
            }
        }
    }
}

extension Role: ExpressibleByArgument {}

struct AddUserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Adds an account, or gives one a new password or token.",
        discussion: """
            The password is read from the terminal, or as one line from standard input. --token makes an account for a \
            script and prints its token, which is sent as 'Authorization: Bearer TOKEN' and is shown only once.
            """)

    @OptionGroup var file: UserFileOptions

    @Argument(help: "Its name.")
    var name: String

    @Option(
        help:
            "Role: a viewer watches and downloads; an operator also makes changes. (default: viewer)"
    )
    var role: Role?

    @Option(
        help: ArgumentHelp(
            "Sources that it may see, with their previews, separated by commas. (default: all)",
            valueName: "names"))
    var sources: String?

    @Flag(help: "Make an account for a script, with a token instead of a password.")
    var token = false

    @Flag(help: "Replace the password or token of an account that exists.")
    var replace = false

    func run() throws {
        try file.with { file in
            var scope: SourceScope?
            if let sources {
                scope = SourceScope(sources)
                if scope == nil { throw AccessError.notSources(sources) }
            }
            if token {
                print(
                    try file.addScript(name, role: role, sources: scope, replacing: replace))
                Console().tell("This is the token of \(name); it is kept nowhere else.")
                return
            }
            let password = try Self.readPassword(for: name)
            try file.add(
                name, password: password, role: role, sources: scope, replacing: replace)
            print("\(name) can log in now")
        }
    }

    /// Reads a password: twice from a terminal without echo, otherwise as one line of standard input.
    private static func readPassword(for name: String) throws -> String {
        guard isatty(0) == 1 else {
            guard let line = readLine(strippingNewline: true) else {
                throw UsageError("no password on standard input: give it as one line")
            }
            return line
        }
        let first = try hidden(
            "Password for \(name) (at least \(UserFile.minimumPasswordCharacters) characters): ")
        guard try hidden("The same again: ") == first else {
            throw UsageError("the two passwords differ: enter the same password twice")
        }
        return first
    }

    private static func hidden(_ prompt: String) throws -> String {
        var before = termios()
        guard tcgetattr(0, &before) == 0 else {
            throw Failure("the terminal cannot be read: give the password on standard input")
        }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(0, TCSAFLUSH, &silent)
        defer {
            tcsetattr(0, TCSAFLUSH, &before)
            Console().endInput()
        }
        _ = prompt.withCString { write(2, $0, strlen($0)) }
        guard let line = readLine(strippingNewline: true) else {
            throw Failure("no password was given")
        }
        return line
    }
}

struct RemoveUserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Removes an account; it is logged out at once.")

    @OptionGroup var file: UserFileOptions

    @Argument(help: "Its name.")
    var name: String

    func run() throws {
        try file.with { try $0.remove(name) }
        print("\(name) may not look any more")
    }
}

struct ListUsersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the accounts.")

    @OptionGroup var file: UserFileOptions

    @Flag(help: "Print JSON.")
    var json = false

    private struct Line: Encodable {
        var name: String
        var role: String
        var sources: String
        var isScript: Bool
    }

    func run() throws {
        let accounts = try file.with { try $0.accounts() }
        let lines = accounts.map {
            Line(
                name: $0.name, role: $0.rights.role.rawValue, sources: $0.rights.sources.text,
                isScript: $0.isScript)
        }
        if json { return try JSONOutput.print(lines) }
        var table = Table(["NAME", "ROLE", "SOURCES", "LOGS IN WITH"])
        for line in lines {
            table.add([line.name, line.role, line.sources, line.isScript ? "token" : "password"])
        }
        table.lines().forEach { print($0) }
    }
}
