import Glibc
import Media

/// The paths in an archive:
///
///     <archive>/sessions/<session>/session.json
///     <archive>/sessions/<session>/<source>/<segment origin>.mp4
///     <archive>/sessions/<session>/<source>/ledger.jsonl
///     <archive>/sessions/<session>/<source>/checkpoint
///
/// The archive's directory may be behind symbolic links. Its content must not contain any (``FileSystem``).
package struct ArchiveLayout: Sendable {
    /// The archive's directory, by a path without symbolic links.
    package let root: String
    /// The archive's directory as the caller gave it, for the paths of Unix sockets: these have a length limit, and the resolved
    /// path may be longer.
    private let givenRoot: String
    /// The directory that holds the sessions'.
    package let sessions: String
    /// The disk that it is written to.
    package let disk: any Disk

    package init(root: String, on disk: any Disk = SystemDisk()) {
        givenRoot = root.count > 1 && root.hasSuffix("/") ? String(root.dropLast()) : root
        self.root = NamedPath.resolved(givenRoot)
        sessions = "\(self.root)/sessions"
        self.disk = disk
    }

    /// The layout of a session's directory outside of an archive, for reading.
    private init(holding directory: String) {
        givenRoot = directory
        root = NamedPath.resolved(directory)
        sessions = root
        disk = SystemDisk()
    }

    /// Finds a session by the path of its directory, and the layout in which it has that name; nil when the directory contains no
    /// session description.
    package static func session(
        directory: String
    ) -> (layout: ArchiveLayout, name: String)? {
        guard NamedPath.exists("\(directory)/\(manifestName)") else { return nil }
        var parts = directory.split(separator: "/", omittingEmptySubsequences: false)
        while parts.count > 1, parts.last == "" { parts.removeLast() }
        guard let name = parts.popLast().map(String.init), name != ".", name != ".." else {
            guard let path = realpath(directory, nil) else { return nil }
            defer { free(path) }
            let whole = String(cString: path)
            return whole == "/" ? nil : session(directory: whole)
        }
        let parent = parts.isEmpty ? "." : parts.joined(separator: "/")
        if parts.popLast() == "sessions" {
            // Inside an archive, with its lock.
            let root = parts.isEmpty ? "." : parts.joined(separator: "/")
            return (ArchiveLayout(root: root.isEmpty ? "/" : root), name)
        }
        return (ArchiveLayout(holding: parent.isEmpty ? "/" : parent), name)
    }

    package static let manifestName = "session.json"
    package static let protectionName = ".protected"
    package static let ledgerName = "ledger.jsonl"
    /// Ledger lines added by `tributary lost`: only the collector writes the ledger itself.
    package static let declaredLossesName = "lost.jsonl"
    static let checkpointName = "checkpoint"
    /// Clock exchanges with the other collectors of a site during a session: lines as in a ledger.
    package static let clocksName = "clocks.jsonl"
    /// A session's files besides its description: users' metadata (labels, marks, protection), and the site's clocks.
    package static let documentNames = [
        SessionNotes.fileName, SessionMarks.fileName, protectionName, clocksName,
    ]

    /// The lock file of the collector that records into the archive.
    package var lock: String { "\(root)/collector.lock" }

    /// The control socket of that collector.
    package var control: String { "\(givenRoot)/collector.sock" }
    /// The socket for commands from the archive's group, if enabled.
    package var commands: String { "\(givenRoot)/collector.commands" }
    /// The socket on which a running collector publishes received samples.
    package var feed: String { "\(givenRoot)/collector.feed" }

    package func session(_ session: String) -> String { "\(sessions)/\(session)" }

    package func manifest(_ session: String) -> String {
        "\(self.session(session))/\(Self.manifestName)"
    }

    /// The file that protects a session from removal: no source can have its name.
    package func protection(_ session: String) -> String {
        "\(self.session(session))/\(Self.protectionName)"
    }

    /// The file of clock exchanges with other collectors.
    package func clocks(_ session: String) -> String {
        "\(self.session(session))/\(Self.clocksName)"
    }

    package func source(_ session: String, _ source: String) -> String {
        "\(self.session(session))/\(source)"
    }

    package func segment(_ session: String, _ source: String, origin: UTCTime) -> String {
        segment(SegmentKey(SourceKey(session: session, source: source), origin: origin))
    }

    package func ledger(_ session: String, _ source: String) -> String {
        "\(self.source(session, source))/\(Self.ledgerName)"
    }

    package func declaredLosses(_ source: SourceKey) -> String {
        "\(self.source(source))/\(Self.declaredLossesName)"
    }

    package func source(_ source: SourceKey) -> String {
        self.source(source.session, source.source)
    }

    package func ledger(_ source: SourceKey) -> String {
        ledger(source.session, source.source)
    }

    /// The summaries of an open session's source (``SourceCheckpoint``).
    package func checkpoint(_ source: SourceKey) -> String {
        "\(self.source(source))/\(Self.checkpointName)"
    }

    package func segment(_ segment: SegmentKey) -> String {
        "\(source(segment.owner))/\(segment.fileName)"
    }

    /// Longest name of a source or session.
    package static let maximumNameBytes = DirectoryName.maximumBytes

    /// Whether `name` is a valid directory name: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
    package static func isValidName(_ name: String) -> Bool { DirectoryName.isValid(name) }

    /// The valid name that is closest to `text`.
    package static func validName(from text: String) -> String {
        let allowed = text.prefix(maximumNameBytes).map { character in
            isValidName("a\(character)") ? String(character) : "-"
        }.joined()
        return isValidName(allowed) ? allowed : String("file\(allowed)".prefix(maximumNameBytes))
    }

    /// Names of the sessions in the archive, oldest first (a session's name is its zero).
    /// - Throws: when the directory exists but cannot be read.
    package func sessionNames() throws(ArchiveError) -> [String] {
        try FileSystem.directoryNames(in: sessions).filter(Self.isValidName)
    }

    /// A line about entries that have a session's name and are not directories; nil without any. A moved session
    /// that was linked is one.
    package func strays() throws(ArchiveError) -> String? {
        let directories = Set(try sessionNames())
        let strays = try FileSystem.names(in: sessions).filter {
            Self.isValidName($0) && !directories.contains($0)
        }
        guard let first = strays.first else { return nil }
        let others = strays.count > 1 ? " (and \(strays.count - 1) more)" : ""
        let kind = NamedPath.isLink(session(first)) ? "a symbolic link" : "no directory"
        return "\(session(first)) is \(kind): it is not read as a session\(others)"
    }

    /// Names of the sources with a directory in the session, sorted.
    package func sourceNames(_ session: String) throws(ArchiveError) -> [String] {
        try FileSystem.directoryNames(in: self.session(session)).filter(Self.isValidName)
    }

    /// A segment's companion file.
    package func path(of segment: SegmentKey, _ companion: SegmentCompanion) -> String {
        companion.path(of: self.segment(segment))
    }

    /// The names in a source's directory.
    package func names(_ source: SourceKey) throws(ArchiveError) -> SegmentNames {
        SegmentNames(try FileSystem.names(in: self.source(source)))
    }

    /// Segments of a source whose media is in the store only, by origin (``SegmentNames/moved(of:)``).
    package func movedSegments(_ source: SourceKey) throws(ArchiveError) -> [SegmentKey] {
        try names(source).moved(of: source)
    }

    /// Names of a source's segment files, in the order of their origins.
    package func segmentNames(_ source: SourceKey) throws(ArchiveError) -> [String] {
        try names(source).segments.map(\.description)
    }

    /// Names of a source's segment files, including those whose media is in the store only; sorted.
    package func knownSegmentNames(_ source: SourceKey) throws(ArchiveError) -> [String] {
        let names = try names(source)
        return (names.segments.map(\.description) + names.moved(of: source).map(\.fileName))
            .sorted()
    }

    /// Paths of a source's segments, in the order of their origins.
    package func segmentPaths(_ session: String, _ source: String) throws(ArchiveError) -> [String]
    {
        let owner = SourceKey(session: session, source: source)
        return try segmentNames(owner).map { "\(self.source(owner))/\($0)" }
    }
}
