package import Archive

/// An archive's catalog: an index that finds sessions and files in milliseconds. It is a copy of the files' content,
/// which is authoritative: if it is deleted, an equal one is rebuilt.
///
/// Thread-safe. Changes are idempotent.
package protocol CatalogStore: Sendable {
    /// Its name in errors: a path, or an address.
    var name: String { get }

    /// Writes changes in one transaction.
    /// - Throws: ``ArchiveError/isForLock`` when another program is writing and has not finished in time, or the server
    ///   is unavailable.
    func apply(_ changes: [CatalogChange]) throws(ArchiveError)

    /// Sessions, oldest first. With a time range (UTC, nanoseconds since 1970): those with content in it, and that content.
    func sessions(from: Int64?, until: Int64?) throws(ArchiveError) -> [CatalogListing]

    /// Files of a session, or of all sessions; with a time range, those with content in it.
    func segments(
        of session: String?, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [CatalogSegment]

    /// Unfinished files of a session: their end is not known yet.
    func growingSegments(of session: String) throws(ArchiveError) -> [CatalogSegment]

    /// Names of the sessions in the catalog.
    func sessionNames() throws(ArchiveError) -> [String]

    /// Names of all sessions with any rows, listed or not.
    func indexedSessionNames() throws(ArchiveError) -> Set<String>

    /// Names of a session's files, as "source/file".
    func files(of session: String) throws(ArchiveError) -> Set<String>

    /// All rows as lines: equal catalogs have equal lines, in any backend.
    func dump() throws(ArchiveError) -> [String]

    /// Checks that it has about as many sessions as its archive. Updating a very different one takes longer than
    /// rebuilding it.
    /// - Parameters:
    ///   - sessions: number of sessions in the archive.
    ///   - isListed: whether to count only listed sessions, those of ``sessionNames()``.
    func checkSessions(_ sessions: Int, isListed: Bool) throws(ArchiveError)

    /// Searches the whole catalog for damage.
    /// - Parameter expectedRows: the number of rows for the files. Of a catalog with far more, rows are not read.
    /// - Returns: the first one found, as a predicate: "is damaged: …".
    func damage(expectedRows: Int) throws(ArchiveError) -> String?
}

/// A session in a list.
package struct CatalogListing: Hashable, Sendable {
    package var session: String
    package var state: String
    package var isProtected: Bool
    package var notes: SessionNotes
    package var sources: [String]
    package var segments: Int
    /// Total of the finished files.
    package var sizeBytes: UInt64
}

extension CatalogStore {
    /// All sessions, oldest first.
    package func sessions() throws(ArchiveError) -> [CatalogListing] {
        try sessions(from: nil, until: nil)
    }

    /// All files of a session, or of all sessions.
    package func segments(of session: String? = nil) throws(ArchiveError) -> [CatalogSegment] {
        try segments(of: session, from: nil, until: nil)
    }

    // A server keeps its tables intact, and the collector sees to the number of sessions.

    package func checkSessions(_ sessions: Int, isListed: Bool) throws(ArchiveError) {}

    package func damage(expectedRows: Int) throws(ArchiveError) -> String? { nil }
}

/// A location of a catalog.
package protocol CatalogLocation: Sendable {
    /// Opens the catalog; a damaged one is replaced with an empty one.
    /// - Returns: the catalog, and one line if it had to be replaced.
    func open() throws(ArchiveError) -> (catalog: any CatalogStore, complaint: String?)

    /// Deletes the catalog: its content is not trusted.
    func remove() throws(ArchiveError)
}
