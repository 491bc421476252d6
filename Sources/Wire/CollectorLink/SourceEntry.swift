import Media

/// The collector's state of a source, whether it is connected or not.
struct SourceEntry: Hashable, Sendable {
    /// The spool that numbers the records.
    let spool: SpoolID
    /// The last received record.
    var received: UInt64
    /// The formats in force after `received`.
    var tracks: [TrackFormat]
    /// The connection that sends it now.
    var holder: PeerID?
    /// The number of its Goodbye, once received.
    var goodbye: UInt64?
    /// Media received and not yet on disk; kept across reconnects and changes of spool.
    var outstanding: MediaAmount
    /// Records without media that are not durable.
    var unpersisted = UnpersistedRecords()
    /// The record after which this link began or resumed, by the archive or by what the agent's Hello offers; 0 without
    /// one. It need not be the end of a message.
    var resumedAt: UInt64 = 0
    /// The oldest record that its agent has reported.
    var keptFrom: UInt64 = 1

    /// The state of earlier spools, the latest at the end. Messages of an agent's earlier connections may arrive after
    /// those of its next run, and a box resumes a spool that an earlier run has left.
    var earlier: [Spool] = []

    /// The state of a spool that is not the present one.
    struct Spool: Hashable, Sendable {
        var identity: SpoolID
        var received: UInt64
        var tracks: [TrackFormat]
        var goodbye: UInt64?
        var unpersisted = UnpersistedRecords()
    }

    /// Number of earlier spools that are kept even if durable: more than one box has in flight at once.
    private static let earlierSpools = 8
    /// Maximum number of earlier spools with records that are not durable yet.
    private static let undurableSpools = 256

    /// All spools but one, for the next entry: the latest, and those with records that only this link tracks. A box
    /// with many unreleased spools sends Hello for each of them before it returns to its present one.
    func spools(but identity: SpoolID, isDurable: (Spool) -> Bool) -> [Spool] {
        let own = Spool(
            identity: spool, received: received, tracks: tracks, goodbye: goodbye,
            unpersisted: unpersisted)
        var all = (earlier + [own]).filter { $0.identity != identity }
        var excess = all.count - Self.earlierSpools
        all.removeAll { spool in
            guard excess > 0, isDurable(spool) else { return false }
            excess -= 1
            return true
        }
        return all.suffix(Self.undurableSpools)
    }

    /// A record without a payload stays in memory until it is durable, and uses credit for as long.
    mutating func keep(_ sequence: UInt64, headerBytes: Int) {
        unpersisted.add(
            sequence, costBytes: UInt64(CollectorBudgets.recordMemoryBytes + headerBytes))
    }

    /// Nothing has been received since: only the agent's Hello determines its formats.
    var isFresh: Bool { received == resumedAt }

    /// Whether no more records follow, and its agent need not keep any.
    /// - Parameter released: the last record that the agent may discard.
    func isComplete(released: UInt64) -> Bool {
        guard let goodbye else { return false }
        return released >= goodbye
    }

    /// The collector's memory used by its records, bytes: credit is withheld for them.
    var heldBytes: UInt64 {
        UInt64(outstanding.sizeBytes + outstanding.samples * CollectorBudgets.sampleCostBytes)
            + earlier.reduce(unpersisted.costBytes) { $0 + $1.unpersisted.costBytes }
    }

    /// Whether the archive could restore the entry, so that dropping it loses nothing.
    /// - Parameter durable: the last record up to which everything is on disk.
    func isForgettable(durable: UInt64) -> Bool {
        holder == nil && heldBytes == 0 && durable >= received
    }

    /// The relation of a record's numbers to the received ones.
    enum Placement: Hashable {
        case next
        case duplicate
        case violation(String)
    }

    /// Whether records `first … last` are the next ones, repeated ones, or a violation of the protocol.
    func placement(first: UInt64, last: UInt64) -> Placement {
        if last <= received { return .duplicate }
        // Checked first: after its end, a source has no formats.
        if let goodbye {
            return .violation("records up to \(last) follow the goodbye, record \(goodbye)")
        }
        if first <= received {
            // The part of a message that a killed collector had is not requested; the rest of the message is.
            if isFresh { return .next }
            return .violation(
                "records \(first) to \(last) overlap \(received), the last one received: "
                    + "a batch must be resent unchanged")
        }
        if first > received + 1 {
            return .violation("received record \(first), expected \(received + 1)")
        }
        return .next
    }
}
