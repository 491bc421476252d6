package import Media

/// The files of one session for its verification: in a directory (``SessionDirectory``), or in an object store.
package protocol SessionFiles {
    /// The session's folder in messages: a path, or an address.
    var path: String { get }
    var manifestPath: String { get }

    func path(of source: String) -> String
    func ledgerPath(of source: String) -> String

    func manifest() throws(ArchiveError) -> SessionManifest

    /// Sources that have a folder, sorted.
    func sourceNames() throws(ArchiveError) -> [String]

    /// Names of a source's segment files, in the order of their origins.
    func segmentNames(of source: String) throws(ArchiveError) -> [String]

    /// A source without a ledger has an empty one.
    func ledger(of source: String) throws(ArchiveError) -> Ledger.Contents

    /// The session's exchanges with other collectors' clocks; empty without any.
    func clocks() throws(ArchiveError) -> Ledger.Contents

    /// Checks one segment.
    /// - Throws: when a store cannot be reached. Damage of the file is in the verifier's report.
    func examine(
        _ segment: String, of source: String, ledger: [LedgerEntry]
    ) throws(ArchiveError) -> FileVerifier

    /// Files of a source that were being removed.
    func interruptedRemovals(of source: String) throws(ArchiveError) -> [InterruptedRemoval]

    /// Reads a file of the session's folder; nil: there is none.
    func contents(of file: String, limit: Int) throws(ArchiveError) -> [UInt8]?

    /// Segments whose media is in an object store only. Empty if these files are the store's.
    func movedSegments(of source: String) throws(ArchiveError) -> [MovedSegment]
}

extension SessionFiles {
    package func movedSegments(of source: String) throws(ArchiveError) -> [MovedSegment] { [] }
}

/// A segment whose media is in an object store only.
package struct MovedSegment {
    /// Path of its proof.
    package var path: String
    /// The name of its file in the store.
    package var segment: String
    /// Reads its proof; nil if it has been removed since.
    package var proof: () throws(ArchiveError) -> SegmentProof?
}

/// A file whose removal was interrupted.
package struct InterruptedRemoval {
    package var path: String
    /// Its original name.
    package var segment: String
    /// The numbers of its records, by spool, read from its fragments.
    package var records: () -> [(spool: SpoolID, ranges: [ClosedRange<UInt64>])]
}

/// A session's files in an archive's directory.
package struct SessionDirectory: SessionFiles {
    private let layout: ArchiveLayout
    private let session: String

    package init(layout: ArchiveLayout, session: String) {
        self.layout = layout
        self.session = session
    }

    package var path: String { layout.session(session) }
    package var manifestPath: String { layout.manifest(session) }

    package func path(of source: String) -> String { layout.source(session, source) }

    package func ledgerPath(of source: String) -> String { layout.ledger(session, source) }

    package func manifest() throws(ArchiveError) -> SessionManifest {
        try SessionManifest.read(manifestPath)
    }

    package func contents(of file: String, limit: Int) throws(ArchiveError) -> [UInt8]? {
        let path = "\(path)/\(file)"
        return FileSystem.exists(path) ? try FileSystem.read(path, limit: limit) : nil
    }

    package func sourceNames() throws(ArchiveError) -> [String] { try layout.sourceNames(session) }

    package func segmentNames(of source: String) throws(ArchiveError) -> [String] {
        try layout.segmentNames(SourceKey(session: session, source: source))
    }

    package func ledger(of source: String) throws(ArchiveError) -> Ledger.Contents {
        var contents = try Ledger.read(ledgerPath(of: source))
        contents.add(
            try Ledger.read(layout.declaredLosses(SourceKey(session: session, source: source))))
        return contents
    }

    package func clocks() throws(ArchiveError) -> Ledger.Contents {
        try Ledger.read(layout.clocks(session))
    }

    package func examine(
        _ segment: String, of source: String, ledger: [LedgerEntry]
    ) throws(ArchiveError) -> FileVerifier {
        FileVerifier.examine("\(path(of: source))/\(segment)", ledger: ledger)
    }

    package func interruptedRemovals(of source: String) throws(ArchiveError) -> [InterruptedRemoval]
    {
        try layout.names(SourceKey(session: session, source: source)).names(.removing).map { name in
            let path = "\(path(of: source))/\(name)"
            return InterruptedRemoval(path: path, segment: SegmentName.segment(of: path)) {
                SegmentNumbers.read(path).ranges
            }
        }
    }

    package func movedSegments(of source: String) throws(ArchiveError) -> [MovedSegment] {
        try layout.movedSegments(SourceKey(session: session, source: source)).map { segment in
            MovedSegment(path: layout.path(of: segment, .proof), segment: segment.fileName) {
                () throws(ArchiveError) in try SegmentProof.read(segment, in: layout)
            }
        }
    }
}
