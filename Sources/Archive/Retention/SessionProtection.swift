/// Whether a session is kept whatever the retention's limits say: a file of its own inside the session, so that neither a
/// running collector nor a rewritten description can lose it.
package enum SessionProtection {
    /// Protects a session, or lets go of it.
    package static func set(
        _ isProtected: Bool, of session: String, in layout: ArchiveLayout
    ) throws(ArchiveError) {
        let path = layout.protection(session)
        if isProtected {
            try FileSystem.replace(path, with: [], on: layout.disk)
        } else {
            try FileSystem.remove(path, on: layout.disk)
            try FileSystem.synchronizeDirectory(layout.session(session), on: layout.disk)
        }
    }

    package static func isProtected(_ session: String, in layout: ArchiveLayout) -> Bool {
        FileSystem.exists(layout.protection(session))
    }
}
