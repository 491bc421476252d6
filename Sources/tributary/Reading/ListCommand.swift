import Archive
import ArgumentParser
import Terminal

/// `tributary ls`: what is there, from the catalog, or from names and sizes where there is none.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists sessions, or the segments of a session.",
        discussion: """
            For sessions: name and tags ('tributary note'), state, sources, segments and size. For segments: start and end in UTC, and \
            size. --from and --until take a date, or a date and a time: 2026-11-20, '2026-11-20 22:40' and 2026-11-20T22:40 \
            are local time, 2026-11-20T22:40:00Z is UTC, 2026-11-20T22:40:00+01:00 has a time zone. A date alone means its \
            start.
            """)

    @OptionGroup var archive: ArchiveOptions

    @Argument(
        help: ArgumentHelp(
            "A session whose segments are listed: its ID, a name or tag set by 'note', its directory, or 'latest' for the newest. An archive directory: its sessions are listed.",
            valueName: "session"))
    var session: String?

    @Option(
        help: ArgumentHelp(
            "Only sessions or segments with media after this time.", valueName: "time"))
    var from: CalendarInstant?

    @Option(
        help: ArgumentHelp(
            "Only sessions or segments with media before this time.", valueName: "time"))
    var until: CalendarInstant?

    @Option(
        help: ArgumentHelp(
            "Only sessions with this tag. Repeatable; sessions must have all tags.",
            valueName: "tag"))
    var tag: [String] = []

    @Flag(help: "Print names only, one per line.")
    var names = false

    @Flag(help: "Print JSON.")
    var json = false

    /// A session in one line.
    private struct SessionRow: Encodable {
        var session: String
        var state: String
        /// Whether a collector runs in the archive: without one, nothing is recorded.
        var isCollectorRunning: Bool
        var isProtected: Bool
        var sources: [String]
        var segments: Int
        var sizeBytes: UInt64
        /// What people say of it.
        var name: String?
        var tags: [String] = []
        var note: String?
    }

    func validate() throws {
        if let from, let until, from.nanoseconds >= until.nanoseconds {
            throw ValidationError("--from must be before --until")
        }
    }

    func run() throws {
        try withArchiveErrors {
            guard let session else { return try listSessions(in: try archive.openLayout()) }
            if case .archive(let layout) = try archive.place(session) {
                return try listSessions(in: layout)
            }
            if !tag.isEmpty {
                throw UsageError("--tag filters sessions: leave out '\(session)'")
            }
            let (name, layout) = try archive.oneSession(session)
            try SegmentList(
                session: name, layout: layout, from: from?.nanoseconds, until: until?.nanoseconds
            ).show(names: names, json: json)
        }
    }

    private func listSessions(in layout: ArchiveLayout) throws {
        let state = try SessionState(layout)
        var rows: [SessionRow]
        let found = try ReadableCatalog.ask(layout) { catalog throws(ArchiveError) in
            try catalog.sessions(from: from?.nanoseconds, until: until?.nanoseconds).map {
                (listing) throws(ArchiveError) in try row(listing, catalog, layout, state)
            }
        }
        if let found {
            rows = found
        } else {
            try refuseRange()
            rows = try layout.sessionNames().map { try row($0, layout, state) }
        }
        if !tag.isEmpty { rows = rows.filter { Set(tag).isSubset(of: $0.tags) } }
        if json { return try JSONOutput.print(rows) }
        if names { return rows.forEach { print($0.session) } }
        show(rows, state)
    }

    private func show(_ rows: [SessionRow], _ state: SessionState) {
        // Most archives have no tags: no column for nothing.
        let hasTags = rows.contains { !$0.tags.isEmpty }
        let tags = hasTags ? ["TAGS"] : []
        var table = Table(
            ["SESSION"] + tags + ["STATE", "SOURCES", "SEGMENTS", "SIZE"],
            rightAligned: hasTags ? [4, 5] : [3, 4])
        for row in rows {
            let text = state.text(row.state)
            let own = hasTags ? [oneLine(row.tags.joined(separator: ", "))] : []
            table.add(
                [row.name.map { "\(row.session) \"\(oneLine($0))\"" } ?? row.session] + own + [
                    row.isProtected ? "\(text), protected" : text,
                    row.sources.joined(separator: " "), "\(row.segments)",
                    "\(ByteCount(Int64(clamping: row.sizeBytes)))",
                ])
        }
        table.lines().forEach { print($0) }
    }

    private func refuseRange() throws {
        guard from == nil, until == nil else {
            throw Failure(
                "--from and --until need the catalog, which does not exist: create it with "
                    + "'tributary index', or start the collector")
        }
    }

    /// A session as the catalog has it; what grows is looked at.
    private func row(
        _ listing: CatalogListing, _ catalog: any CatalogStore, _ layout: ArchiveLayout,
        _ state: SessionState
    ) throws(ArchiveError) -> SessionRow {
        var size = listing.sizeBytes
        if listing.state != SessionManifest.State.finished.rawValue {
            for segment in try catalog.growingSegments(of: listing.session) {
                let path = "\(layout.source(listing.session, segment.source))/\(segment.file)"
                if FileSystem.exists(path) { size += try FileSystem.size(path) }
            }
        }
        return SessionRow(
            session: listing.session, state: listing.state,
            isCollectorRunning: state.isCollectorRunning, isProtected: listing.isProtected,
            sources: listing.sources, segments: listing.segments, sizeBytes: size,
            name: listing.notes.name, tags: listing.notes.tags, note: listing.notes.note)
    }

    private func row(
        _ session: String, _ layout: ArchiveLayout, _ collector: SessionState
    ) throws -> SessionRow {
        let sources = try layout.sourceNames(session)
        let paths = try sources.flatMap { try layout.segmentPaths(session, $0) }
        let state: String
        do throws(ArchiveError) {
            state = try SessionManifest.read(layout.manifest(session)).state.rawValue
        } catch {
            state = "unreadable"
        }
        let notes = SessionLabels.read(session, in: layout)
        return SessionRow(
            session: session, state: state, isCollectorRunning: collector.isCollectorRunning,
            isProtected: SessionProtection.isProtected(session, in: layout), sources: sources,
            segments: paths.count,
            sizeBytes: try paths.reduce(0) { $0 + (try FileSystem.size($1)) }, name: notes.name,
            tags: notes.tags, note: notes.note)
    }
}
