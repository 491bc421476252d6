import Media

/// Detects that a camera's connection is read late: the agent's process stood still, and the system kept what arrived.
///
/// Until all of it has been read, it is not known what else has arrived by now. Time without samples is judged up to the newest
/// arrival then. Over TCP, the packets of one read have the arrival of the newest one, so that sender reports are not judged.
struct NetworkBacklog {
    /// Shortest interruption between two reads that leaves a backlog.
    private static let stallNanoseconds: Int64 = 250_000_000
    /// A read that lasts longer has waited: nothing had arrived before it.
    private static let waitNanoseconds: Int64 = 5_000_000

    /// Whether data that arrived earlier has not been read yet.
    private(set) var isBehind = false
    /// End of the last read; nil before the first one of a connection.
    private var lastRead: Int64?
    /// All data that arrived up to this time has been read.
    private var readUntil: Int64 = 0

    /// Adds a read.
    /// - Parameter newest: the latest arrival of what was read; nil: nothing was.
    mutating func noteRead(from began: Int64, until ended: Int64, newest: Int64?) {
        if let lastRead, began.clampedSubtracting(lastRead) >= Self.stallNanoseconds {
            if !isBehind { readUntil = lastRead }
            isBehind = true
        } else if ended.clampedSubtracting(began) >= Self.waitNanoseconds {
            isBehind = false
        }
        lastRead = ended
        if let newest { readUntil = max(readUntil, newest) }
    }

    /// The time up to which it is known what has arrived.
    func knownNanoseconds(now: Int64) -> Int64 { isBehind ? min(now, readUntil) : now }
}
