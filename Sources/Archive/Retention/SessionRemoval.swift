import Glibc

/// Removes a whole session from an archive, in two steps: it is renamed, so that it is no longer a session, and then deleted.
/// After a crash, the rest is found by its name.
package enum SessionRemoval {
    /// Prefix of a session that is being removed: not allowed by ``ArchiveLayout/isValidName(_:)``.
    package static let stagedPrefix = ".removing-"

    /// Removes a session with its content.
    package static func remove(
        _ session: String, from layout: ArchiveLayout
    ) throws(ArchiveError) {
        let path = layout.session(session)
        let staged = "\(layout.sessions)/\(stagedPrefix)\(session)"
        guard layout.disk.rename(path, to: staged) == 0 else {
            throw .system(operation: "remove", path: path, errno: errno)
        }
        try FileSystem.synchronizeDirectory(layout.sessions, on: layout.disk)
        try FileSystem.removeTree(staged, on: layout.disk)
    }

    /// Completes interrupted removals.
    package static func complete(in layout: ArchiveLayout) throws(ArchiveError) {
        for name in try FileSystem.names(in: layout.sessions) where name.hasPrefix(stagedPrefix) {
            try FileSystem.removeTree("\(layout.sessions)/\(name)", on: layout.disk)
        }
    }
}
