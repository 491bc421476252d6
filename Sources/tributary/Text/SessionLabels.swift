import Archive
import Terminal

/// What people say of sessions, for commands that show it beside other things.
enum SessionLabels {
    /// What is said of a session; nothing, and a complaint, where it cannot be read.
    static func read(_ session: String, in layout: ArchiveLayout) -> SessionNotes {
        do throws(ArchiveError) {
            return try SessionNotes.read(session, in: layout)
        } catch {
            Program.complain("\(error)")
            return SessionNotes()
        }
    }
}
