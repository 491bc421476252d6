import ArgumentParser
import Catalog
import Library
import Recordings
import Terminal

/// `tributary protect`: exempts a session from the collector's limits.
struct ProtectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "protect",
        abstract: "Protects a session from removal by --keep-age, --keep-bytes and --keep-free.",
        discussion: "A running collector applies it within 30 seconds.")

    @OptionGroup var archive: DirectoryOptions
    @OptionGroup var catalog: CatalogOptions

    @Argument(help: "A session, or 'latest'.")
    var session: String

    @Flag(help: "Remove the protection.")
    var off = false

    func run() throws {
        try withArchiveErrors {
            let place = try archive.finder(
                try catalog.forWriting("tributary")
            ).session(named: session)
            try place.library.setProtected(!off, place.name)
            CollectorControl.tellChange(of: place.name, in: place.library.layout)
            print(
                off ? "\(place.name) is no longer protected" : "\(place.name) is protected")
        }
    }
}
