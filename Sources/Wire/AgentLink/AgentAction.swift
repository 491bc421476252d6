package import Media

/// An action that the agent's link requests. Actions are executed in order.
package enum AgentAction<Payload: Sendable>: Sendable {
    /// Send these header bytes, and the payload if there is one.
    case send(header: [UInt8], payload: Payload?)
    /// Read records of a source, from this number on, from the disk, and pass them to `loaded`. Only a link with a
    /// ``RecordWindow`` requests it.
    case fetch(source: Int, from: UInt64)
    /// Close the connection, and open another after a pause.
    case reconnect(afterMilliseconds: Int64)
    /// Execute the collector's command, and answer with ``AgentLink/report(_:payload:now:)``.
    case command(Command)
    /// Every source is complete, and no record has to be kept.
    case finished
    /// The collector refuses the agent: one line with the reason and the remedy.
    case failed(String)
    /// A line for the log.
    case log(LinkLog)
}

/// Settings of an agent's link.
package struct AgentLinkSettings: Hashable, Sendable {
    /// The collector's endpoint, for logs.
    package var endpoint: String
    /// Product and version, sent to the collector.
    package var software: String
    /// The box's name.
    package var agent: String
    /// The spool that numbers the records.
    package var spool: SpoolID
    /// The clock domains that records refer to; the last one is the present one.
    package var epochs: [Epoch]
    /// Maximum memory of all kept records, bytes: payloads, headers and overhead.
    package var memoryLimitBytes = 64 << 20
    /// Limits of the records in memory when they are on a disk; nil: all are in memory.
    package var window: RecordWindow?
    /// Whether records of unwatched sources are batched (``SendSchedule``); only with a collector that reports whether
    /// sources are watched. False: every record is sent immediately.
    package var gathers = false
    /// Whether records are deleted when they are on the collector's disk, even if it wants them kept longer: the
    /// records sent are copies.
    package var forgetsAtPersisted = false

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

/// Missing samples on the box, before the loss has a record number.
package struct Loss: Hashable, Sendable {
    /// Nil: of all tracks.
    package var track: TrackKind?
    package var cause: GapCause
    /// When the first lost sample was due, agent's clock.
    package var startNanoseconds: Int64
    package var durationNanoseconds: Int64
    /// 0: unknown.
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

/// Who says that a collector does not admit an agent.
enum RefusalWitness: Hashable, Sendable {
    /// The handshake of the transport, which knows no reasons.
    case handshake
    /// The collector, in its own words.
    case collector
}
