package import Media

/// The first message of a connection: the agent's identity, and the sources that it will send.
package struct Hello: Hashable, Sendable {
    /// The minor version of the agent's protocol: its supported additions to the major version.
    package var minor = WireLimits.minor
    /// Product and version, for logs.
    package var software: String
    /// The box's name, for logs.
    package var agent: String
    /// The spool that numbers the records; another spool numbers from the start.
    package var spool: SpoolID
    /// The clock domains that records refer to; the last one is the present one. At least one.
    package var epochs: [Epoch]
    /// At least one; the index of a source here identifies it in all other messages.
    package var sources: [SourceOffer]
    /// Recent clock exchanges, oldest first.
    package var clockExchanges: [ReportedExchange]
    /// Whether the sender deletes records past `persisted`: they are copies.
    package var forgetsAtPersisted = false
    package var statement = AgentStatement()

    package init(
        software: String, agent: String, spool: SpoolID, epochs: [Epoch],
        sources: [SourceOffer], clockExchanges: [ReportedExchange] = []
    ) {
        self.software = software
        self.agent = agent
        self.spool = spool
        self.epochs = epochs
        self.sources = sources
        self.clockExchanges = clockExchanges
    }
}

/// An agent's statements about its collectors and its spool. The agent's uplink makes them (``LinkRoute``), ``Hello`` carries them,
/// and the collector's recorder reads them (``SourceIntroduction``): a new field of Hello belongs here.
package struct AgentStatement: Hashable, Sendable {
    /// The spool's term; 0: the agent does not support terms.
    package var term: UInt64 = 0
    /// Whether the agent has other collectors to go to.
    package var hasOthers = false
    /// The session in which another collector recorded the sources last.
    package var session: SessionOffer?
    /// Number of the agent's collectors; 0 if not stated.
    package var collectors: UInt32 = 0
    /// This connection is to the second of two collectors.
    package var isMirror = false

    package init() {}

    /// Another collector may record the sources, at the same time or later.
    package var mayBeRecordedElsewhere: Bool { hasOthers || collectors > 1 }
}

/// One boot's monotonic clock.
package struct Epoch: Hashable, Sendable {
    /// The number that records refer to.
    package var number: UInt32
    /// Different for every boot and every time namespace; agents of one box and boot have the same.
    package var identity: EpochID
    /// Nil for a live clock; otherwise the zero of a replayed timeline: nanoseconds since 1970, UTC.
    package var zeroUTCNanoseconds: Int64?

    package init(number: UInt32, identity: EpochID, zeroUTCNanoseconds: Int64? = nil) {
        self.number = number
        self.identity = identity
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
    }
}

/// A source as an agent offers it.
package struct SourceOffer: Hashable, Sendable {
    /// A valid ``SourceName``.
    package var name: String
    /// The formats in force at `firstSequence`; one per kind, at least one.
    package var tracks: [TrackFormat]
    /// The oldest record that the agent still has, or its first future one.
    package var firstSequence: UInt64
    /// Earlier records that other collectors hold, ascending.
    package var held: [HeldRange]

    package init(
        name: String, tracks: [TrackFormat], firstSequence: UInt64, held: [HeldRange] = []
    ) {
        self.held = held
        self.name = name
        self.tracks = tracks
        self.firstSequence = firstSequence
    }
}

/// The answer to Hello: the agent may send.
package struct Welcome: Hashable, Sendable {
    /// The minor version of the collector's protocol.
    package var minor: UInt32
    /// Product and version, for logs.
    package var software: String
    /// The session's name; empty until its first sample has arrived.
    package var session: String
    /// Maximum interval between messages of each side.
    package var heartbeatMilliseconds: UInt32
    /// One for every source of the Hello.
    package var sources: [SourceState]
    /// The collector's name; empty if it has none.
    package var collector = ""
    /// The position of the session's zero, if it has begun.
    package var clock: SessionClock?
    /// Records must be sent to two collectors, and kept until both have persisted them.
    package var mirrored = false

    package init(
        minor: UInt32 = WireLimits.minor, software: String, session: String,
        heartbeatMilliseconds: UInt32, sources: [SourceState]
    ) {
        self.minor = minor
        self.software = software
        self.session = session
        self.heartbeatMilliseconds = heartbeatMilliseconds
        self.sources = sources
    }
}

/// The collector's state of one source.
package struct SourceState: Hashable, Sendable {
    /// The source's index in Hello.
    package var source: Int
    /// The last received record; 0: none.
    package var received: UInt64
    /// The last record that is durable on the collector's disk: a power cut cannot lose it.
    package var persisted: UInt64
    /// Maximum cost of the source's records since the Welcome, bytes; only grows. A record costs its payload and
    /// ``WireLimits/recordCostBytes``.
    package var creditLimitBytes: UInt64
    /// Maximum delay from capture until a sample of a watched source is sent, milliseconds; 0: the source is not
    /// watched.
    package var watchMilliseconds: UInt32
    /// The last record that the agent need not keep; nil: ``persisted``.
    package var released: UInt64?

    package init(
        source: Int, received: UInt64, persisted: UInt64, creditLimitBytes: UInt64,
        watchMilliseconds: UInt32 = 0, released: UInt64? = nil
    ) {
        self.released = released
        self.watchMilliseconds = watchMilliseconds
        self.source = source
        self.received = received
        self.persisted = persisted
        self.creditLimitBytes = creditLimitBytes
    }
}

/// Watermarks and new credit.
package struct Acknowledgement: Hashable, Sendable {
    package var sources: [SourceState]
    /// The session's name; empty until its first sample has arrived.
    package var session: String
    /// Number of instants per ``WireLimits/gatherMilliseconds`` at which agents should send their batches; 0:
    /// ``WireLimits/sendInstants``.
    package var sendInstants: UInt32
    /// The position of the session's zero, if it has changed.
    package var clock: SessionClock?

    package init(sources: [SourceState], session: String, sendInstants: UInt32 = 0) {
        self.sources = sources
        self.session = session
        self.sendInstants = sendInstants
    }
}

/// A refusal: the collector forgets the connection after it.
package struct Refusal: Hashable, Sendable {
    package var reason: RefusalReason
    /// One line of text.
    package var text: String
    /// With ``RefusalReason/term``: the highest term that the collector has seen of the spool.
    package var term: UInt64

    package init(reason: RefusalReason, text: String, term: UInt64 = 0) {
        self.term = term
        self.reason = reason
        self.text = text
    }
}

/// Why a collector refuses; the raw value is the one on the wire.
package enum RefusalReason: Int, CaseIterable, Hashable, Sendable {
    /// A message violates the protocol.
    case malformed = 1
    /// The major version is not supported.
    case version = 2
    /// A name that is not a valid directory name, or the same source twice.
    case name = 3
    /// Another connected agent sends this source.
    case sourceInUse = 4
    /// A value above one of ``WireLimits``, or above its credit.
    case limit = 5
    /// Record numbers that are not consecutive.
    case sequence = 6
    /// The collector does not know this connection: send Hello again.
    case unknownConnection = 7
    /// The collector is stopping: reconnect later.
    case stopping = 8
    /// The connection's key may not write a source that it claims, or is no longer authorised.
    case unauthorized = 9
    /// The box cannot be enrolled, or not at present.
    case enrolment = 10
    /// A higher term of the spool has been seen.
    case term = 11
    /// The collector cannot record now, or is being drained: the agent is to go to another.
    case elsewhere = 12
    /// A reason unknown to this version.
    case other = 0
}

/// Causes by which refusals are counted.
package enum RefusalCause: Hashable, Sendable {
    case reason(RefusalReason)
    /// The key of a connected agent is no longer authorised.
    case keyWithdrawn
    /// A budget is used up; sent as ``RefusalReason/unknownConnection``, because the agent is to come back.
    case throttled
}
