import Media

/// What a collector remembers of a source, whether it is connected or not.
struct SourceEntry: Hashable, Sendable {
    /// Who numbers the records.
    let spool: SpoolID
    /// Last record taken in.
    var received: UInt64
    /// The formats in force behind `received`.
    var tracks: [TrackFormat]
    /// The connection that writes it now.
    var holder: PeerID?
    /// The number of its Goodbye, once that was taken in.
    var goodbye: UInt64?
    /// Media taken in and not yet on disk; survives reconnects, and a change of spool.
    var outstanding: MediaAmount
    /// Records without media that are not durable.
    var unpersisted = UnpersistedRecords()
    /// Where the archive made this link begin, or begin again; 0 where it had nothing. It need not be the end of a message.
    var resumedAt: UInt64 = 0

    /// What is remembered of the spools before this one, the latest at the end: messages of an agent's earlier connections may come
    /// behind those of its next life, and a box goes back to what an earlier life has left.
    var earlier: [Spool] = []

    /// What is remembered of a spool that is not the present one.
    struct Spool: Hashable, Sendable {
        var identity: SpoolID
        var received: UInt64
        var tracks: [TrackFormat]
        var goodbye: UInt64?
        var unpersisted = UnpersistedRecords()
    }

    /// More lives of one box than are on their way at once.
    private static let earlierSpools = 8

    /// All spools but one, for the entry that follows this one.
    func spools(but identity: SpoolID) -> [Spool] {
        let own = Spool(
            identity: spool, received: received, tracks: tracks, goodbye: goodbye,
            unpersisted: unpersisted)
        return (earlier + [own]).filter { $0.identity != identity }.suffix(Self.earlierSpools)
    }

    /// Nothing has been taken in since: what an agent says of its formats is all that is known of them.
    var isFresh: Bool { received == resumedAt }

    /// Whether nothing more will come, and everything is on disk.
    /// - Parameter persisted: the last record that the agent may forget.
    func isComplete(persisted: UInt64) -> Bool {
        guard let goodbye else { return false }
        return persisted >= goodbye
    }

    /// What its records take of the collector's memory, bytes: what credit is withheld for.
    var heldBytes: UInt64 {
        UInt64(outstanding.sizeBytes + outstanding.samples * CollectorBudgets.sampleCostBytes)
            + earlier.reduce(unpersisted.costBytes) { $0 + $1.unpersisted.costBytes }
    }

    /// Whether forgetting it loses nothing that the archive could not say again.
    /// - Parameter durable: the last record up to which everything is on disk.
    func isForgettable(durable: UInt64) -> Bool {
        holder == nil && heldBytes == 0 && durable >= received
    }

    /// How a record's numbers stand to what is here already.
    enum Placement: Hashable {
        case next
        case duplicate
        case violation(String)
    }

    /// Whether records `first … last` are the next ones, old news, or against the rules.
    func placement(first: UInt64, last: UInt64) -> Placement {
        if last <= received { return .duplicate }
        // Before all else: a source that has said goodbye has been introduced to nobody.
        if let goodbye {
            return .violation("records up to \(last) came after goodbye, record \(goodbye)")
        }
        if first <= received {
            // What a killed collector had of a message is not asked for; the rest of the message is.
            if isFresh { return .next }
            return .violation(
                "records \(first) to \(last) straddle \(received), the last one taken in: "
                    + "a record must not be cut anew")
        }
        if first > received + 1 {
            return .violation("record \(first) came where \(received + 1) was due")
        }
        return .next
    }
}
