/// Whether a session is exempt from retention: a separate file inside the session, so that neither a running collector
/// nor a rewritten description can lose it.
package enum SessionProtection {
    package static func isProtected(_ session: String, in layout: ArchiveLayout) -> Bool {
        FileSystem.exists(layout.protection(session))
    }
}
