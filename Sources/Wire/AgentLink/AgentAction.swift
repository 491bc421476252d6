package import Media

/// Actions for the owner of the agent's link, in order.
package enum AgentAction<Payload: Sendable>: Sendable {
    /// Send these header bytes, and the payload if there is one.
    case send(header: [UInt8], payload: Payload?)
    /// Read records of a source, from this number on, from its log, and pass them to `loaded`. Requested where the collector has
    /// less than before, or the ``RecordWindow`` is smaller than the log.
    case fetch(source: Int, from: UInt64)
    /// Close the connection, and open another after a pause.
    case reconnect(afterMilliseconds: Int64)
    /// Execute the collector's command, and answer with ``AgentLink/report(_:payload:now:)``.
    case command(Command)
    /// Every source is complete, and nothing of it has to be kept.
    case finished
    /// The collector refuses the agent: one line with the reason and the remedy.
    case failed(String)
    /// Something to log.
    case log(LinkLog)
}

/// Settings of an agent's link.
package struct AgentLinkSettings: Hashable, Sendable {
    /// Where the collector is, for logs.
    package var endpoint: String
    /// Product and version, sent to the collector.
    package var software: String
    /// The box's name.
    package var agent: String
    /// The spool that numbers the records.
    package var spool: SpoolID
    /// The clock domains that records refer to; the last one is the present one.
    package var epochs: [Epoch]
    /// How much a log in memory keeps, for reports; nil: the log is on a disk.
    package var memoryLimitBytes: Int?
    /// How many of the log's records are in the link's memory.
    package var window = RecordWindow()
    /// Records of unwatched sources are batched (``SendSchedule``), if the collector tells which sources are watched. False:
    /// every record is sent immediately.
    package var gathers = false
    /// Records are released when they are persisted, even if the collector requires more, because the sent records are copies.
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

/// The size of the records that wait for a collector, on disk and in memory.
package struct KeptAmounts: Hashable, Sendable, CustomStringConvertible {
    package var diskBytes: Int
    package var memoryBytes: Int
    package var memoryLimitBytes: Int

    package init(diskBytes: Int, memoryBytes: Int, memoryLimitBytes: Int) {
        self.diskBytes = diskBytes
        self.memoryBytes = memoryBytes
        self.memoryLimitBytes = memoryLimitBytes
    }

    package var description: String {
        let disk = "on disk (\(byteText(diskBytes)))"
        let memory = "in memory (\(byteText(memoryBytes)) of at most \(byteText(memoryLimitBytes)))"
        if memoryBytes == 0 { return disk }
        return diskBytes == 0 ? memory : "\(disk) and \(memory)"
    }
}

/// The destination of a link, and the agent's statement to it.
package struct LinkRoute: Hashable, Sendable {
    /// Where the collector is, for logs.
    package var endpoint: String
    package var statement = AgentStatement()
    /// Hello says that there is no other collector, because all of them have declined.
    package var isLastResort = false

    package init(endpoint: String) {
        self.endpoint = endpoint
        statement.collectors = 1
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

/// Source of a refusal.
enum RefusalWitness: Hashable, Sendable {
    /// The handshake of the transport, which knows no reasons.
    case handshake
    /// The collector, in its own words.
    case collector
}
