import Archive
import Library
import Terminal

enum SessionStateText {
    /// `finished`, `recording`, `recording (no collector is running)`.
    /// - Parameter isCollectorRunning: without one, nothing is recorded, although the description may say "recording".
    static func of(_ state: String, isCollectorRunning: Bool) -> String {
        state == SessionManifest.State.recording.rawValue && !isCollectorRunning
            ? "\(state) (no collector is running)" : state
    }

    /// `, protected`, `, protected in west only`; empty: no archive protects the session.
    static func protection(of session: String, in library: RecordingLibrary) -> String {
        let only = library.archivesProtecting(session)
        if !only.isEmpty {
            return ", protected in \(only.map { oneLine($0) }.joined(separator: ", ")) only"
        }
        return library.isProtected(session) ? ", protected" : ""
    }
}
