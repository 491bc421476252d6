import Archive
import ArgumentParser
import Catalog
import Library
import Recordings
import Terminal

/// `tributary rm`: removes sessions.
struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Removes finished sessions.",
        discussion: """
            Protected and unfinished sessions are not removed. A session is renamed before its files are deleted, so a crash leaves \
            no partial session; a collector completes the removal. What an object store has of a session is removed by a collector \
            with --store, possibly later.
            """)

    @OptionGroup var archive: DirectoryOptions
    @OptionGroup var catalog: CatalogOptions

    @Argument(help: ArgumentHelp("Sessions, or 'latest'.", valueName: "session"))
    var sessions: [String]

    @Flag(help: "Only print what would be removed.")
    var dryRun = false

    func run() throws {
        try withArchiveErrors {
            // All of them are checked before the first one is removed.
            let finder = archive.finder(
                try catalog.forWriting("tributary"))
            let places = try sessions.map { try finder.session(named: $0) }
            let sizes = try places.map { try $0.library.checkRemovable($0.name) }
            var done: Set<String> = []
            // 'latest' may be one that is named too.
            for (place, bytes) in zip(places, sizes) where done.insert(place.name).inserted {
                if dryRun {
                    print("would remove \(place.name), \(ByteCount(bytes))")
                    continue
                }
                try place.library.remove(place.name)
                // Read before a collector can complete the removal.
                let store = try StoredDocuments.store(
                    ofRemoved: place.name, in: place.library.layout)
                CollectorControl.tellChange(of: place.name, in: place.library.layout)
                print("removed \(place.name), \(ByteCount(bytes))")
                if let store {
                    print(
                        "\(place.name) is also in \(oneLine(store)): a collector with --store \(oneLine(store)) removes it there"
                    )
                }
            }
        }
    }
}
