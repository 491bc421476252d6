import Media

/// Detects that a camera's connection is read late: the agent's process was suspended, and the system buffered data.
///
/// Until all of it has been read, it is not known what else has arrived by now. Time without samples is judged up to the newest
/// arrival then. Over TCP, the packets of one read have the arrival of the newest one, so that sender reports are not judged.
struct NetworkBacklog {
    /// Shortest time from one read's end to the next one's that leaves a backlog: more than a read waits.
    private static let stallNanoseconds: Int64 = 350_000_000
    /// Data that arrived this long before the end of its read was not read late.
    private static let currentNanoseconds: Int64 = 50_000_000

    /// Whether the last read may have data that was read late.
    private(set) var isBehind = false
    /// Whether all data that arrived before the last read has been read.
    private var isCurrent = false
    /// End of the last read; nil before the first one of a connection.
    private var lastRead: Int64?
    /// All data that arrived up to this time has been read.
    private var readUntil: Int64 = 0

    /// Adds a read.
    /// - Parameter newest: the latest arrival of a packet that was read; nil: none was read completely.
    mutating func noteRead(from began: Int64, until ended: Int64, newest: Int64?) {
        if let lastRead, ended.clampedSubtracting(lastRead) >= Self.stallNanoseconds {
            if !isBehind { readUntil = lastRead }
            isBehind = true
        } else if isCurrent {
            isBehind = false
        }
        lastRead = ended
        if let newest { readUntil = max(readUntil, newest) }
        if let newest {
            isCurrent = ended.clampedSubtracting(newest) < Self.currentNanoseconds
        } else {
            // A read that takes long has waited.
            isCurrent = ended.clampedSubtracting(began) >= Self.currentNanoseconds
        }
    }

    /// The time before which all arrived packets have been read.
    func knownNanoseconds(now: Int64) -> Int64 { isBehind ? min(now, readUntil) : now }
}
