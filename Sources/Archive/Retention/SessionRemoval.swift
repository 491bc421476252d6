import Glibc

/// Removes a whole session from an archive, in two steps: it is renamed, so that it is no longer a session, and then
/// deleted. After a crash, the rest is found by its name.
///
/// If an object store has parts of the session, the record of that (``StoredDocuments``) stays until the store has
/// deleted them, too: the removing program need not access the store.
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

    /// Completes interrupted removals. Sessions with stored parts then wait for ``complete(_:in:)``, even if no store is in
    /// use now.
    package static func complete(in layout: ArchiveLayout) throws(ArchiveError) {
        var failure: ArchiveError?
        for name in try FileSystem.names(in: layout.sessions) where name.hasPrefix(stagedPrefix) {
            let staged = "\(layout.sessions)/\(name)"
            do throws(ArchiveError) {
                try empty(staged, layout)
            } catch {
                // A failed removal does not prevent the others.
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Locally removed sessions that a store still has parts of.
    package static func waiting(in layout: ArchiveLayout) throws(ArchiveError) -> [String] {
        try FileSystem.names(in: layout.sessions).compactMap { name in
            guard name.hasPrefix(stagedPrefix),
                FileSystem.exists("\(layout.sessions)/\(name)/\(ArchiveLayout.storedName)")
            else { return nil }
            let session = String(name.dropFirst(stagedPrefix.count))
            return ArchiveLayout.isValidName(session) ? session : nil
        }
    }

    /// The record of the stored parts of a locally removed session.
    package static func record(of session: String, in layout: ArchiveLayout) -> String {
        "\(staged(session, layout))/\(ArchiveLayout.storedName)"
    }

    /// Completes the removal of a session whose stored parts were deleted.
    package static func complete(
        _ session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) {
        try FileSystem.removeTree(staged(session, layout), on: layout.disk)
    }

    private static func staged(_ session: String, _ layout: ArchiveLayout) -> String {
        "\(layout.sessions)/\(stagedPrefix)\(session)"
    }

    /// Deletes a renamed session, except for the record of stored parts.
    private static func empty(_ staged: String, _ layout: ArchiveLayout) throws(ArchiveError) {
        let record = ArchiveLayout.storedName
        let isStored = isRecord("\(staged)/\(record)")
        try FileSystem.removeTree(staged, keeping: isStored ? record : nil, on: layout.disk)
    }

    /// Whether a file is the record of stored parts, or may be: it cannot be read now. A damaged one names no store to
    /// wait for.
    private static func isRecord(_ path: String) -> Bool {
        do throws(ArchiveError) {
            return try StoredDocuments.store(path) != nil
        } catch {
            return FileSystem.status(path) != nil
        }
    }
}
