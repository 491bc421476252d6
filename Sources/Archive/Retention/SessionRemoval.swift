import Glibc

/// Removes a whole session from an archive, in two steps: it is renamed, so that it is no longer a session, and then deleted.
/// After a crash, the rest is found by its name.
///
/// Of a session that an object store has something of, the record of that (``StoredDocuments``) stays until the store has deleted it, too:
/// who removes sessions need not know the store.
package enum SessionRemoval {
    /// Prefix of a session that is being removed: not allowed by ``ArchiveLayout/isValidName(_:)``.
    package static let stagedPrefix = ".removing-"

    /// Removes a session with its content.
    package static func remove(
        _ session: String, from layout: ArchiveLayout
    ) throws(ArchiveError) {
        let path = layout.session(session)
        let staged = staged(session, layout)
        guard layout.disk.rename(path, to: staged) == 0 else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
        try FileSystem.synchronizeDirectory(layout.sessions, on: layout.disk)
        try empty(staged, layout)
    }

    /// Completes interrupted removals.
    /// - Parameter hasStore: whether an object store is in use: sessions that it has something of then wait for ``complete(_:in:)``.
    package static func complete(
        in layout: ArchiveLayout, hasStore: Bool = false
    ) throws(ArchiveError) {
        var failure: ArchiveError?
        for name in try FileSystem.names(in: layout.sessions) where name.hasPrefix(stagedPrefix) {
            let staged = "\(layout.sessions)/\(name)"
            do throws(ArchiveError) {
                if hasStore {
                    try empty(staged, layout)
                } else {
                    try FileSystem.removeTree(staged, on: layout.disk)
                }
            } catch {
                // One that cannot be removed does not keep the others.
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Sessions that have been removed here, and that a store has something of.
    package static func waiting(in layout: ArchiveLayout) throws(ArchiveError) -> [String] {
        try FileSystem.names(in: layout.sessions).compactMap { name in
            guard name.hasPrefix(stagedPrefix),
                FileSystem.exists("\(layout.sessions)/\(name)/\(ArchiveLayout.storedName)")
            else { return nil }
            let session = String(name.dropFirst(stagedPrefix.count))
            return ArchiveLayout.isValidName(session) ? session : nil
        }
    }

    /// The record of what the store has of a session that has been removed here.
    package static func record(of session: String, in layout: ArchiveLayout) -> String {
        "\(staged(session, layout))/\(ArchiveLayout.storedName)"
    }

    /// The store has nothing of a removed session any more.
    package static func complete(
        _ session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) {
        try FileSystem.removeTree(staged(session, layout), on: layout.disk)
    }

    private static func staged(_ session: String, _ layout: ArchiveLayout) -> String {
        "\(layout.sessions)/\(stagedPrefix)\(session)"
    }

    /// Deletes a renamed session, but for the record that a store has something of it.
    private static func empty(_ staged: String, _ layout: ArchiveLayout) throws(ArchiveError) {
        let record = ArchiveLayout.storedName
        let isStored = FileSystem.exists("\(staged)/\(record)")
        try FileSystem.removeTree(staged, keeping: isStored ? record : nil, on: layout.disk)
    }
}
