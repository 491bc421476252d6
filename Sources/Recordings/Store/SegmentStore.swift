package import Archive

/// Where the sessions of an archive are kept: a directory (``DirectoryStore``), or an object store.
///
/// The layout is the archive's in every store: `<session>/session.json`, `<session>/<source>/<segment origin>.mp4`,
/// `<session>/<source>/ledger.jsonl`. A store that is copied into a directory is an archive.
///
/// Any thread may call. Calls block until the store has answered.
package protocol SegmentStore: Sendable {
    /// The store in messages: a directory's path, or an address.
    var name: String { get }

    /// What is directly in a folder, sorted by name; nothing where there is no such folder.
    func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry]

    /// What is directly in a source's folder, with its files as they can be opened: ``list(_:)`` may count a file that is a copy of another.
    func files(of source: SourceKey) throws(ArchiveError) -> [StoredEntry]

    /// The ledger of a source; a source without one has an empty ledger.
    func ledger(of source: SourceKey) throws(ArchiveError) -> Ledger.Contents

    /// A number that is another one when anything in a folder is: names, sizes or contents of its files. Nil: the store cannot tell.
    func state(of folder: StoredPath) throws(ArchiveError) -> UInt64?

    /// Opens a file for reading. A file that is deleted later can still be read to its end where the store allows that.
    /// - Throws: an error with ``ArchiveError/isForAbsence`` where there is no such file.
    func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile

    /// Writes a small file: afterwards it is durable, and at no instant is a part of it there.
    func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError)

    /// Deletes a file durably. A file that is not there is no error.
    func delete(_ file: StoredPath) throws(ArchiveError)

    /// A file in messages: its path, or its address.
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

    /// A whole small file.
    /// - Throws: also when it is larger than `limit` bytes.
    package func contents(_ file: StoredPath, limit: Int) throws(ArchiveError) -> [UInt8] {
        let opened = try open(file)
        let size = try opened.sizeBytes()
        guard size <= limit else {
            throw .malformed(path: opened.path, reason: "larger than \(limit) bytes")
        }
        return try opened.read(at: 0, count: Int(size))
    }
}

/// The place of a file or folder in a store, relative to the folder that holds the sessions.
///
/// Made of names that were checked, or read from a listing: no part is empty, `.` or `..`.
package struct StoredPath: Hashable, Sendable, CustomStringConvertible {
    /// The folder that holds the sessions.
    package static let sessions = StoredPath(text: "")

    /// Parts with `/` between them.
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

    /// Whether a text can be the name of a file or folder.
    static func isName(_ name: Substring) -> Bool {
        !name.isEmpty && name != "." && name != ".." && !name.contains("/")
    }

    /// The session that it is in; nil: it is the folder of all sessions.
    var session: StoredPath? {
        text.split(separator: "/", maxSplits: 1).first.map { StoredPath(text: String($0)) }
    }

    /// How many names it is made of: 1 is a session's folder.
    var depth: Int { text.split(separator: "/").count }

    /// The folder that it is in, and its name there.
    var parts: (folder: StoredPath, name: String) {
        guard let slash = text.lastIndex(of: "/") else { return (.sessions, text) }
        return (StoredPath(text: String(text[..<slash])), String(text[text.index(after: slash)...]))
    }

    /// Its last part.
    package var name: String {
        text.split(separator: "/").last.map(String.init) ?? ""
    }

    package var description: String { text }
}

/// A line of a store's listing.
package struct StoredEntry: Hashable, Sendable {
    package var name: String
    package var isFolder: Bool
    /// Of a file, at the time of the listing.
    package var sizeBytes: Int64
    /// When a file was changed last, nanoseconds since 1970; nil: the store does not tell.
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
