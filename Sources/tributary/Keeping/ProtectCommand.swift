import Archive
import ArgumentParser
import Terminal

/// `tributary protect`: keeps a session whatever the collector's limits say.
struct ProtectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "protect",
        abstract: "Keeps a session: --keep-age, --keep-bytes and --keep-free leave it alone.",
        discussion: "A collector that is running sees it within half a minute.")

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "A session, or 'latest'.")
    var session: String

    @Flag(help: "Keep it no longer than the limits say.")
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
