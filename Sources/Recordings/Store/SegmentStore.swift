package import Archive

/// Storage of an archive's sessions: a directory (``DirectoryStore``), or an object store.
///
/// All stores have the archive's layout: `<session>/session.json`, `<session>/<source>/<segment origin>.mp4`,
/// `<session>/<source>/ledger.jsonl`. A copy of a store in a directory is an archive.
///
/// Any thread may call. Calls block.
package protocol SegmentStore: Sendable {
    /// Path or address, for messages.
    var name: String { get }

    /// Entries of a folder, sorted by name; empty if the folder does not exist.
    func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry]

    /// Entries of a source's folder as they can be opened; ``list(_:)`` may include files that are copies of others.
    func files(of source: SourceKey) throws(ArchiveError) -> [StoredEntry]

    /// The ledger of a source; empty if there is none.
    func ledger(of source: SourceKey) throws(ArchiveError) -> Ledger.Contents

    /// A hash of the names, sizes and contents of a folder's files; nil if the store cannot compute one.
    func state(of folder: StoredPath) throws(ArchiveError) -> UInt64?

    /// Opens a file for reading. A file that is deleted later remains readable if the store supports it.
    /// - Throws: an error with ``ArchiveError/isForAbsence`` if the file does not exist.
    func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile

    /// Writes a small file atomically and durably.
    func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError)

    /// Deletes a file durably; succeeds if it does not exist.
    func delete(_ file: StoredPath) throws(ArchiveError)

    /// Path or address of a file, for messages.
    func path(_ file: StoredPath) -> String
}

extension SegmentStore {
    package func files(of source: SourceKey) throws(ArchiveError) -> [StoredEntry] {
        try list(.source(source))
    }

    package func ledger(of source: SourceKey) throws(ArchiveError) -> Ledger.Contents {
        try Ledger.Contents(of: source, in: self)
    }

    package func state(of folder: StoredPath) throws(ArchiveError) -> UInt64? { nil }

    /// Reads a small file; retries once if it is replaced during the read.
    /// - Throws: also if it is larger than `limit` bytes.
    package func contents(_ file: StoredPath, limit: Int) throws(ArchiveError) -> [UInt8] {
        let opened = try open(file)
        do throws(ArchiveError) {
            return try contents(of: opened, limit: limit)
        } catch {
            guard opened.isOutdated else { throw error }
            return try contents(of: open(file), limit: limit)
        }
    }

    private func contents(
        of opened: any StoredFile, limit: Int
    ) throws(ArchiveError) -> [UInt8] {
        let size = try opened.sizeBytes()
        guard size <= limit else {
            throw .malformed(path: opened.path, reason: "larger than \(limit) bytes")
        }
        return try opened.read(at: 0, count: Int(size))
    }
}

/// Path of a file or folder in a store, relative to the folder of all sessions.
///
/// Its components were validated or listed: none is empty, `.` or `..`.
package struct StoredPath: Hashable, Sendable, CustomStringConvertible {
    /// The folder of all sessions.
    package static let sessions = StoredPath(text: "")

    /// Components separated by `/`.
    package let text: String

    private init(text: String) { self.text = text }

    package static func session(_ session: String) -> StoredPath { sessions / session }

    package static func manifest(_ session: String) -> StoredPath {
        .session(session) / ArchiveLayout.manifestName
    }

    package static func source(_ source: SourceKey) -> StoredPath {
        .session(source.session) / source.source
    }

    package static func ledger(_ source: SourceKey) -> StoredPath {
        .source(source) / ArchiveLayout.ledgerName
    }

    package static func segment(_ segment: SegmentKey) -> StoredPath {
        .source(segment.owner) / segment.fileName
    }

    /// A file or folder in this folder.
    package static func / (folder: StoredPath, name: String) -> StoredPath {
        precondition(isName(name[...]))
        return StoredPath(text: folder.text.isEmpty ? name : "\(folder.text)/\(name)")
    }

    /// Whether a text is a valid component.
    static func isName(_ name: Substring) -> Bool {
        !name.isEmpty && name != "." && name != ".." && !name.contains("/")
    }

    /// The session's folder; nil for the folder of all sessions.
    var session: StoredPath? {
        text.split(separator: "/", maxSplits: 1).first.map { StoredPath(text: String($0)) }
    }

    /// Number of components; 1 for a session's folder.
    var depth: Int { text.split(separator: "/").count }

    /// Parent folder, and last component.
    var parts: (folder: StoredPath, name: String) {
        guard let slash = text.lastIndex(of: "/") else { return (.sessions, text) }
        return (StoredPath(text: String(text[..<slash])), String(text[text.index(after: slash)...]))
    }

    /// The last component.
    package var name: String {
        text.split(separator: "/").last.map(String.init) ?? ""
    }

    package var description: String { text }
}

/// An entry of a listing.
package struct StoredEntry: Hashable, Sendable {
    package var name: String
    package var isFolder: Bool
    /// Size of a file at the time of the listing.
    package var sizeBytes: Int64
    /// Modification time of a file, nanoseconds since 1970; nil if the store has none.
    package var modifiedNanoseconds: Int64?

    package init(
        name: String, isFolder: Bool, sizeBytes: Int64, modifiedNanoseconds: Int64? = nil
    ) {
        self.name = name
        self.isFolder = isFolder
        self.sizeBytes = sizeBytes
        self.modifiedNanoseconds = modifiedNanoseconds
    }
}
