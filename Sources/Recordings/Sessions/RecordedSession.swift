package import Archive
import Files
import Media

/// A session for reading: a session of an archive, or files that were copied out of one.
///
/// It does not cache file contents; files may grow and be removed.
package struct RecordedSession: Sendable {
    /// Limit of loose files in one session.
    private static let maximumLooseFiles = 100_000

    package let name: String
    /// The timeline's zero.
    package let zero: UTCTime
    /// Nothing will be added.
    package let isFinished: Bool
    /// Segments start at multiples of this; nil for loose files.
    package let segmentNanoseconds: Int64?
    /// Sources with files, by name.
    package let sources: [RecordedSource]

    package func source(_ name: String) -> RecordedSource? { sources.first { $0.name == name } }

    /// The sources without the previews of others.
    package var mainSources: [RecordedSource] { mainSources { _ in true } }

    /// The sources that may be seen, without the previews of others of them.
    package func mainSources(where mayRead: (String) -> Bool) -> [RecordedSource] {
        let seen = sources.filter { mayRead($0.name) }
        let previews = SourcePreviews(seen.map(\.name))
        return seen.filter { !previews.isPreview($0.name) }
    }

    /// A session of an archive on a local disk.
    package init(_ session: String, in layout: ArchiveLayout) throws(ArchiveError) {
        try self.init(session, in: DirectoryStore(layout))
    }

    /// A session of a store.
    package init(_ session: String, in store: any SegmentStore) throws(ArchiveError) {
        guard ArchiveLayout.isValidName(session) else { throw .badName(session) }
        let manifest = try SessionManifest(session, in: store)
        name = manifest.session
        zero = manifest.zeroTime
        isFinished = manifest.state == .finished
        segmentNanoseconds = manifest.segmentNanoseconds
        var sources: [RecordedSource] = []
        for entry in try store.list(.session(session))
        where entry.isFolder && ArchiveLayout.isValidName(entry.name) {
            let source = try RecordedSource(
                SourceKey(session: session, source: entry.name), in: store,
                zero: manifest.zeroTime, segmentNanoseconds: manifest.segmentNanoseconds,
                ends: manifest.state == .finished
                    ? manifest.sources.first { $0.name == entry.name }?.spools ?? [] : nil)
            if !source.files.isEmpty { sources.append(source) }
        }
        self.sources = sources
    }

    /// Loose files on a local disk, by paths without symbolic links. Files of one directory are one source, named for the
    /// directory; a file outside of a session's directory is a source of its own.
    package init(files: [String]) throws(ArchiveError) {
        precondition(!files.isEmpty && files.count <= Self.maximumLooseFiles)
        var zero: UTCTime?
        var found: [String: (ledger: String?, files: [RecordedSource.File])] = [:]
        for path in files {
            let file = try RecordedFile(opening: path)
            guard let origin = file.originNanoseconds, let own = file.sessionZero else {
                throw .malformed(path: path, reason: "has no samples yet")
            }
            if let zero, zero != own {
                throw .malformed(
                    path: path, reason: "belongs to another session than the files before it")
            }
            zero = own
            let (name, ledger) = Self.place(of: path)
            found[name, default: (ledger, [])].files.append(
                RecordedSource.File(path: path, originNanoseconds: origin))
        }
        let start = zero ?? UTCTime(nanoseconds: 0)
        self.zero = start
        name = start.fileName
        isFinished = true
        segmentNanoseconds = nil
        sources = found.sorted { $0.key < $1.key }.map { name, found in
            RecordedSource(
                name: name,
                files: found.files.sorted { $0.originNanoseconds < $1.originNanoseconds },
                zero: start, ledger: found.ledger)
        }
    }

    /// Source name, and path of the ledger (nil if there is none), of a file.
    private static func place(of path: String) -> (name: String, ledger: String?) {
        let (directory, name) = (Path.directory(of: path), Path.name(of: path))
        let source = Path.name(of: directory)
        if SegmentName(name)?.origin != nil,
            ArchiveLayout.isValidName(source),
            FileSystem.exists("\(Path.directory(of: directory))/\(ArchiveLayout.manifestName)")
        {
            return (source, "\(directory)/\(ArchiveLayout.ledgerName)")
        }
        return (ArchiveLayout.validName(from: SegmentName.stem(of: name)), nil)
    }
}

extension SessionManifest {
    /// The description of a session of a store.
    package init(_ session: String, in store: any SegmentStore) throws(ArchiveError) {
        let path = StoredPath.manifest(session)
        self = try .parse(
            store.contents(path, limit: SessionManifest.maximumBytes), path: store.path(path))
    }
}

extension RecordedSession {
    /// Maximum time by which a file's audio may overlap the next file.
    package static var overlapNanoseconds: Int64 { 10_000_000_000 }
}
