import Media
import MP4

/// A session as the catalog has it: a copy of what its files say.
package struct CatalogSession: Hashable, Sendable {
    package var session: String
    /// Nanoseconds since 1970, UTC.
    package var zeroUTCNanoseconds: Int64
    package var state: String
    package var endReason: String?
    package var segmentNanoseconds: Int64
    package var software: String
    package var isProtected: Bool
    package var notes: SessionNotes
}

/// A source of a session.
package struct CatalogSource: Hashable, Sendable {
    package var source: String
    package var agent: String
    package var tracks: String
    package var isComplete: Bool
}

/// A file of a source.
package struct CatalogSegment: Hashable, Sendable {
    package var session: String
    package var source: String
    /// The file's name.
    package var file: String
    /// The session's zero.
    package var zeroUTCNanoseconds: Int64
    /// Where it begins on the session's timeline, nanoseconds, as its name says.
    package var originNanoseconds: Int64
    /// Where it ends; nil while it grows.
    package var endNanoseconds: Int64?
    /// Nil while it grows.
    package var sizeBytes: Int64?

    /// Reads a file: its front, and the beginning of its index.
    ///
    /// What cannot be read is there all the same, as one that has not ended.
    package init(session: String, source: String, path: String, zeroUTCNanoseconds: Int64) {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let origin = UTCTime(fileName: file.dropLast(ArchiveLayout.segmentSuffix.count))
        self.session = session
        self.source = source
        self.file = file
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
        originNanoseconds = (origin?.nanoseconds ?? zeroUTCNanoseconds) - zeroUTCNanoseconds
        do {
            try DescriptorSource.withFile(path) { file in
                let layout = try RecordingLayout(of: file)
                guard layout.isFinished, !layout.isCutShort else { return }
                var boxes = BoxReader(file, in: layout.fragments.upperBound..<file.sizeBytes)
                guard let index = try boxes.next(), index.type == "moov" else { return }
                let summary = try MovieSummary(of: index, from: file)
                let length = try rescale(
                    Int64(clamping: summary.duration), from: summary.timescale, to: .nanoseconds)
                endNanoseconds = originNanoseconds.clampedAdding(length)
                sizeBytes = file.sizeBytes
            }
        } catch {
            // `verify` says what is wrong with it; the catalog says that it is there.
            endNanoseconds = nil
            sizeBytes = nil
        }
    }
}

/// A line of a ledger about something missing, or about how a clock was taken to run.
package struct CatalogEvent: Hashable, Sendable {
    package var session: String
    package var source: String
    /// `gap` or `clock`.
    package var kind: String
    package var startNanoseconds: Int64?
    package var durationNanoseconds: Int64?
    package var samples: Int64?
    package var track: String?
    package var cause: String?
    package var boundNanoseconds: Int64?
    package var text: String?

    /// Nil for lines that the catalog does not have.
    package init?(_ entry: LedgerEntry, session: String, source: String) {
        guard entry.kind == .gap || entry.kind == .clock else { return nil }
        self.session = session
        self.source = source
        kind = entry.kind.rawValue
        startNanoseconds = entry.startNanoseconds
        durationNanoseconds = entry.durationNanoseconds.map { Int64(clamping: $0) }
        samples = entry.samples.map { Int64(clamping: $0) }
        track = entry.track
        cause = entry.cause
        boundNanoseconds = entry.boundNanoseconds.map { Int64(clamping: $0) }
        text = entry.text
    }
}

/// All that the catalog has of one session, made of its files.
package struct CatalogEntry: Hashable, Sendable {
    package var session: CatalogSession
    package var sources: [CatalogSource]
    package var segments: [CatalogSegment]
    package var events: [CatalogEvent]

    /// Reads a session's files.
    package init(_ name: String, in layout: ArchiveLayout) throws(ArchiveError) {
        let manifest = try SessionManifest.read(layout.manifest(name))
        session = try CatalogSession(manifest, named: name, in: layout)
        sources = manifest.sources.map(CatalogSource.init)
        segments = []
        events = []
        for source in try layout.sourceNames(name) {
            for path in try layout.segmentPaths(name, source) {
                segments.append(
                    CatalogSegment(
                        session: name, source: source, path: path,
                        zeroUTCNanoseconds: manifest.zeroUTCNanoseconds))
            }
            events += try Ledger.read(layout.ledger(name, source)).entries.compactMap {
                CatalogEvent($0, session: name, source: source)
            }
        }
    }
}

extension CatalogSession {
    /// - Parameter name: the session's directory.
    package init(
        _ manifest: SessionManifest, named name: String, in layout: ArchiveLayout
    ) throws(ArchiveError) {
        self.init(
            session: name, zeroUTCNanoseconds: manifest.zeroUTCNanoseconds,
            state: manifest.state.rawValue, endReason: manifest.end?.reason.rawValue,
            segmentNanoseconds: manifest.segmentNanoseconds, software: manifest.software,
            isProtected: SessionProtection.isProtected(name, in: layout),
            notes: try SessionNotes.read(name, in: layout))
    }
}

extension CatalogSource {
    package init(_ source: SessionManifest.Source) {
        self.init(
            source: source.name, agent: source.agent,
            tracks: source.tracks.joined(separator: ", "), isComplete: source.isComplete)
    }
}
