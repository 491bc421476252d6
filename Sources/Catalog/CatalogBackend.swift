package import Archive
package import Terminal

/// A backend's catalog of one archive: everything that depends on the backend, except for queries (``CatalogStore``).
package protocol CatalogBackend: CatalogLocation {
    /// Its arguments of `--catalog`, for the help of that option.
    static var arguments: String { get }
    /// Form of a server's address in `--catalog`, for help and errors; nil: the backend has no server.
    static var serverForm: String? { get }

    /// The backend's catalog of an argument of `--catalog`.
    /// - Parameters:
    ///   - isForWriting: whether the program updates it.
    ///   - program: its name, for a server.
    /// - Returns: nil: the argument names another backend.
    static func reference(
        _ argument: String, isForWriting: Bool, _ program: String
    ) throws(UsageError) -> CatalogReference?

    /// ``CatalogStore/name``.
    var name: String { get }

    /// The archive's catalog if it has a complete one.
    /// - Parameter isReadOnly: whether nothing may be written, not even for reading.
    func existing(isReadOnly: Bool) throws(ArchiveError) -> (any CatalogStore)?

    /// Reads all files of the archive into its catalog.
    /// - Returns: the catalog, a summary, and one line if rows had to be replaced.
    func rebuild() throws(ArchiveError) -> (
        catalog: any CatalogStore, summary: CatalogIndexing.Summary, complaint: String?
    )

    /// Whether the archive seems to have its catalog in another backend.
    func isElsewhere() throws(ArchiveError) -> Bool
}

extension CatalogBackend {
    package func existing() throws(ArchiveError) -> (any CatalogStore)? {
        try existing(isReadOnly: false)
    }

    /// Whether an error is about the content of the catalog, and not about the archive's files.
    package func isCause(of error: ArchiveError) -> Bool {
        switch error {
        case .malformed(let path, _), .exceeded(let path, _): path == name
        case .system, .badName, .noRoom, .unavailable, .store: false
        }
    }

    /// Whether the catalog's own files cannot be read or written, for example for lack of room.
    package func isPlace(of error: ArchiveError) -> Bool {
        if case .system(_, let path, _) = error { path.hasPrefix(name) } else { false }
    }
}
