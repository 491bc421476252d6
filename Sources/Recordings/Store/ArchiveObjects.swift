package import Archive
import Glibc
import MP4
package import ObjectStore

/// The files of an archive's directory as objects, read only: what a viewer serves to other readers of its site.
///
/// Keys are paths below `sessions`. There are only files that an archive consists of, by their names: descriptions, users'
/// documents, clocks, ledgers and segments. Checkpoints, proofs, sockets, hidden files and all others do not exist here. Links
/// are not followed, and only regular files are opened.
///
/// Each object has a version. Of a file that only grows, a version is its first bytes, which stay readable while it grows.
package struct ArchiveObjects: Sendable {
    /// Objects per page of a listing.
    private static let page = ViewerBucket.page

    private let layout: ArchiveLayout

    package init(_ layout: ArchiveLayout) { self.layout = layout }

    // MARK: - Keys

    /// The path of an object: `SESSION/NAME`, or `SESSION/SOURCE/NAME`.
    package struct Key: Hashable, Sendable {
        fileprivate let path: SessionPath

        /// Nil for a path that no file of an archive has.
        package init?(_ text: String) {
            guard let path = SessionPath(text),
                path.source == nil
                    ? SessionPath.documentNames.contains(path.name) : Self.isOfSource(path.name)
            else { return nil }
            self.path = path
        }

        package var session: String { path.session }

        static func isOfSource(_ name: String) -> Bool {
            name == ArchiveLayout.ledgerName || name == ArchiveLayout.declaredLossesName
                || SegmentName(name) != nil && ArchiveLayout.isValidName(name)
        }

        /// Whether bytes are only added to such a file while it has the same inode; a segment, until it is finished.
        fileprivate var grows: Bool {
            [ArchiveLayout.ledgerName, ArchiveLayout.clocksName].contains(path.name) || isSegment
        }

        fileprivate var isSegment: Bool { SegmentName(path.name) != nil }
    }

    /// The folder of a listing.
    package enum Folder: Hashable, Sendable {
        /// The folders of all sessions.
        case sessions
        /// A session: with the files of its sources, or with their folders.
        case session(String, folders: Bool)
        case source(SourceKey)

        /// - Parameters:
        ///   - prefix: empty, `SESSION/` or `SESSION/SOURCE/`.
        ///   - folders: whether folders are listed instead of the files in them.
        /// - Returns: nil for another prefix, and for the files of all sessions.
        package init?(prefix: String, folders: Bool) {
            if prefix.isEmpty {
                guard folders else { return nil }
                self = .sessions
                return
            }
            guard let path = SessionPath(prefix), path.name.isEmpty else { return nil }
            self = path.owner.map(Self.source) ?? .session(path.session, folders: folders)
        }

        /// Nil: all sessions.
        package var session: String? {
            switch self {
            case .sessions: nil
            case .session(let session, _): session
            case .source(let source): source.session
            }
        }
    }

    // MARK: - Versions

    /// A version of an object, open for reading.
    package struct Object: Sendable {
        package let file: LocalFile
        /// Size of this version; the file may have grown since.
        package let sizeBytes: Int64
        /// The entity tag, without its quotes.
        package let tag: String
    }

    package enum Opening: Sendable {
        case object(Object)
        case absent
        /// It does not have the wanted version any more.
        case changed
    }

    /// Opens an object.
    /// - Parameter tag: the wanted version, with or without the tag's quotes; nil: the present one.
    package func open(_ key: Key, tag: String?) throws(ArchiveError) -> Opening {
        let file: LocalFile
        do throws(ArchiveError) {
            file = try LocalFile(opening: path(of: key))
        } catch {
            // A link, a pipe or a directory is no object.
            if error.isForAbsence || error.isForEntry { return .absent }
            throw error
        }
        guard let descriptor = file.localDescriptor,
            let present = FileVersion(descriptor: descriptor)
        else { throw .system(operation: "look at", path: file.path, errno: errno) }
        guard let tag else { return .object(Self.object(file, present)) }
        guard let wanted = FileVersion(tag: tag) else { return .changed }
        if wanted == present { return .object(Self.object(file, present)) }
        guard wanted.inode == present.inode, wanted.sizeBytes <= present.sizeBytes, key.grows,
            !key.isSegment || Self.isGrowing(descriptor)
        else { return .changed }
        return .object(Self.object(file, wanted))
    }

    private static func object(_ file: LocalFile, _ version: FileVersion) -> Object {
        Object(file: file, sizeBytes: version.sizeBytes, tag: version.tag)
    }

    /// Whether a segment is not finished: finishing it changes its beginning.
    private static func isGrowing(_ descriptor: Int32) -> Bool {
        do throws(MP4Error) {
            return try !RecordingLayout(of: DescriptorSource(descriptor: descriptor)).isFinished
        } catch {
            return false
        }
    }

    private func path(of key: Key) -> String {
        "\(key.path.owner.map(layout.source) ?? layout.session(key.session))/\(key.path.name)"
    }

    // MARK: - Listings

    /// A page of a listing, in the order of keys.
    /// - Parameter after: only keys after this one; a folder's key with its `/`.
    package func list(_ folder: Folder, after: String?) throws(ArchiveError) -> ObjectPage {
        let after = after ?? ""
        var entries: [ObjectPage.Entry] = []
        switch folder {
        case .sessions:
            entries = try FileSystem.directoryNames(in: layout.sessions)
                .filter(ArchiveLayout.isValidName).map { "\($0)/" }.sorted(by: Self.precedes)
                .filter { Self.precedes(after, $0) }.prefix(Self.page + 1).map(Self.folder)
        case .session(let session, let folders):
            entries = try list(session, folders: folders, after: after)
        case .source(let source):
            entries = try list(source, after: after)
        }
        return ObjectPage(
            entries: Array(entries.prefix(Self.page)), isTruncated: entries.count > Self.page)
    }

    /// One entry more than a page, if there are as many.
    private func list(
        _ session: String, folders: Bool, after: String
    ) throws(ArchiveError) -> [ObjectPage.Entry] {
        let path = layout.session(session)
        let own = try files(in: path, prefix: "\(session)/") {
            SessionPath.documentNames.contains($0)
        }
        let sources = try FileSystem.directoryNames(in: path).filter(ArchiveLayout.isValidName)
        let heads = (own.map(\.key) + sources.map { "\(session)/\($0)/" })
            .sorted(by: Self.precedes)
        let byKey = Dictionary(own.map { ($0.key, $0) }) { first, _ in first }
        var entries: [ObjectPage.Entry] = []
        for head in heads {
            guard entries.count <= Self.page else { break }
            if let file = byKey[head] {
                if Self.precedes(after, head) { entries.append(file) }
            } else if folders {
                if Self.precedes(after, head) { entries.append(Self.folder(head)) }
            } else if after.hasPrefix(head) || Self.precedes(after, head) {
                let name = String(head.dropFirst(session.count + 1).dropLast())
                entries += try list(SourceKey(session: session, source: name), after: after)
            }
        }
        return entries
    }

    private func list(
        _ source: SourceKey, after: String
    ) throws(ArchiveError) -> [ObjectPage.Entry] {
        let prefix = "\(source.session)/\(source.source)/"
        return try files(in: layout.source(source), prefix: prefix) {
            Key.isOfSource($0) && Self.precedes(after, prefix + $0)
        }
    }

    /// The regular files of a directory with such names, sorted by key; one more than a page at most.
    private func files(
        in directory: String, prefix: String, where isWanted: (String) -> Bool
    ) throws(ArchiveError) -> [ObjectPage.Entry] {
        let names = try FileSystem.names(in: directory).filter(isWanted).sorted(by: Self.precedes)
        var entries: [ObjectPage.Entry] = []
        for name in names {
            guard entries.count <= Self.page else { break }
            guard let version = FileVersion(path: "\(directory)/\(name)") else { continue }
            entries.append(
                ObjectPage.Entry(
                    key: prefix + name, isFolder: false, sizeBytes: version.sizeBytes,
                    tag: "\"\(version.tag)\"", modifiedNanoseconds: version.modifiedNanoseconds))
        }
        return entries
    }

    private static func folder(_ key: String) -> ObjectPage.Entry {
        ObjectPage.Entry(
            key: key, isFolder: true, sizeBytes: 0, tag: "", modifiedNanoseconds: nil)
    }

    private static func precedes(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension FileVersion {
    /// Parses ``tag``, with or without the quotes of an entity tag; nil if it is no version's.
    fileprivate init?(tag: String) {
        guard tag.utf8.count <= 128 else { return nil }
        let parts = tag.filter { $0 != "\"" }.split(separator: "-")
        guard parts.count == 3, let inode = UInt64(parts[0], radix: 16),
            let size = Int64(parts[1]), size >= 0, let modified = UInt64(parts[2], radix: 16)
        else { return nil }
        self.init(
            inode: inode, sizeBytes: size, modifiedNanoseconds: Int64(bitPattern: modified))
    }

    /// An entity tag, without its quotes.
    fileprivate var tag: String {
        let modified = UInt64(bitPattern: modifiedNanoseconds)
        return "\(String(inode, radix: 16))-\(sizeBytes)-\(String(modified, radix: 16))"
    }
}
