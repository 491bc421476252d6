package import Media

/// What the agent's link wants done, in this order.
package enum AgentAction<Payload: Sendable>: Sendable {
    /// Let go of the connection, if there is one, and make another.
    case connect
    /// Let go of the connection; another is asked for later.
    case disconnect
    /// Send these header bytes, and this payload as the second part if there is one.
    case send(header: [UInt8], payload: Payload?)
    /// Something to write down.
    case log(LinkLog)
    /// Every source has said goodbye and everything is safe at the collector.
    case finished
    /// It cannot go on; one line that says why.
    case failed(String)
}

/// What an agent tells a collector of itself, and how much it keeps.
package struct AgentLinkSettings: Hashable, Sendable {
    /// Where the collector is, for lines that people read.
    package var endpoint: String
    /// Product and version.
    package var software: String
    /// The box's name.
    package var agent: String
    /// Who numbers the records.
    package var spool: Identity
    /// The clock domains that records refer to; the last one is the present.
    package var epochs: [Epoch]
    /// Names of the sources; a source's index is its place here.
    package var sources: [String]
    /// What all records that are not persisted yet may take, bytes.
    package var memoryLimitBytes: Int = 64 * 1024 * 1024

    package init(
        endpoint: String, software: String, agent: String, spool: Identity, epochs: [Epoch],
        sources: [String]
    ) {
        self.endpoint = endpoint
        self.software = software
        self.agent = agent
        self.spool = spool
        self.epochs = epochs
        self.sources = sources
    }
}

/// A loss as a source notices it, before it has a number.
package struct Loss: Hashable, Sendable {
    /// nil: all tracks.
    package var track: TrackKind?
    package var cause: GapCause
    /// When the first lost sample was due, nanoseconds of the agent's clock.
    package var startNanoseconds: Int64
    package var durationNanoseconds: Int64
    /// How many samples were lost; 0: nobody knows.
    package var samples: UInt64
    /// One line for people.
    package var text: String

    package init(
        track: TrackKind?, cause: GapCause, startNanoseconds: Int64, durationNanoseconds: Int64,
        samples: UInt64, text: String
    ) {
        self.track = track
        self.cause = cause
        self.startNanoseconds = startNanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.samples = samples
        self.text = text
    }
}
