package import Archive
import Media
import MP4

/// A session in the catalog: a copy of what its files contain.
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
    /// Its start on the session's timeline, nanoseconds, as in its name.
    package var originNanoseconds: Int64
    /// Its end; nil while it grows.
    package var endNanoseconds: Int64?
    /// Nil while it grows.
    package var sizeBytes: Int64?
    /// ``SegmentKey/revision``: changed by retiming.
    package var revision: UInt32

    /// Reads a file's header and the beginning of its index.
    ///
    /// An unreadable file gets a row without an end.
    package init(_ key: SegmentKey, in layout: ArchiveLayout, zeroUTCNanoseconds: Int64) {
        self.init(
            of: key.owner, file: key.fileName, in: layout, zeroUTCNanoseconds: zeroUTCNanoseconds)
    }

    /// The same for a file with any name.
    package init(
        of owner: SourceKey, file: String, in layout: ArchiveLayout, zeroUTCNanoseconds: Int64
    ) {
        session = owner.session
        source = owner.source
        self.file = file
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
        let origin = SegmentKey(owner, fileName: file)?.origin
        let begin = (origin?.nanoseconds ?? zeroUTCNanoseconds) - zeroUTCNanoseconds
        originNanoseconds = begin
        let end =
            FinishedFile("\(layout.source(owner))/\(file)")
            ?? Self.moved(SegmentKey(owner, fileName: file), in: layout)
        endNanoseconds = end.map { begin.clampedAdding($0.lengthNanoseconds) }
        sizeBytes = end?.sizeBytes
        revision = end?.revision ?? 0
    }
}

extension CatalogSegment {
    /// The data in the proof of a file that is in the store only; nil without a readable proof.
    private static func moved(_ segment: SegmentKey?, in layout: ArchiveLayout) -> FinishedFile? {
        guard let segment, !FileSystem.exists(layout.segment(segment)) else { return nil }
        do throws(ArchiveError) {
            guard let proof = try SegmentProof.read(segment, in: layout),
                let length = proof.lengthNanoseconds
            else { return nil }
            return FinishedFile(
                lengthNanoseconds: length, sizeBytes: proof.sizeBytes, revision: proof.revision)
        } catch {
            // `verify` reports the damage.
            return nil
        }
    }
}

/// A ledger line about a loss, or about a clock's model.
package struct CatalogEvent: Hashable, Sendable {
    package var session: String
    package var source: String
    /// The line's byte offset in the ledger: it identifies the line when it is added again.
    package var ledgerOffset: Int64
    /// `gap` or `clock`.
    package var kind: String
    package var startNanoseconds: Int64?
    package var durationNanoseconds: Int64?
    package var samples: Int64?
    package var track: String?
    package var cause: String?
    package var boundNanoseconds: Int64?
    package var text: String?

    /// Nil for lines that are not in the catalog.
    package init?(_ entry: LedgerEntry, at offset: UInt64, of owner: SourceKey) {
        guard entry.kind == .gap || entry.kind == .clock else { return nil }
        session = owner.session
        source = owner.source
        ledgerOffset = Int64(clamping: offset)
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

/// All catalog rows of one session, built from its files.
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
            let owner = SourceKey(session: name, source: source)
            for file in try layout.knownSegmentNames(owner) {
                segments.append(
                    CatalogSegment(
                        of: owner, file: file, in: layout,
                        zeroUTCNanoseconds: manifest.zeroUTCNanoseconds))
            }
            let ledger = try Ledger.read(layout.ledger(owner))
            events += zip(ledger.entries, ledger.offsets).compactMap {
                CatalogEvent($0, at: $1, of: owner)
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

extension CatalogSegment {
    /// A row from a catalog.
    init(
        session: String, source: String, file: String, zeroUTCNanoseconds: Int64,
        originNanoseconds: Int64, endNanoseconds: Int64?, sizeBytes: Int64?, revision: UInt32
    ) {
        self.session = session
        self.source = source
        self.file = file
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
        self.originNanoseconds = originNanoseconds
        self.endNanoseconds = endNanoseconds
        self.sizeBytes = sizeBytes
        self.revision = revision
    }
}
