import Archive
import ArgumentParser
import Catalog
import JSON
import Library
import Recordings
import Terminal

/// `tributary index`: the catalog, made again from the files.
struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract:
            "Rebuilds the catalog (tributary.sqlite, or the one of --catalog) from the recordings.",
        discussion: """
            The catalog is an index; everything in it comes from the files. A running collector keeps it up to date. Use this \
            command for an archive without a catalog, or after changing files by hand.
            """)

    @OptionGroup var archive: DirectoryOptions
    @OptionGroup var catalog: CatalogOptions

    @Flag(
        help:
            "Only create or migrate the tables of a PostgreSQL catalog, as the role that owns them."
    )
    var prepare = false

    @Flag(
        help:
            "Only check whether the catalog matches the files. Exit status 1 when it does not."
    )
    var check = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    func validate() throws {
        guard !prepare || !check else {
            throw ValidationError("--prepare and --check cannot be combined: leave one out")
        }
        guard try !prepare || catalog.forReading("tributary").server != nil else {
            throw ValidationError(
                "--prepare is for a catalog on a server: add --catalog \(CatalogReference.serverForm)"
            )
        }
    }

    func run() throws {
        let reference =
            check ? try catalog.forReading("tributary") : try catalog.forWriting("tributary")
        try withArchiveErrors {
            if prepare, let server = reference.server {
                try server.prepare()
                return print("the tables of \(server.name) are ready")
            }
            let layout = try archive.library().layout
            if check { return try compare(layout, reference) }
            guard let lock = try ArchiveLock.take(layout) else {
                throw Failure(
                    "a collector is recording into \(archive.archive) and updates the catalog itself: stop it first"
                )
            }
            try withExtendedLifetime(lock) {
                let made = try reference.place(layout).rebuild()
                if let complaint = made.complaint { Program.complain(complaint) }
                let summary = made.summary
                for problem in summary.problems { Program.complain(problem) }
                if json { return try JSONOutput.print(summary) }
                print(
                    "\(summary.sessions) sessions, \(summary.segments) segments in \(made.catalog.name)"
                )
            }
        }
    }

    private func compare(_ layout: ArchiveLayout, _ reference: CatalogReference) throws {
        let (fresh, summary) = try CatalogIndexing.inMemory(layout)
        let wanted = Set(try fresh.dump())
        let kept = try rows(layout, reference, expected: wanted.count)
        let missing = wanted.subtracting(kept).sorted()
        let surplus = kept.subtracting(wanted).sorted()
        if json {
            try JSONOutput.print(
                Comparison(
                    isEqual: missing.isEmpty && surplus.isEmpty, missing: missing, surplus: surplus)
            )
        } else {
            for line in missing { print("missing: \(line)") }
            for line in surplus { print("unexpected: \(line)") }
        }
        guard missing.isEmpty, surplus.isEmpty else {
            throw Failure("the catalog does not match the files: 'tributary index' rebuilds it")
        }
        if !json { print("the catalog matches the files of \(summary.sessions) sessions") }
    }

    /// The catalog's rows, as lines.
    /// - Parameter expected: the number of rows for the files.
    private func rows(
        _ layout: ArchiveLayout, _ reference: CatalogReference, expected: Int
    ) throws -> Set<String> {
        do {
            guard let catalog = try reference.place(layout).existing() else {
                throw Failure(
                    "there is no catalog of \(archive.archive): 'tributary index' creates it")
            }
            if let damage = try catalog.damage(expectedRows: expected) {
                throw Failure("\(catalog.name) \(damage); 'tributary index' rebuilds it")
            }
            return Set(try catalog.dump())
        } catch let error as ArchiveError where error.isForContent {
            throw Failure("\(error); 'tributary index' rebuilds it")
        }
    }

    private struct Comparison: Encodable {
        var isEqual: Bool
        var missing: [String]
        var surplus: [String]
    }
}
