import ArgumentParser
import Terminal

/// The archive's command line.
@main
struct TributaryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tributary",
        abstract:
            "Lists, shows, verifies and replays recordings, keeps the keys, watches collectors, commands agents.",
        discussion: """
            Recordings are looked for in ./recordings, or where --archive (TRIBUTARY_ARCHIVE) says. Exit status: 0 done, \
            1 the work failed or 'verify' found damage, 64 wrong usage.
            """,
        version: Version.number,
        subcommands: [
            ListCommand.self, ShowCommand.self, VerifyCommand.self, InspectCommand.self,
            ExportCommand.self, ExtractCommand.self, RemuxCommand.self, ImportCommand.self,
            ProtectCommand.self, RetimeCommand.self, ReplayCommand.self, IndexCommand.self,
            NoteCommand.self, RemoveCommand.self, KeysCommand.self,
            StopCommand.self, AgentCommand.self, TopCommand.self,
        ])

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        do throws(UsageError) {
            let arguments = try AgentCommand.arranged(words)
            Program.main(TributaryCommand.self, arguments: arguments)
        } catch {
            Program.refuse(error, name: _commandName)
        }
    }
}
