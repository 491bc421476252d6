package import Media

/// What the agent's link wants done, in this order.
package enum AgentAction<Payload: Sendable>: Sendable {
    /// Send these header bytes, and the payload if there is one.
    case send(header: [UInt8], payload: Payload?)
    /// Read records of a source from the disk that keeps them, from this number on, and give them to `loaded`. Only a link
    /// with a ``RecordWindow`` asks for it.
    case fetch(source: Int, from: UInt64)
    /// Let the connection go, and make another after a pause.
    case reconnect(afterMilliseconds: Int64)
    /// Do what the collector asks, and answer with ``AgentLink/report(_:payload:now:)``.
    case command(Command)
    /// Every source is complete, and durable at the collector.
    case finished
    /// The collector will not have us: one line that says why and what to do.
    case failed(String)
    /// Something to write down.
    case log(LinkLog)
}

/// What an agent decides about its link.
package struct AgentLinkSettings: Hashable, Sendable {
    /// Where the collector is, for logs.
    package var endpoint: String
    /// Product and version, told to the collector.
    package var software: String
    /// The box's name.
    package var agent: String
    /// Who numbers the records.
    package var spool: SpoolID
    /// The clock domains that records refer to; the last one is the present.
    package var epochs: [Epoch]
    /// What all records that are kept may take, bytes: payloads, headers and what is around them.
    package var memoryLimitBytes = 64 << 20
    /// What of the records is in memory when somebody else keeps them, on a disk; nil: all of them.
    package var window: RecordWindow?

    package init(
        endpoint: String, software: String, agent: String, spool: SpoolID, epochs: [Epoch]
    ) {
        precondition(!epochs.isEmpty, "an agent has a clock")
        self.endpoint = endpoint
        self.software = software
        self.agent = agent
        self.spool = spool
        self.epochs = epochs
    }
}

/// What is missing on the box, before it has a number.
package struct Loss: Hashable, Sendable {
    /// Nil: of all tracks.
    package var track: TrackKind?
    package var cause: GapCause
    /// When the first lost sample was due, agent's clock.
    package var startNanoseconds: Int64
    package var durationNanoseconds: Int64
    /// 0: nobody knows.
    package var samples: UInt64
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
