import Archive
import ArgumentParser
import Catalog
import Files
import JSON
import Library
import ObjectStore
import Recordings
import Terminal

/// `tributary retime`: a session's timeline computed again, with all that was learned of the clocks.
struct RetimeCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

    static let configuration = CommandConfiguration(
        commandName: "retime",
        abstract: "Recomputes the timestamps of a finished session from all its clock exchanges.",
        discussion: """
            During recording, timestamps are based on the clock exchanges so far. Afterwards all exchanges are known, including later \
            ones, so timestamps can be more accurate. Only the index of each file is rewritten: the media is not changed, files stay \
            playable at any time, and --undo restores the recorded files byte for byte.

            Samples of a network camera are placed by its RTP timestamps and the quickest packets before and after them, where the \
            timestamps agree with the arrivals.

            On a site of several collectors, the first --archive is retimed, and further ones are only read: exchanges of its sources \
            with other collectors count as far as these have measured each other's clocks. With --catalog \(CatalogReference.serverForm) and one \
            --archive, those of the site's archives that are directories of this machine are read. Retime each archive by itself.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "A session, or 'latest' for the newest.")
    var session: String

    @Flag(help: "Only print what would change.")
    var dryRun = false

    @Flag(help: "Restore the recorded timestamps.")
    var undo = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    func run() throws {
        let (report, finders) = try withArchiveErrors {
            let (place, peers, finders) = try subject()
            let layout = try place.library.files(of: place.name, to: "retime a session")
            let retimer = try SessionRetimer(place.name, in: layout, peers: peers)
            let report =
                undo ? try retimer.undo(isDryRun: dryRun) : try retimer.retime(isDryRun: dryRun)
            // Files have other lengths and sizes now.
            if !dryRun {
                try place.library.refreshCatalog(place.name)
                CollectorControl.tellChange(of: place.name, in: layout)
            }
            return (report, finders)
        }
        if json { try JSONOutput.print(report) } else { show(report) }
        for finder in finders { try finder.checkComplete() }
    }

    /// The session in the archive that is changed, the site's other archives that have parts of it, and what has read them.
    private func subject() throws -> (FoundSession, [RetimingPeer], [SessionFinder]) {
        var others = Array(archive.archives.dropFirst())
        if let bucket = others.first(where: StoreAddress.isAddress) {
            throw Failure(
                "--archive \(bucket) is an object store, and retiming reads directories: give the collector's archive"
            )
        }
        let catalog = try archive.catalog.forWriting("tributary")
        let first = try archive.first()
        if others.isEmpty, !undo {
            let found = try archive.siteDirectories(catalog)
            found.problems.forEach { Program.complain($0) }
            let own = NamedPath.identity(archive.archives[0])
            others = found.paths.filter { NamedPath.identity($0) != own }
        }
        let finder = SessionFinder(first, catalog: catalog) { Program.complain($0) }
        guard !others.isEmpty, !undo else {
            return (try finder.session(named: session), [], [finder])
        }
        let all = ArchiveReference([first] + others.map { ArchiveReference(directory: $0) })
        let joint = SessionFinder(all) { Program.complain($0) }
        let merged = try joint.session(named: session)
        let library = try finder.library()
        let copies = try merged.library.copies(of: merged.name) ?? []
        let isOwn = { (copy: SessionCopy) in copy.place == library.name }
        guard let own = copies.first(where: isOwn)?.session ?? (copies.isEmpty ? merged.name : nil),
            try library.hasSession(own)
        else {
            throw LibraryError.noSession(session, archive: library.name)
        }
        let peers = copies.filter { !isOwn($0) }.compactMap { copy in
            copy.layout.map {
                RetimingPeer(name: copy.archive, layout: $0, session: copy.session)
            }
        }
        if peers.isEmpty { Program.complain("no other archive has a part of \(own)") }
        return (FoundSession(name: own, library: library), peers, [finder, joint])
    }

    private func show(_ report: RetimingReport) {
        for source in report.sources {
            let clocks =
                undo
                ? "" : ", \(source.believedExchanges) of \(source.exchanges) clock exchanges used"
            print("\(source.name)\(clocks)")
            var table = Table(
                ["  SEGMENT", "", "MOVES BY", "AT MOST", "CLOCK ±", "NOW ±"],
                rightAligned: [2, 3, 4, 5])
            for file in source.files {
                let name = Path.name(of: file.path)
                table.add([
                    "  \(name)", text(file.outcome), Self.text(file.medianShiftNanoseconds),
                    Self.text(file.greatestShiftNanoseconds),
                    Self.text(file.boundBefore?.medianNanoseconds),
                    Self.text(file.boundAfter?.medianNanoseconds),
                ])
            }
            table.lines().forEach { print($0) }
            let cameras = source.files.compactMap(\.camera)
            if let median = cameras.map(\.medianShiftNanoseconds).max(),
                let greatest = cameras.map(\.greatestShiftNanoseconds).max()
            {
                print(
                    "  \(cameras.reduce(0) { $0 + $1.samples }) samples placed by the camera's timestamps: "
                        + "moved by \(Self.text(median)), at most by \(Self.text(greatest))")
            }
        }
        for peer in report.peers ?? [] {
            var used: [String] = []
            if !peer.sources.isEmpty {
                used.append("its exchanges with \(peer.sources.joined(separator: ", "))")
            }
            if peer.tiedClocks > 0 { used.append("its clock across restarts of this collector") }
            print("\(peer.name): \(used.joined(separator: "; "))")
        }
        report.problems?.forEach { print($0) }
        if report.isDryRun { print("--dry-run: nothing was changed") }
    }

    private func text(_ outcome: RetimingReport.File.Outcome) -> String {
        switch outcome {
        case .retimed: dryRun ? "would be retimed" : "retimed"
        case .unchanged: undo ? "as recorded" : "already retimed"
        case .restored: dryRun ? "would be restored" : "restored"
        case .withoutExchanges: "no clock exchanges"
        }
    }

    private static func text(_ nanoseconds: UInt64?) -> String {
        guard let nanoseconds else { return "-" }
        return ClockText.duration(Int64(clamping: nanoseconds))
    }
}
