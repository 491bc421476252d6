package import Media

/// What the collector's link wants done, in this order.
package enum CollectorAction: Hashable, Sendable {
    /// Send these header bytes to a peer.
    case send(PeerID, [UInt8])
    /// The peer has been refused: what it sends from now on counts for nothing, and its connection can be cut as soon as
    /// it has had the time to read why.
    case dismissed(PeerID)
    /// A source is here. Said again when it comes back, and when its formats turn out to be others: what is said
    /// last holds.
    case opened(OpenedSource)
    /// The message just given carries these samples; its payload part goes with them. The payload stays on the
    /// source's account until ``CollectorLink/released(_:source:)``.
    case samples(source: String, Samples)
    /// Something is missing.
    case gap(source: String, GapRecord)
    /// From the next record on, a track has another format.
    case trackUpdate(source: String, TrackUpdate)
    /// The source is complete with this record.
    case goodbye(source: String, Goodbye)
    /// What an agent measured of our clock, oldest first.
    case clockExchanges(ClockOwner, epoch: EpochID, [ReportedExchange])
    /// How a source does on its box.
    case health(source: String, SourceHealth)
    /// The answer to a command. A snapshot's JPEG is the payload part of the message just given.
    case report(ticket: UInt64, CommandReply)
    /// A box asks for its own key to be authorised in the place of the one that its connection has; to be answered with
    /// ``CollectorLink/enrolled(_:_:now:)``.
    case enrol(PeerID, Enrol)
    /// Nobody sends this source any more, for now.
    case closed(source: String, CloseReason)
    /// Something to write down.
    case log(LinkLog)
}

/// Whose word on a clock counts for which samples: an agent's for its own, and nobody else's. Two boxes, or one box and whoever has
/// learned what its boot is called, may claim one clock; what the one says of it must not move the other's samples.
package struct ClockOwner: Hashable, Sendable {
    /// The name of the agent's key; without keys, its address.
    package var owner: String
    /// Who numbers its records.
    package var spool: SpoolID

    package init(owner: String, spool: SpoolID) {
        self.owner = owner
        self.spool = spool
    }
}

/// A ZeroMQ routing identity: which connection a message came over.
package struct PeerID: Hashable, Comparable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// What is done for several peers is done in this order, so that the same messages always have the same consequences.
    package static func < (first: PeerID, second: PeerID) -> Bool {
        first.bytes.lexicographicallyPrecedes(second.bytes)
    }
}

/// A source that an agent has begun, or resumed, to send.
package struct OpenedSource: Hashable, Sendable {
    package var name: String
    /// The box's name, as it calls itself.
    package var agent: String
    /// Product and version at the other end.
    package var software: String
    /// Where it comes from.
    package var address: String
    /// Whose key it came with; without keys, where it comes from.
    package var owner: String
    /// Who numbers its records.
    package var spool: SpoolID
    /// The clock domains that its records refer to.
    package var epochs: [Epoch]
    /// The formats in force at the next new record.
    package var tracks: [TrackFormat]
    /// The last record that was taken in before; 0: none.
    package var received: UInt64
    /// Records that the agent does not have any more and that never came here, if any.
    package var missing: ClosedRange<UInt64>?
}

/// Why a source is closed.
package enum CloseReason: Hashable, Sendable, CustomStringConvertible {
    /// It said goodbye, and everything is persisted.
    case complete
    /// Not a word for ``WireLimits/silentHeartbeats`` intervals, or the connection is gone.
    case silent
    /// The same agent came over a new connection, which holds it now.
    case replaced
    /// It has used up what it may ask for, and comes again later.
    case throttled
    /// What it sent is lost on the way to the disk: it comes again, and sends it again.
    case rewound
    /// The sender broke a rule.
    case refused(RefusalReason)
    /// The collector is stopping.
    case stopping

    /// A few words for people.
    package var description: String {
        switch self {
        case .complete: "complete"
        case .silent: "not heard of any more"
        case .replaced: "another connection took over"
        case .throttled: "has used up what it may ask for at once"
        case .rewound: "has to send again what could not be written"
        case .refused(let reason): "refused (\(reason))"
        case .stopping: "the collector is stopping"
        }
    }
}

/// A line for the log.
package struct LinkLog: Hashable, Sendable {
    /// How much it matters.
    package enum Level: Hashable, Sendable {
        case debug, info, notice, warning, error
    }

    package var level: Level
    package var text: String
    /// Ids that belong to it: agent, address, source.
    package var metadata: [String: String]

    package init(_ level: Level, _ text: String, metadata: [String: String] = [:]) {
        self.level = level
        self.text = text
        self.metadata = metadata
    }
}

/// What a collector decides about its links.
package struct CollectorLinkSettings: Hashable, Sendable {
    /// Product and version, told to agents.
    package var software: String
    /// Milliseconds between signs of life.
    package var heartbeatMilliseconds: UInt32 = WireLimits.heartbeatMilliseconds
    /// Connections that have said Hello, or wait for a source's holder to answer.
    package var maximumConnections = 4_096
    /// Sources whose watermarks are remembered while they are away.
    package var maximumSources = 16_384
    /// What one agent may ask for.
    package var budgets = CollectorBudgets()

    package init(software: String) {
        self.software = software
    }
}
