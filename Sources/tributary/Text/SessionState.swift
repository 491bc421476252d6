import Archive

/// What a session's description says of its state, and whether that can be so.
struct SessionState {
    private static let recording = SessionManifest.State.recording.rawValue

    /// Whether a collector runs in the archive; without one, nothing is recorded.
    let isCollectorRunning: Bool

    init(_ layout: ArchiveLayout) throws(ArchiveError) {
        isCollectorRunning = try ArchiveLock.isTaken(layout)
    }

    /// A state for people: `finished`, `recording`, `recording (no collector is running)`.
    func text(_ state: String) -> String {
        state == Self.recording && !isCollectorRunning
            ? "\(state) (no collector is running)" : state
    }
}
