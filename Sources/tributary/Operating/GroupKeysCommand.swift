import ArgumentParser
import Glibc
import Messaging
import Terminal
import Trust

/// `tributary keys export`: this server's keys, for the other collectors of its group.
struct ExportKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "On a server: prints its keys for the other collectors of a group.",
        discussion: """
            Collectors that stand in for each other have the same key pair and admit the same agents. The output contains this \
            server's secret key: send it through ssh, or use -o, which makes a file for its owner alone, and delete that.

              tributary keys export | ssh other.example sudo tributary keys import -

            Servers that mount one directory (--keys) need neither command.
            """)

    @OptionGroup var directory: KeyDirectoryOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "File to write, readable by its owner alone. (default: standard output)",
            valueName: "file"))
    var output: String?

    func run() throws {
        try directory.with { directory in
            let group = try directory.group()
            if let output {
                try group.write(to: output)
                return
            }
            guard isatty(1) == 0 else {
                throw UsageError(
                    "the output contains a secret key: use a pipe, as in 'tributary keys export | ssh SERVER sudo tributary keys import -', or -o FILE"
                )
            }
            print(String(decoding: group.text(), as: UTF8.self), terminator: "")
        }
    }
}

/// `tributary keys import`: the keys of a group of collectors.
struct ImportKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "On a server: takes over the keys that 'keys export' printed on another one.",
        discussion: """
            Run it again after each change of the list on the other server. Agents that are only here stay. What is revoked here \
            stays revoked, and a box that has enrolled here keeps its key. A running collector applies changes of the list within \
            two seconds; a new secret key needs a restart.
            """)

    @OptionGroup var directory: KeyDirectoryOptions

    @Argument(help: "File to read; - for standard input.")
    var file: String

    @Flag(help: "Replace this server's secret key, and other keys of the same names.")
    var replace = false

    /// Standard input.
    private static func input() -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count <= KeyGroup.maximumBytes,
            let line = readLine(strippingNewline: false)
        {
            bytes += line.utf8
        }
        return bytes
    }

    func run() throws {
        try directory.with { directory in
            let group = try file == "-" ? KeyGroup(Self.input(), path: "the input") : .read(file)
            let imported = try directory.take(group, replacing: replace)
            print(
                "\(directory.path): \(imported.added.count) added, \(imported.changed.count) changed, \(imported.unchanged.count) unchanged"
            )
            for kept in imported.kept {
                print("not changed: \(kept.name) \(kept.reason); --replace changes it")
            }
            if imported.isOwnKeyNew {
                print(
                    "this server now has the group's key \(group.key.publicKey.text): restart its collector"
                )
            }
        }
    }
}
