import Archive
import ArgumentParser
import Terminal

/// `tributary rm`: sessions that nobody wants any more.
struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Removes finished sessions.",
        discussion: """
            Protected and unfinished sessions are not removed. A session is renamed before its files are deleted, so a crash leaves \
            no partial session; a collector completes the removal.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: ArgumentHelp("Sessions, or 'latest'.", valueName: "session"))
    var sessions: [String]

    @Flag(help: "Only print what would be removed.")
    var dryRun = false

    func run() throws {
        try withArchiveErrors {
            let layout = try archive.openLayout()
            // All of them are looked at before the first one goes.
            let names = try sessions.map { try removable($0, layout) }
            // 'latest' may be one that is named too.
            for (index, name) in names.enumerated() where !names[..<index].contains(name) {
                let bytes = try size(of: name, layout)
                if dryRun {
                    print("would remove \(name), \(ByteCount(bytes))")
                    continue
                }
                try SessionRemoval.remove(name, from: layout)
                try CatalogIndexing.refresh(name, layout)
                print("removed \(name), \(ByteCount(bytes))")
            }
        }
    }

    private func removable(_ session: String, _ layout: ArchiveLayout) throws -> String {
        let name = try archive.session(named: session)
        if SessionProtection.isProtected(name, in: layout) {
            throw Failure(
                "\(name) is protected: 'tributary protect --off \(name)' removes the protection")
        }
        let manifest = try SessionManifest.read(layout.manifest(name))
        guard manifest.state == .finished else {
            throw Failure(
                "\(name) is not finished: end it with 'tributary stop', or start the collector to finish it after a crash"
            )
        }
        return name
    }

    private func size(of session: String, _ layout: ArchiveLayout) throws -> Int64 {
        var bytes: UInt64 = 0
        for source in try layout.sourceNames(session) {
            for path in try layout.segmentPaths(session, source) {
                bytes += try FileSystem.size(path)
            }
        }
        return Int64(clamping: bytes)
    }
}
