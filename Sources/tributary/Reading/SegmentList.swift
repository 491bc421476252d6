import Archive
import Terminal

/// A session's segments: what is recorded between two times.
struct SegmentList {
    /// A segment in one line.
    private struct Row: Encodable {
        var source: String
        var segment: String
        var path: String
        /// Session time; nil: nothing that can be read is in it yet.
        var startNanoseconds: Int64?
        var endNanoseconds: Int64?
        /// The same, RFC 3339.
        var start: String?
        var end: String?
        var sizeBytes: UInt64
    }

    let session: String
    let layout: ArchiveLayout
    /// Nanoseconds since 1970, UTC.
    let from: Int64?
    let until: Int64?

    /// Prints the list.
    func show(names: Bool, json: Bool) throws {
        let rows = try rows()
        if json { return try JSONOutput.print(rows) }
        if names { return rows.forEach { print($0.path) } }
        var table = Table(
            ["SOURCE", "BEGINS (UTC)", "ENDS (UTC)", "LASTS", "SIZE", "SEGMENT"],
            rightAligned: [3, 4])
        for row in rows {
            table.add([
                row.source, Self.text(row.start), Self.text(row.end), Self.length(row),
                "\(ByteCount(Int64(clamping: row.sizeBytes)))", row.segment,
            ])
        }
        table.lines().forEach { print($0) }
    }

    private static func text(_ instant: String?) -> String {
        instant.map { String($0.replacing("T", with: " ").dropLast()) } ?? "–"
    }

    private static func length(_ row: Row) -> String {
        guard let start = row.startNanoseconds, let end = row.endNanoseconds else { return "–" }
        let (length, overflow) = end.subtractingReportingOverflow(start)
        return overflow ? "–" : InstantText.seconds(length)
    }

    private func rows() throws -> [Row] {
        let zero = try zero()
        return try paths().compactMap { source, path in
            var row = Row(
                source: source, segment: path.split(separator: "/").last.map(String.init) ?? path,
                path: path, sizeBytes: try FileSystem.size(path))
            if let span = span(path) {
                row.startNanoseconds = span.startNanoseconds
                row.endNanoseconds = span.endNanoseconds
                row.start = InstantText.utc(span.startNanoseconds, zero: zero)
                row.end = InstantText.utc(span.endNanoseconds, zero: zero)
            }
            return isWanted(row, zero) ? row : nil
        }
    }

    /// The session's description may be damaged: its name says its zero, to the millisecond.
    private func zero() throws -> UTCTime {
        do throws(ArchiveError) {
            return try SessionManifest.read(layout.manifest(session)).zeroTime
        } catch {
            guard let zero = UTCTime(fileName: session.prefix(24)) else { throw error }
            return zero
        }
    }

    private func span(_ path: String) -> RecordedSpan? {
        do throws(ArchiveError) {
            return try RecordedSpan(of: path)
        } catch {
            // It is there, and listed; `verify` says what is wrong with it.
            return nil
        }
    }

    /// Those that the catalog finds in the wanted time; without one, all.
    private func paths() throws -> [(source: String, path: String)] {
        if from != nil || until != nil {
            let found = try ReadableCatalog.ask(layout) { catalog throws(ArchiveError) in
                try catalog.segments(of: session, from: from, until: until)
            }
            if let found {
                return found.map {
                    ($0.source, "\(layout.source(session, $0.source))/\($0.file)")
                }
            }
        }
        return try layout.sourceNames(session).flatMap { source in
            try layout.segmentPaths(session, source).map { (source, $0) }
        }
    }

    private func isWanted(_ row: Row, _ zero: UTCTime) -> Bool {
        guard from != nil || until != nil else { return true }
        guard let start = row.startNanoseconds, let end = row.endNanoseconds else { return true }
        func instant(_ time: Int64) -> Int64 {
            let (sum, overflow) = zero.nanoseconds.addingReportingOverflow(time)
            return overflow ? .max : sum
        }
        return instant(end) > from ?? .min && instant(start) < until ?? .max
    }
}
