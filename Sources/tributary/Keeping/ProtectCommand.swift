import Archive
import ArgumentParser
import Terminal

/// `tributary protect`: keeps a session whatever the collector's limits say.
struct ProtectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "protect",
        abstract: "Protects a session from removal by --keep-age, --keep-bytes and --keep-free.",
        discussion: "A running collector applies it within 30 seconds.")

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "A session, or 'latest'.")
    var session: String

    @Flag(help: "Remove the protection.")
    var off = false

    func run() throws {
        try withArchiveErrors {
            let name = try archive.session(named: session)
            try SessionProtection.set(!off, of: name, in: archive.layout)
            try CatalogIndexing.noteLabels(of: name, archive.layout)
            print(off ? "\(name) is no longer protected" : "\(name) is protected")
        }
    }
}
