import Archive
import ArgumentParser
import Terminal

/// `tributary ls`: what is there, from names and sizes alone.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists sessions, or the segments of one.")

    @OptionGroup var archive: ArchiveOptions

    @Argument(help: "A session; its segments are listed. 'latest' is the newest.")
    var session: String?

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
    }

    /// A segment in one line.
    private struct SegmentRow: Encodable {
        var source: String
        var segment: String
        var path: String
        var sizeBytes: UInt64
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
        let rows = try layout.sessionNames().map { try row($0, layout) }
        if json { return try JSONOutput.print(rows) }
        if names { return rows.forEach { print($0.session) } }
        var table = Table(
            ["SESSION", "STATE", "SOURCES", "SEGMENTS", "SIZE"], rightAligned: [3, 4])
        for row in rows {
            table.add([
                row.session,
                row.isProtected ? "\(row.state), protected" : row.state,
                row.sources.joined(separator: " "), "\(row.segments)",
                "\(ByteCount(Int64(row.sizeBytes)))",
            ])
        }
        table.lines().forEach { print($0) }
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
        for source in try layout.sourceNames(session) {
            for path in try layout.segmentPaths(session, source) {
                let name = path.split(separator: "/").last.map(String.init) ?? path
                rows.append(
                    SegmentRow(
                        source: source, segment: name, path: path,
                        sizeBytes: try FileSystem.size(path)))
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
