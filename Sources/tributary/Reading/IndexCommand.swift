import Archive
import ArgumentParser
import Terminal

/// `tributary index`: the catalog, made again from the files.
struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Makes the catalog (tributary.sqlite) again from the recordings.",
        discussion: """
            The catalog is only an index: everything in it comes from the files. A running collector keeps it in step; this is for archives that have none, \
            or whose files were changed by hand.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Flag(
        help:
            "Change nothing; say whether the catalog is what the files say. Exit status 1 when it is not."
    )
    var check = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        try withArchiveErrors {
            let layout = try archive.openLayout()
            if check { return try compare(layout) }
            guard let lock = try ArchiveLock.take(layout) else {
                throw Failure(
                    "a collector is recording into \(archive.archive) and keeps the catalog itself: stop it first"
                )
            }
            try withExtendedLifetime(lock) {
                let (catalog, complaint) = try CatalogIndexing.openMended(layout)
                if let complaint { Program.complain(complaint) }
                let summary = try CatalogIndexing.update(catalog, layout, everything: true)
                for problem in summary.problems { Program.complain(problem) }
                if json { return try JSONOutput.print(summary) }
                print(
                    "\(summary.sessions) sessions, \(summary.segments) segments are in \(catalog.path)"
                )
            }
        }
    }

    private func compare(_ layout: ArchiveLayout) throws {
        guard let catalog = try Catalog.read(layout) else {
            throw Failure("there is no catalog in \(archive.archive): 'tributary index' makes one")
        }
        if let damage = try catalog.damage() {
            throw Failure("\(catalog.path) is damaged: \(damage); 'tributary index' makes it again")
        }
        let fresh = try Catalog.inMemory()
        let summary = try CatalogIndexing.update(fresh, layout, everything: true)
        let kept = Set(try catalog.dump())
        let wanted = Set(try fresh.dump())
        let missing = wanted.subtracting(kept).sorted()
        let surplus = kept.subtracting(wanted).sorted()
        if json {
            try JSONOutput.print(
                Comparison(
                    isEqual: missing.isEmpty && surplus.isEmpty, missing: missing, surplus: surplus)
            )
        } else {
            for line in missing { print("missing: \(line)") }
            for line in surplus { print("too much: \(line)") }
        }
        guard missing.isEmpty, surplus.isEmpty else {
            throw Failure("the catalog is not what the files say: 'tributary index' makes it again")
        }
        if !json { print("the catalog is what the files of \(summary.sessions) sessions say") }
    }

    private struct Comparison: Encodable {
        var isEqual: Bool
        var missing: [String]
        var surplus: [String]
    }
}
