/// Whether a session is kept whatever the retention's limits are: a file of its own inside the session, so that neither a running
/// collector nor a rewritten description can lose it.
package enum SessionProtection {
    package static func isProtected(_ session: String, in layout: ArchiveLayout) -> Bool {
        FileSystem.exists(layout.protection(session))
    }
}
