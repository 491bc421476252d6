package import Media

/// An action that the collector's link requests. Actions are executed in order.
package enum CollectorAction: Hashable, Sendable {
    /// Send these header bytes to a peer.
    case send(PeerID, [UInt8])
    /// The peer has been refused: its messages are ignored from now on, and its connection can be closed as soon as it
    /// has had time to read the reason.
    case dismissed(PeerID)
    /// A source has connected. Reported again when it reconnects, and when its formats turn out to be different: the
    /// last report applies.
    case opened(SourceIntroduction)
    /// The message just received carries these samples; its payload part belongs to them. The payload counts against the source's
    /// credit until ``CollectorLink/released(_:source:)``.
    case samples(source: String, Samples)
    /// Samples are missing.
    case gap(source: String, GapRecord)
    /// From the next record on, a track has another format.
    case trackUpdate(source: String, TrackUpdate)
    /// The source ends with this record.
    case goodbye(source: String, Goodbye)
    /// An agent's measurements of the collector's clock, oldest first.
    case clockExchanges(ClockOwner, epoch: EpochID, [ReportedExchange])
    /// The state of a source on its box.
    case health(source: String, SourceHealth)
    /// The answer to a command. A snapshot's JPEG is the payload part of the message just received.
    case report(ticket: UInt64, CommandReply)
    /// A box requests that its own key be authorised in place of the one-time key of its connection; answer with
    /// ``CollectorLink/enrolled(_:_:now:)``.
    case enrol(PeerID, Enrol)
    /// No agent is sending this source at present.
    case closed(source: String, CloseReason)
    /// An agent came back with these sources while all that can go elsewhere are sent there: it has found no other
    /// collector, or has left it.
    case turnedAway(sources: [String])
    /// A line for the log.
    case log(LinkLog)
}

/// Identifies the agent whose clock exchanges apply to samples: its own, and no other agent's. Two boxes, or a box and an agent
/// that has learned the identity of its boot, may claim the same clock. The exchanges of one must not move the other's samples.
package struct ClockOwner: Hashable, Sendable {
    /// The name of the agent's key; without keys, its address.
    package var owner = ""
    /// The spool that numbers its records.
    package var spool: SpoolID

    package init(owner: String, spool: SpoolID) {
        self.owner = owner
        self.spool = spool
    }
}

/// A ZeroMQ routing identity: identifies the connection that a message came over.
package struct PeerID: Hashable, Comparable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Actions for several peers are carried out in this order, so that the same messages always have the same effects.
    package static func < (first: PeerID, second: PeerID) -> Bool {
        first.bytes.lexicographicallyPrecedes(second.bytes)
    }
}

/// A source that an agent has begun or resumed to send, as its agent introduced it.
package struct SourceIntroduction: Hashable, Sendable {
    package var name: String
    /// The box's own name.
    package var agent: String
    /// Product and version of the agent.
    package var software = ""
    /// Its network address.
    package var address: String
    /// The name of its key; without keys, its address.
    package var owner = ""
    /// The spool that numbers its records.
    package var spool: SpoolID
    /// The clock domains that its records refer to.
    package var epochs: [Epoch]
    /// The formats in force at the next new record.
    package var tracks: [TrackFormat]
    /// The last record received earlier; 0: none.
    package var received: UInt64 = 0
    /// Records that the agent no longer has and that never arrived here, if any.
    package var missing: ClosedRange<UInt64>?
    /// Records that other collectors hold, by the agent's statement.
    package var held: [HeldRange] = []
    package var statement = AgentStatement()

    package init(
        name: String, agent: String, address: String, spool: SpoolID, epochs: [Epoch],
        tracks: [TrackFormat]
    ) {
        self.name = name
        self.agent = agent
        self.address = address
        self.spool = spool
        self.epochs = epochs
        self.tracks = tracks
    }
}

/// Why a source was closed.
package enum CloseReason: Hashable, Sendable, CustomStringConvertible {
    /// It has ended, and everything is persisted.
    case complete
    /// Silent for ``WireLimits/silentHeartbeats`` intervals, or its connection has closed.
    case silent
    /// The same agent has reconnected, and its new connection holds the source.
    case replaced
    /// It has used up its budget, and will reconnect later.
    case throttled
    /// Records were lost on the way to the disk: it reconnects and sends them again.
    case rewound
    /// The sender broke a rule.
    case refused(RefusalReason)
    /// The collector is stopping.
    case stopping
    /// The agent is to go to another collector, or has gone there before.
    case moved

    /// A short description for log lines.
    package var description: String {
        switch self {
        case .complete: "complete"
        case .silent: "connection lost"
        case .replaced: "replaced by another connection"
        case .throttled: "throttled"
        case .rewound: "has to resend what could not be written"
        case .refused(.unauthorized): "its key is no longer authorised"
        case .refused(let reason): "refused (\(reason))"
        case .stopping: "the collector is stopping"
        case .moved: "sent elsewhere"
        }
    }
}

/// A line for the log.
package struct LinkLog: Hashable, Sendable {
    /// Severity.
    package enum Level: Hashable, Sendable {
        case debug, info, notice, warning, error
    }

    package var level: Level
    package var text: String
    /// Associated identifiers: agent, address, source, session.
    package var metadata: [String: String]

    package init(_ level: Level, _ text: String, metadata: [String: String] = [:]) {
        self.level = level
        self.text = text
        self.metadata = metadata
    }
}

/// Settings of a collector's links.
package struct CollectorLinkSettings: Hashable, Sendable {
    /// Product and version, sent to agents.
    package var software: String
    /// The collector's name, sent to agents; empty: none.
    package var name = ""
    /// Agents must send records to two collectors, and keep them until both have persisted them.
    package var mirrored = false
    /// Milliseconds between heartbeats.
    package var heartbeatMilliseconds: UInt32 = WireLimits.heartbeatMilliseconds
    /// Maximum number of connections that have sent Hello, or wait for a source's holder to answer.
    package var maximumAgents = 4_096
    /// Maximum number of sources whose watermarks are kept, including disconnected ones.
    package var maximumSources = 16_384
    /// Budgets of one agent.
    package var budgets = CollectorBudgets()

    package init(software: String) {
        self.software = software
    }
}
