package import Archive
import Media
import Recordings

/// Summary of a session: its names, its sources, and their time ranges. At most two files per source are opened, and no media is
/// read.
package struct SessionOverview: Encodable, Sendable {
    package struct Source: Encodable, Sendable {
        package var name: String
        /// The main source, if this is a preview; nil for a main source.
        package var previewOf: String?
        package var agent: String?
        /// Its formats when it joined, a line for each track.
        package var formats: [String]
        package var isComplete: Bool
        /// Session time; nil: no readable media yet.
        package var startNanoseconds: Int64?
        package var endNanoseconds: Int64?
        package var segments: Int
        package var sizeBytes: UInt64
    }

    package var session: String
    package var zero: String
    package var state: String
    package var isCollectorRunning: Bool
    package var isProtected: Bool
    package var name: String?
    package var tags: [String]
    package var note: String?
    package var segmentNanoseconds: Int64
    package var startAt: String
    package var software: String
    package var sources: [Source]

    /// Removes the sources that an account may not see, and references to them from the others.
    package mutating func narrow(where mayRead: (String) -> Bool) {
        sources.removeAll { !mayRead($0.name) }
        let previews = SourcePreviews(sources.map(\.name))
        for index in sources.indices {
            sources[index].previewOf = previews.source(of: sources[index].name)
        }
    }
}

extension RecordingLibrary {
    /// A session at a glance.
    package func overview(of session: String) throws(ArchiveError) -> SessionOverview {
        let manifest = try manifest(session)
        let recording = try recording(session)
        let labels = labels(session)
        var sources: [SessionOverview.Source] = []
        let names = try sourceNames(session)
        let previews = SourcePreviews(names)
        for name in names {
            let entry = manifest.sources.first { $0.name == name }
            var totals = SegmentTotals()
            try totals.add(SourceKey(session: session, source: name), in: self)
            let recorded = recording.source(name)
            var source = SessionOverview.Source(
                name: name, previewOf: previews.source(of: name), agent: entry?.agent,
                formats: entry?.tracks ?? [],
                isComplete: entry?.isComplete ?? false, segments: totals.segments,
                sizeBytes: totals.sizeBytes)
            source.startNanoseconds = try recorded?.files.first.flatMap(Self.span)?.startNanoseconds
            source.endNanoseconds = try recorded?.files.last.flatMap(Self.span)?.endNanoseconds
            sources.append(source)
        }
        return SessionOverview(
            session: session, zero: manifest.zero, state: manifest.state.rawValue,
            isCollectorRunning: try isCollectorRunning(), isProtected: isProtected(session),
            name: labels.name, tags: labels.tags, note: labels.note,
            segmentNanoseconds: manifest.segmentNanoseconds,
            startAt: manifest.startAt.rawValue, software: manifest.software, sources: sources)
    }

    /// Nil where nothing in the file can be read.
    private static func span(_ file: RecordedSource.File) throws(ArchiveError) -> RecordedSpan? {
        do throws(ArchiveError) {
            return try RecordedSpan(of: file.opened())
        } catch {
            guard error.isForOneFile else { throw error }
            return nil
        }
    }
}
