import Archive

enum SessionStateText {
    /// `finished`, `recording`, `recording (no collector is running)`.
    /// - Parameter isCollectorRunning: without one, nothing is recorded, although the description may say "recording".
    static func of(_ state: String, isCollectorRunning: Bool) -> String {
        state == SessionManifest.State.recording.rawValue && !isCollectorRunning
            ? "\(state) (no collector is running)" : state
    }
}
