import Archive
import ArgumentParser
import Catalog
import JSON
import Library
import Media
import Recordings
import Terminal

/// `tributary ls`: lists sessions from the catalog, or from names and sizes without one.
struct ListCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive"]

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

    func validate() throws {
        if let from, let until, from.nanoseconds >= until.nanoseconds {
            throw ValidationError("--from must be before --until")
        }
    }

    func run() throws {
        try withArchiveErrors {
            guard let session else {
                // Local sessions are listed without the store, too.
                let finder = try archive.finder(waiting: .lenient)
                try listSessions(of: try finder.library())
                return try finder.checkComplete()
            }
            let finder = try archive.finder()
            if case .archive(let library) = try finder.place(session) {
                return try listSessions(of: library)
            }
            if !tag.isEmpty {
                throw UsageError("--tag filters sessions: leave out '\(session)'")
            }
            try listSegments(of: try finder.oneSession(session))
            try finder.checkComplete()
        }
    }

    private func listSegments(of session: FoundSession) throws {
        let segments = try session.library.segments(
            of: session.name, from: from?.nanoseconds, until: until?.nanoseconds)
        if json { return try JSONOutput.print(segments) }
        if names { return segments.forEach { print($0.path) } }
        SegmentTable.lines(segments).forEach { print($0) }
    }

    private func listSessions(of library: RecordingLibrary) throws {
        let sessions = try library.sessions(
            from: from?.nanoseconds, until: until?.nanoseconds, tags: tag)
        if library.isLocal, let strays = try library.layout.strays() { Program.complain(strays) }
        if json {
            try JSONOutput.print(sessions)
        } else if names {
            sessions.forEach { print($0.session) }
        } else {
            show(sessions, in: library)
        }
    }

    private func show(_ rows: [SessionListing], in library: RecordingLibrary) {
        // Most archives have no tags: no column for nothing.
        let hasTags = rows.contains { !$0.tags.isEmpty }
        let tags = hasTags ? ["TAGS"] : []
        var table = Table(
            ["SESSION"] + tags + ["STATE", "SOURCES", "SEGMENTS", "SIZE"],
            rightAligned: hasTags ? [4, 5] : [3, 4])
        for row in rows {
            let text = SessionStateText.of(row.state, isCollectorRunning: row.isCollectorRunning)
            let own = hasTags ? [oneLine(row.tags.joined(separator: ", "))] : []
            table.add(
                [row.name.map { "\(row.session) \"\(oneLine($0))\"" } ?? row.session] + own + [
                    text + Self.protection(row, in: library),
                    Self.sources(row), "\(row.segments)",
                    "\(ByteCount(Int64(clamping: row.sizeBytes)))",
                ])
        }
        table.lines().forEach { print($0) }
    }

    private static func protection(
        _ row: SessionListing, in library: RecordingLibrary
    ) -> String {
        if row.isProtected { return ", protected" }
        return library.members.isEmpty
            ? "" : SessionStateText.protection(of: row.session, in: library)
    }

    /// `door +preview yard`.
    private static func sources(_ row: SessionListing) -> String {
        let previews = SourcePreviews(row.sources)
        return row.sources.filter { !previews.isPreview($0) }
            .map { previews.preview(of: $0) == nil ? $0 : "\($0) +preview" }
            .joined(separator: " ")
    }
}
