import ArgumentParser
import Terminal

/// The archive's command line.
@main
struct TributaryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tributary",
        abstract:
            "Lists, verifies, exports and replays recordings; manages keys; monitors collectors; controls agents.",
        discussion: """
            The archive is ./recordings unless --archive (TRIBUTARY_ARCHIVE) is given. Exit status: 0 for success, 1 when the \
            command failed or 'verify' found damage, 64 for wrong usage.
            """,
        version: Version.number,
        subcommands: [
            ListCommand.self, ShowCommand.self, VerifyCommand.self, InspectCommand.self,
            ExportCommand.self, ExtractCommand.self, RemuxCommand.self, ImportCommand.self,
            ProtectCommand.self, RetimeCommand.self, ReplayCommand.self, ForwardCommand.self,
            IndexCommand.self,
            NoteCommand.self, MarkCommand.self, LostCommand.self, RemoveCommand.self,
            StoreCommand.self,
            KeysCommand.self,
            StopCommand.self, DrainCommand.self, AgentCommand.self, TopCommand.self,
        ])

    static func main() {
        let words = CommandArguments.all
        do throws(UsageError) {
            let arguments = try AgentCommand.arranged(words)
            Program.main(TributaryCommand.self, arguments: arguments)
        } catch {
            Program.refuse(error, name: _commandName)
        }
    }
}
