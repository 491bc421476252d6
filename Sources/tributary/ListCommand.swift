import Archive
import ArgumentParser
import Terminal

/// `tributary ls`: what is there, from the catalog, or from names and sizes where there is none.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists sessions, or the segments of one.")

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "A session; its segments are listed. 'latest' is the newest.")
    var session: String?

    @Option(help: ArgumentHelp("Only what has something after that time, UTC.", valueName: "utc"))
    var from: TimelinePoint?

    @Option(help: ArgumentHelp("Only what has something before that time, UTC.", valueName: "utc"))
    var until: TimelinePoint?

    @Flag(help: "Print names only, one a line.")
    var names = false

    @Flag(help: "Print JSON.")
    var json = false

    /// A session in one line.
    private struct SessionRow: Encodable {
        var session: String
        var state: String
        var isProtected: Bool
        var sources: [String]
        var segments: Int
        var sizeBytes: UInt64
        /// What people say of it.
        var name: String?
        var tags: [String] = []
        var note: String?
    }

    /// A segment in one line.
    private struct SegmentRow: Encodable {
        var source: String
        var segment: String
        var path: String
        var sizeBytes: UInt64
    }

    func validate() throws {
        for point in [from, until] {
            if case .session? = point {
                throw ValidationError(
                    "--from and --until are instants of UTC here, such as 2026-11-20T22:40:00Z")
            }
        }
        if let from = Self.utc(from), let until = Self.utc(until), from >= until {
            throw ValidationError("--from is not before --until: nothing would be found")
        }
    }

    private static func utc(_ point: TimelinePoint?) -> Int64? {
        point?.sessionNanoseconds(zeroUTCNanoseconds: 0)
    }

    func run() throws {
        try withArchiveErrors {
            if let session {
                try listSegments(of: archive.session(named: session))
            } else {
                try listSessions()
            }
        }
    }

    private func listSessions() throws {
        let layout = try archive.openLayout()
        let rows: [SessionRow]
        let found = try ReadableCatalog.ask(layout) { catalog throws(ArchiveError) in
            try catalog.sessions(from: Self.utc(from), until: Self.utc(until)).map {
                (listing) throws(ArchiveError) in try row(listing, catalog, layout)
            }
        }
        if let found {
            rows = found
        } else {
            try refuseRange()
            rows = try layout.sessionNames().map { try row($0, layout) }
        }
        if json { return try JSONOutput.print(rows) }
        if names { return rows.forEach { print($0.session) } }
        var table = Table(
            ["SESSION", "STATE", "SOURCES", "SEGMENTS", "SIZE"], rightAligned: [3, 4])
        for row in rows {
            table.add([
                row.name.map { "\(row.session) \"\($0)\"" } ?? row.session,
                row.isProtected ? "\(row.state), protected" : row.state,
                row.sources.joined(separator: " "), "\(row.segments)",
                "\(ByteCount(Int64(row.sizeBytes)))",
            ])
        }
        table.lines().forEach { print($0) }
    }

    private func refuseRange() throws {
        guard from == nil, until == nil else {
            throw Failure(
                "--from and --until need the catalog, which is not there: 'tributary index' makes it, "
                    + "or the collector that records here")
        }
    }

    /// A session as the catalog has it; what grows is looked at.
    private func row(
        _ listing: CatalogListing, _ catalog: Catalog, _ layout: ArchiveLayout
    ) throws(ArchiveError) -> SessionRow {
        var size = listing.sizeBytes
        if listing.state != SessionManifest.State.finished.rawValue {
            for segment in try catalog.growingSegments(of: listing.session) {
                let path = "\(layout.source(listing.session, segment.source))/\(segment.file)"
                if FileSystem.exists(path) { size += try FileSystem.size(path) }
            }
        }
        return SessionRow(
            session: listing.session, state: listing.state, isProtected: listing.isProtected,
            sources: listing.sources, segments: listing.segments, sizeBytes: size,
            name: listing.notes.name, tags: listing.notes.tags, note: listing.notes.note)
    }

    private func row(_ session: String, _ layout: ArchiveLayout) throws -> SessionRow {
        let sources = try layout.sourceNames(session)
        let paths = try sources.flatMap { try layout.segmentPaths(session, $0) }
        let state: String
        do throws(ArchiveError) {
            state = try SessionManifest.read(layout.manifest(session)).state.rawValue
        } catch {
            state = "unreadable"
        }
        return SessionRow(
            session: session, state: state,
            isProtected: SessionProtection.isProtected(session, in: layout), sources: sources,
            segments: paths.count,
            sizeBytes: try paths.reduce(0) { $0 + (try FileSystem.size($1)) })
    }

    private func listSegments(of session: String) throws {
        let layout = archive.layout
        var rows: [SegmentRow] = []
        if from != nil || until != nil {
            let found = try ReadableCatalog.ask(layout) { catalog throws(ArchiveError) in
                try catalog.segments(of: session, from: Self.utc(from), until: Self.utc(until))
            }
            guard let found else { return try refuseRange() }
            for segment in found {
                let path = "\(layout.source(session, segment.source))/\(segment.file)"
                rows.append(
                    SegmentRow(
                        source: segment.source, segment: segment.file, path: path,
                        sizeBytes: try FileSystem.size(path)))
            }
        } else {
            for source in try layout.sourceNames(session) {
                for path in try layout.segmentPaths(session, source) {
                    let name = path.split(separator: "/").last.map(String.init) ?? path
                    rows.append(
                        SegmentRow(
                            source: source, segment: name, path: path,
                            sizeBytes: try FileSystem.size(path)))
                }
            }
        }
        if json { return try JSONOutput.print(rows) }
        if names { return rows.forEach { print($0.path) } }
        var table = Table(["SOURCE", "SEGMENT", "SIZE"], rightAligned: [2])
        for row in rows {
            table.add([row.source, row.segment, "\(ByteCount(Int64(row.sizeBytes)))"])
        }
        table.lines().forEach { print($0) }
    }
}
