package import Media

/// The first message of a connection: who is there, and what it is going to send.
package struct Hello: Hashable, Sendable {
    /// The minor version that is spoken: what it knows beyond the major one.
    package var minor = WireLimits.minor
    /// Product and version, for logs.
    package var software: String
    /// The box's name, for logs.
    package var agent: String
    /// Who numbers the records; another identity numbers anew.
    package var spool: SpoolID
    /// The clock domains that records refer to; the last one is the present. At least one.
    package var epochs: [Epoch]
    /// At least one; a source's place here is its index everywhere else.
    package var sources: [SourceOffer]
    /// Clock exchanges made just before, oldest first.
    package var clockExchanges: [ReportedExchange]

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

/// One boot's monotonic clock.
package struct Epoch: Hashable, Sendable {
    /// What records refer to.
    package var number: UInt32
    /// Another one for every boot and every time namespace; agents of one box and boot say the same.
    package var identity: EpochID
    /// Nil: a clock that runs. Otherwise it is the timeline of a recording that is played again, whose zero is this instant:
    /// nanoseconds since 1970, UTC.
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
    /// The oldest record that the agent still has, or the first that it will have.
    package var firstSequence: UInt64

    package init(name: String, tracks: [TrackFormat], firstSequence: UInt64) {
        self.name = name
        self.tracks = tracks
        self.firstSequence = firstSequence
    }
}

/// The answer to Hello: the agent may send.
package struct Welcome: Hashable, Sendable {
    /// Product and version, for logs.
    package var software: String
    /// The session's name; empty until its first sample has arrived.
    package var session: String
    /// How often both sides say something at least.
    package var heartbeatMilliseconds: UInt32
    /// One for every source of the Hello.
    package var sources: [SourceState]

    package init(
        software: String, session: String, heartbeatMilliseconds: UInt32, sources: [SourceState]
    ) {
        self.software = software
        self.session = session
        self.heartbeatMilliseconds = heartbeatMilliseconds
        self.sources = sources
    }
}

/// What the collector has of one source.
package struct SourceState: Hashable, Sendable {
    /// The source's place in Hello.
    package var source: Int
    /// Last record taken in; 0: none.
    package var received: UInt64
    /// Last record that a power cut cannot take away any more.
    package var persisted: UInt64
    /// What the source's records since the Welcome may cost in all, bytes; only grows. A record costs its payload
    /// and ``WireLimits/recordCostBytes``.
    package var creditLimitBytes: UInt64

    package init(source: Int, received: UInt64, persisted: UInt64, creditLimitBytes: UInt64) {
        self.source = source
        self.received = received
        self.persisted = persisted
        self.creditLimitBytes = creditLimitBytes
    }
}

/// Watermarks and fresh credit.
package struct Acknowledgement: Hashable, Sendable {
    package var sources: [SourceState]
    /// The session's name; empty until its first sample has arrived.
    package var session: String

    package init(sources: [SourceState], session: String) {
        self.sources = sources
        self.session = session
    }
}

/// No: the collector forgets the connection after it.
package struct Refusal: Hashable, Sendable {
    package var reason: RefusalReason
    /// One line for people.
    package var text: String

    package init(reason: RefusalReason, text: String) {
        self.reason = reason
        self.text = text
    }
}

/// Why a collector says no; the raw value is the one on the wire.
package enum RefusalReason: Int, CaseIterable, Hashable, Sendable {
    /// Something in a message breaks the protocol.
    case malformed = 1
    /// The major version is not spoken here.
    case version = 2
    /// A name that cannot become a directory, or the same source twice.
    case name = 3
    /// Another live agent writes this source.
    case sourceInUse = 4
    /// Past one of ``WireLimits``, or its credit.
    case limit = 5
    /// Record numbers that do not follow each other.
    case sequence = 6
    /// The collector does not know this connection: say Hello again.
    case unknownConnection = 7
    /// The collector is stopping: come back later.
    case stopping = 8
    /// The connection's key may not write a source that it claims, or is not authorised any more.
    case unauthorized = 9
    /// A box cannot be enrolled like this, or not now.
    case enrolment = 10
    /// A reason that this version has no word for.
    case other = 0
}
