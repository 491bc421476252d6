/// Decides when the log reports that a network camera is back: an opened connection may still bring nothing.
struct NetworkReturn {
    private var isUnlogged = false
    private var isDoubtful = false

    /// The camera was opened again.
    /// - Parameter isDoubtful: earlier openings brought no samples, so that only a sample shows the return.
    mutating func opened(isDoubtful: Bool) {
        isUnlogged = true
        self.isDoubtful = isDoubtful
    }

    /// The connection is lost.
    mutating func lost() { isUnlogged = false }

    /// Whether the return is to be logged now; true once.
    /// - Parameters:
    ///   - isPlaying: the camera has accepted to send packets.
    ///   - isFlowing: samples have been recorded.
    mutating func isToLog(isPlaying: Bool, isFlowing: Bool) -> Bool {
        guard isUnlogged, isFlowing || isPlaying && !isDoubtful else { return false }
        isUnlogged = false
        return true
    }
}
