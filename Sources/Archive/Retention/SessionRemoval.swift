import Glibc

/// Takes a whole session out of an archive, in two steps: renamed, it is no session any more; then it is deleted. What a crash
/// leaves of it is found again by its name.
package enum SessionRemoval {
    /// Before the name of a session that is being removed: no name that ``ArchiveLayout/isValidName(_:)`` allows.
    package static let stagedPrefix = ".removing-"

    /// Removes a session with all that is in it.
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

    /// Finishes removals that were cut short.
    package static func complete(in layout: ArchiveLayout) throws(ArchiveError) {
        for name in try FileSystem.names(in: layout.sessions) where name.hasPrefix(stagedPrefix) {
            try FileSystem.removeTree("\(layout.sessions)/\(name)", on: layout.disk)
        }
    }
}
